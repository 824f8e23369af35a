package engine

import (
	"context"
	"errors"
	"runtime"

	"stagger/edge/wire"
)

var errClosed = errors.New("the engine is closed")

// Handler is the core as ordinary Go. It serves one call at a time, and out is
// valid until its next call.
type Handler interface {
	Handle(in []byte) (status uint32, out []byte)
}

// Native calls the core as ordinary Go: the fastest engine, and the one with
// readable stack traces. Unlike Wasm it does not wipe the core's memory.
type Native struct {
	make  func() Handler
	pool  *pool[Handler]
	tally tally
}

var _ Engine = (*Native)(nil)

// NewNativeOf returns an engine over handlers that make returns, one for each
// call at work, at most size of them (GOMAXPROCS when size is 0).
func NewNativeOf(size int, make func() Handler) *Native {
	return &Native{make: make, pool: newPool[Handler](poolSize(size))}
}

func poolSize(size int) int {
	if size <= 0 {
		// A call never waits for anything, so more instances than processors
		// would only take memory.
		return runtime.GOMAXPROCS(0)
	}
	return size
}

// Call implements Engine.
func (n *Native) Call(ctx context.Context, in, out []byte) (uint32, []byte, error) {
	if len(in) > wire.MaxInput {
		return 0, out, n.tally.fail(TooLarge, nil)
	}
	handler, ok, cause, err := n.pool.get(ctx)
	if err != nil {
		return 0, out, n.tally.fail(cause, err)
	}
	if !ok {
		handler = n.make()
	}
	n.tally.calls.Add(1)
	status, output, cause := guarded(handler, in, out)
	if cause != 0 {
		n.pool.drop()
		n.tally.discards[cause].Add(1)
		return 0, out, n.tally.fail(cause, nil)
	}
	n.pool.put(handler)
	return status, output, nil
}

// guarded turns a panic into a Trap, as WebAssembly would. What was panicked
// with is not kept: it may quote the request.
func guarded(h Handler, in, out []byte) (status uint32, output []byte, cause Cause) {
	defer func() {
		if recover() != nil {
			status, output, cause = 0, nil, Trap
		}
	}()
	status, answer := h.Handle(in)
	if !known(status) {
		return 0, nil, Status
	}
	return status, append(out, answer...), 0
}

// Stats implements Engine.
func (n *Native) Stats() Stats { return n.tally.stats(n.pool.size(), n.pool.inUse()) }

// Close implements Engine.
func (n *Native) Close(ctx context.Context) error { return n.pool.close(ctx) }
