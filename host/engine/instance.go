package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"stagger/edge/wire"
)

// An instance is one running copy of the module. It serves one call at a time.
type instance struct {
	module   api.Module
	memory   api.Memory
	snapshot *snapshot

	input, handle, outputPtr, outputLen, heapTop api.Function

	// variables are the mutable globals; the others need no putting back.
	variables []api.MutableGlobal

	// stack carries the parameter and the result of every call, which spares
	// an allocation for each.
	stack [1]uint64
}

// newInstance runs _initialize. The exports have been checked.
func newInstance(ctx context.Context, module api.Module, globals int) (*instance, error) {
	i := &instance{
		module:    module,
		memory:    module.ExportedMemory("memory"),
		input:     module.ExportedFunction("input"),
		handle:    module.ExportedFunction("handle"),
		outputPtr: module.ExportedFunction("output_ptr"),
		outputLen: module.ExportedFunction("output_len"),
		heapTop:   module.ExportedFunction("heap_top"),
	}
	for n := range globals {
		global := module.ExportedGlobal(globalExport(n))
		if global == nil {
			return nil, fmt.Errorf("global %d is not exported", n)
		}
		variable, mutable := global.(api.MutableGlobal)
		if !mutable {
			continue
		}
		switch global.Type() {
		case api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeF32, api.ValueTypeF64:
			i.variables = append(i.variables, variable)
		default:
			return nil, fmt.Errorf("global %d is a variable of a type that cannot be put back", n)
		}
	}
	if _, err := module.ExportedFunction("_initialize").Call(ctx); err != nil {
		return nil, fmt.Errorf("_initialize: %w", err)
	}
	return i, i.reserve()
}

// reserve makes a guest with a heap of its own (heap_top answers 0: Go's) grow
// its memory now. Go starts with room for some 50 KiB and grows by 4 MiB; grown
// at a request, the instance would have to be discarded, at every request. It
// may leave the buffer of an empty request, which is in the snapshot then.
func (i *instance) reserve() error {
	top, err := i.ask(i.heapTop)
	if err != nil {
		return fmt.Errorf("heap_top: %w", err)
	}
	if top != 0 {
		return nil
	}
	if _, err := i.tell(i.input, wire.MaxInput); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	return nil
}

// view is the whole linear memory, writable, valid until the guest runs again.
func (i *instance) view() []byte {
	b, _ := i.memory.Read(0, i.memory.Size())
	return b
}

func (i *instance) values() []uint64 {
	list := make([]uint64, len(i.variables))
	for n, v := range i.variables {
		list[n] = v.Get()
	}
	return list
}

// ask calls a function without a parameter.
func (i *instance) ask(f api.Function) (uint32, error) {
	i.stack[0] = 0
	err := f.CallWithStack(context.Background(), i.stack[:])
	return uint32(i.stack[0]), err
}

// tell calls a function with a parameter.
func (i *instance) tell(f api.Function, v int) (uint32, error) {
	i.stack[0] = uint64(uint32(v))
	err := f.CallWithStack(context.Background(), i.stack[:])
	return uint32(i.stack[0]), err
}

// capture takes the snapshot.
func (i *instance) capture() (*snapshot, error) {
	top, err := i.ask(i.heapTop)
	if err != nil {
		return nil, fmt.Errorf("heap_top: %w", err)
	}
	memory := i.view()
	if uint64(top) > uint64(len(memory)) {
		return nil, errors.New("heap_top lies outside the memory")
	}
	s := &snapshot{size: uint32(len(memory)), globals: i.values()}
	if top == 0 {
		s.whole, top = true, s.size
	}
	s.memory = bytes.Clone(memory[:top])
	// restore clears what was used above the top; that puts it back only if
	// nothing was there in the first place.
	if above := memory[top:]; len(bytes.TrimLeft(above, "\x00")) > 0 {
		return nil, errors.New("_initialize left something above heap_top")
	}
	return s, nil
}

// matches says whether the instance, fresh from _initialize, is in state s.
func (i *instance) matches(s *snapshot) bool {
	// capture asked this before it looked; whatever the asking writes (a frame
	// of a stack) has to be there to compare.
	if _, err := i.ask(i.heapTop); err != nil {
		return false
	}
	return s.equal(i.view(), i.values())
}

// call runs one request. After a fault the instance must not run again.
func (i *instance) call(in, out []byte) (status uint32, output []byte, fault *Error) {
	ptr, err := i.tell(i.input, len(in))
	if err != nil {
		return 0, nil, &Error{Trap, err}
	}
	if ptr == 0 || !i.memory.Write(ptr, in) {
		return 0, nil, &Error{Input, nil}
	}
	if status, err = i.tell(i.handle, len(in)); err != nil {
		return 0, nil, &Error{Trap, err}
	}
	if !known(status) {
		return 0, nil, &Error{Status, nil}
	}
	if ptr, err = i.ask(i.outputPtr); err != nil {
		return 0, nil, &Error{Trap, err}
	}
	n, err := i.ask(i.outputLen)
	if err != nil {
		return 0, nil, &Error{Trap, err}
	}
	answer, ok := i.memory.Read(ptr, n)
	if !ok {
		return 0, nil, &Error{Output, nil}
	}
	return status, append(out, answer...), nil
}

// restore puts memory and globals back to the snapshot. After a fault the
// instance must not run again.
func (i *instance) restore() *Error {
	top, err := i.ask(i.heapTop)
	if err != nil {
		return &Error{Trap, err}
	}
	s := i.snapshot
	memory := i.view()
	// The guest would grow it again next time: what it keeps about its size has
	// been put back, the size itself cannot be.
	if uint64(len(memory)) != uint64(s.size) {
		return &Error{Grew, nil}
	}
	if s.whole && top == 0 {
		top = s.size
	}
	if uint64(top) < uint64(len(s.memory)) || top > s.size {
		return &Error{Heap, nil}
	}
	putBack(memory, s.memory)
	clear(memory[len(s.memory):top])
	for n, v := range i.variables {
		v.Set(s.globals[n])
	}
	return nil
}

// putBack makes the beginning of memory equal to saved. Writing only the blocks
// that differ was measured and is no faster, at 200 KiB (7 us) nor at 3.8 MiB
// (400 us): reading both costs as much as copying. See BenchmarkPutBack.
func putBack(memory, saved []byte) {
	copy(memory, saved)
}

// close wipes the memory, which waits for the garbage collector, and closes the
// module.
func (i *instance) close() {
	clear(i.view())
	// Closing a module that holds no files cannot fail in a way that matters.
	_ = i.module.Close(context.Background())
}
