package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// The state of an instance is its linear memory and its globals. Memory can be
// put back from outside; globals only when they are exported, which compilers
// do not do. Go's own WebAssembly needs it: its stack pointer is a global, its
// stack lies in linear memory and moves when it grows, so that memory put back
// without the pointer is a stack that the next call does not stand on (it dies
// with "split stack overflow"). So the host adds an export for each global to
// the module before it compiles it, and changes nothing else.

// globalExport is the name under which exportGlobals exports global i.
func globalExport(i int) string { return "stagger host: global " + strconv.Itoa(i) }

// Section ids of the binary format.
const (
	importSection = 2
	globalSection = 6
	exportSection = 7
)

var errTruncated = errors.New("not a WebAssembly module: it ends in the middle of a section")

// exportGlobals returns module with an export added for each of its globals,
// and how many those are. It refuses imports that are not functions: the host
// cannot put those back. It checks no more of the format than it needs; wazero
// does that.
func exportGlobals(module []byte) (with []byte, globals int, err error) {
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(module, []byte(header)) {
		return nil, 0, errors.New("not a WebAssembly module: wrong first eight bytes")
	}
	with = append(make([]byte, 0, len(module)+1024), header...)
	var counted, exported bool
	for rest := module[len(header):]; len(rest) > 0; {
		start := rest
		id := rest[0]
		size, after, ok := uleb(rest[1:])
		if !ok || uint64(size) > uint64(len(after)) {
			return nil, 0, errTruncated
		}
		section := after[:size]
		rest = after[size:]
		switch id {
		case importSection:
			if err := onlyFunctions(section); err != nil {
				return nil, 0, err
			}
		case globalSection:
			// A global that is not counted here is one that is not put back.
			if counted || exported {
				return nil, 0, errors.New("not a WebAssembly module: its sections are out of order")
			}
			n, _, ok := uleb(section)
			if !ok || uint64(n) > uint64(len(section)) {
				return nil, 0, errTruncated
			}
			globals, counted = int(n), true
		case exportSection:
			n, list, ok := uleb(section)
			if !ok {
				return nil, 0, errTruncated
			}
			exported = true
			longer := appendUleb(nil, n+uint32(globals))
			longer = append(longer, list...)
			for i := range globals {
				name := globalExport(i)
				longer = append(appendUleb(longer, uint32(len(name))), name...)
				longer = appendUleb(append(longer, 3), uint32(i))
			}
			with = append(appendUleb(append(with, id), uint32(len(longer))), longer...)
			continue
		}
		with = append(with, start[:len(start)-len(rest)]...)
	}
	return with, globals, nil
}

// onlyFunctions checks the items of an import section.
func onlyFunctions(section []byte) error {
	n, rest, ok := uleb(section)
	for ; ok && n > 0; n-- {
		var module, name, kind []byte
		if module, rest, ok = cut(rest); !ok {
			break
		}
		if name, rest, ok = cut(rest); !ok {
			break
		}
		if len(rest) == 0 {
			return errTruncated
		}
		if kind, rest = rest[:1], rest[1:]; kind[0] != 0 {
			return fmt.Errorf("the module imports %q from %q, which is not a function", name, module)
		}
		_, rest, ok = uleb(rest) // the function's type
	}
	if !ok {
		return errTruncated
	}
	return nil
}

// cut takes a length and as many bytes off b.
func cut(b []byte) (field, rest []byte, ok bool) {
	n, rest, ok := uleb(b)
	if !ok || uint64(n) > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// uleb takes an unsigned LEB128 number of at most 32 bits off b.
func uleb(b []byte) (v uint32, rest []byte, ok bool) {
	for i := 0; i < 5 && i < len(b); i++ {
		if i == 4 && b[i] > 0x0f {
			return 0, nil, false
		}
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

func appendUleb(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}
