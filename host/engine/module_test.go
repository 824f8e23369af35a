package engine

import "stagger/edge/wire"

// This file assembles small modules by hand, so that tests can hold guests that
// no compiler would make.

// fn is a function of a module: exported under name, with a body in the binary
// format (locals left out, the final end as well).
type fn struct {
	name            string
	params, results int
	body            []byte
}

// assembly is a module. The zero value has one page of memory.
type assembly struct {
	imports  []byte // items of the import section, functions only where they are called
	nimports int
	fns      []fn
	data     []byte // at address 0
	hidden   bool   // do not export the memory
	global   bool   // one mutable i32, and one that is not
	wide     bool   // a mutable v128
	late     bool   // the globals come after the exports, where they must not be
}

const (
	i32const = 0x41
	i32add   = 0x6a
	i32eq    = 0x46
	drop     = 0x1a
	trap     = 0x00
	end      = 0x0b
	ret      = 0x0f
)

// num is i32.const v.
func num(v uint32) []byte {
	b := []byte{i32const}
	for s := int32(v); ; {
		low := byte(s & 0x7f)
		s >>= 7
		if s == 0 && low&0x40 == 0 || s == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// seq joins pieces of code.
func seq(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func op(b ...byte) []byte { return b }

func load(addr uint32) []byte  { return seq(num(addr), op(0x28, 2, 0)) }
func load8(addr uint32) []byte { return seq(num(addr), op(0x2d, 0, 0)) }
func store(addr uint32, value []byte) []byte {
	return seq(num(addr), value, op(0x36, 2, 0))
}

// when runs code if both values are equal.
func when(a, b []byte, code ...[]byte) []byte {
	return seq(a, b, op(i32eq, 0x04, 0x40), seq(code...), op(end))
}

func section(id byte, n int, items []byte) []byte {
	content := append(appendUleb(nil, uint32(n)), items...)
	return append(appendUleb([]byte{id}, uint32(len(content))), content...)
}

func named(name string) []byte { return append(appendUleb(nil, uint32(len(name))), name...) }

func (a assembly) bytes() []byte {
	var types, funcs, exports, code []byte
	nexports := 0
	for i, f := range a.fns {
		types = append(appendUleb(append(types, 0x60), uint32(f.params)), seq(repeat(0x7f, f.params))...)
		types = append(appendUleb(types, uint32(f.results)), repeat(0x7f, f.results)...)
		funcs = appendUleb(funcs, uint32(i))
		exports = append(exports, named(f.name)...)
		exports = appendUleb(append(exports, 0), uint32(i+a.nimports))
		nexports++
		body := seq([]byte{0}, f.body, op(end))
		code = append(appendUleb(code, uint32(len(body))), body...)
	}
	if !a.hidden {
		exports = append(append(exports, named("memory")...), 2, 0)
		nexports++
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, section(1, len(a.fns), types)...)
	if a.imports != nil {
		b = append(b, section(2, 1, a.imports)...)
	}
	b = append(b, section(3, len(a.fns), funcs)...)
	b = append(b, section(5, 1, []byte{0, 1})...)
	var globals []byte
	switch {
	case a.wide:
		zero := append([]byte{0x7b, 1, 0xfd, 12}, make([]byte, 16)...)
		globals = section(6, 1, append(zero, end))
	case a.global:
		globals = section(6, 2, []byte{0x7f, 1, i32const, 0, end, 0x7f, 0, i32const, 5, end})
	}
	if !a.late {
		b = append(b, globals...)
	}
	b = append(b, section(7, nexports, exports)...)
	if a.late {
		b = append(b, globals...)
	}
	b = append(b, section(10, len(a.fns), code)...)
	if a.data != nil {
		b = append(b, section(11, 1, seq([]byte{0}, num(0), op(end), named(string(a.data))))...)
	}
	return b
}

func repeat(b byte, n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = b
	}
	return list
}

// The small guest keeps heap_top at address 8, a counter at 16, puts requests
// at inputAt and does what the first byte of a request asks for:
//
//	c  add one to the counter and answer it
//	g  add one to the global variable and answer it
//	t  trap               T  trap later, in output_ptr     L  in output_len
//	u  status 3           U  status 0xffffffff
//	m  grow the memory    f  fail to grow it by 60,000 pages
//	p  an output beyond the memory     n  one too long     o  one that wraps around
//	h  heap_top 0 later   H  heap_top below where it began
//	b  heap_top beyond the memory      B  a trap in heap_top
//	anything else: echo, under the status in the second byte
//
// A request of 100, 101 or 102 bytes meets an input that traps, has no room, or
// names room outside the memory.
const (
	heapBegins = 4096
	inputAt    = 8192
)

func smallGuest() assembly {
	is := func(command byte, code ...[]byte) []byte {
		return when(load8(inputAt), num(uint32(command)), code...)
	}
	answer := func(v []byte) []byte { return seq(store(inputAt, v), num(wire.StatusResponse), op(ret)) }
	globalGet, globalSet := op(0x23, 0), op(0x24, 0)
	return assembly{
		global: true,
		data:   []byte{1, 2, 3, 4, 5, 6, 7, 8, 0, heapBegins >> 8, 0, 0, 0, 0, 0, 0},
		fns: []fn{
			{"_initialize", 0, 0, store(2048, num(0x12345678))},
			{"stagger_abi_1", 0, 0, nil},
			{"input", 1, 1, seq(
				when(op(0x20, 0), num(100), op(trap)),
				when(op(0x20, 0), num(101), num(0), op(ret)),
				when(op(0x20, 0), num(102), num(0xfffffff0), op(ret)),
				store(8, seq(num(inputAt), op(0x20, 0, i32add))),
				store(20, op(0x20, 0)),
				num(inputAt),
			)},
			{"handle", 1, 1, seq(
				is('c', store(16, seq(load(16), num(1), op(i32add))), store(20, num(4)), answer(load(16))),
				is('g', globalGet, num(1), op(i32add), globalSet, store(20, num(4)), answer(globalGet)),
				is('t', op(trap)),
				is('u', num(3), op(ret)),
				is('U', num(0xffffffff), op(ret)),
				is('m', num(1), op(0x40, 0, drop)),
				is('f', num(60000), op(0x40, 0, drop)),
				when(load8(inputAt), num('e'), num(0), op(ret)),
				load8(inputAt+1),
			)},
			{"output_ptr", 0, 1, seq(
				is('T', op(trap)),
				is('p', num(0x7ffffff0), op(ret)),
				is('o', num(0xffffffff), op(ret)),
				num(inputAt),
			)},
			{"output_len", 0, 1, seq(
				is('L', op(trap)),
				is('n', num(0xffffffff), op(ret)),
				load(20),
			)},
			{"heap_top", 0, 1, seq(
				is('h', num(0), op(ret)),
				is('H', num(heapBegins-1), op(ret)),
				is('b', num(65537), op(ret)),
				is('B', op(trap)),
				load(8),
			)},
		},
	}
}

// with returns a with the function of that name replaced, or left out when f
// has no name.
func (a assembly) with(name string, f fn) assembly {
	var list []fn
	for _, old := range a.fns {
		if old.name == name {
			if old = f; f.name == "" {
				continue
			}
		}
		list = append(list, old)
	}
	a.fns = list
	return a
}
