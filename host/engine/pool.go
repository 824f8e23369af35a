package engine

import (
	"context"
	"sync"
)

// A pool bounds how many items are at work and keeps idle ones. The one that
// was given back last goes out first: its memory is still in the processor's
// cache, and items beyond what the load needs are never made at all.
type pool[T any] struct {
	slots  chan struct{} // one token for each item at work
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []T
}

func newPool[T any](size int) *pool[T] {
	return &pool[T]{slots: make(chan struct{}, size), closed: make(chan struct{})}
}

// get waits for a slot. With ok, item is an idle one; without, the caller makes
// a new one in this slot. The caller answers with put or drop.
func (p *pool[T]) get(ctx context.Context) (item T, ok bool, cause Cause, err error) {
	select {
	case <-p.closed:
		return item, false, Closed, errClosed
	default:
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return item, false, Busy, context.Cause(ctx)
	case <-p.closed:
		return item, false, Closed, errClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		item, ok = p.idle[n-1], true
		p.idle = p.idle[:n-1]
	}
	return item, ok, 0, nil
}

// put gives the item and its slot back.
func (p *pool[T]) put(item T) {
	p.mu.Lock()
	p.idle = append(p.idle, item)
	p.mu.Unlock()
	<-p.slots
}

// drop gives the slot back without its item.
func (p *pool[T]) drop() { <-p.slots }

// close refuses further gets and waits until no item is at work.
func (p *pool[T]) close(ctx context.Context) error {
	p.once.Do(func() { close(p.closed) })
	for range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (p *pool[T]) size() int  { return cap(p.slots) }
func (p *pool[T]) inUse() int { return len(p.slots) }
