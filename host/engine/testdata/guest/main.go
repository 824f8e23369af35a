// Command guest is a stub of the core for the tests of package engine. It keeps
// ABI v1 and misbehaves on request: the first byte of its input says how.
//
//	e  echo the rest
//	n  answer a need: echo the rest under StatusNeed
//	m  answer StatusMalformed
//	c  add one to a counter in memory and answer it, four bytes little-endian
//	s  leave the rest on the stack, on the heap and in a global, answer "kept"
//	a  allocate and drop as many KiB as the rest says in decimal
//	u  answer a status that ABI v1 does not have
//	t  trap
package main

import "strconv"

var (
	in, out []byte
	counter uint32
	kept    [][]byte
	index   = map[string]string{}
)

func main() {}

//go:wasmexport stagger_abi_1
func abi() {}

//go:wasmexport input
func input(n uint32) *byte {
	if n > 640<<10 {
		return nil
	}
	in = make([]byte, n+1)
	return &in[0]
}

//go:wasmexport handle
func handle(n uint32) uint32 {
	command, rest := in[0], in[1:n]
	out = append([]byte(nil), rest...)
	switch command {
	case 'e':
		return 0
	case 'n':
		return 1
	case 'm':
		return 2
	case 'c':
		counter++
		out = []byte{byte(counter), byte(counter >> 8), byte(counter >> 16), byte(counter >> 24)}
		return 0
	case 's':
		for i := 0; i < 50; i++ {
			kept = append(kept, append([]byte(nil), rest...))
		}
		index[string(rest)] = string(rest)
		out = []byte("kept")
		if deep(rest, 40) == 1 {
			out = append(out, '.')
		}
		return 0
	case 'a':
		kib, err := strconv.Atoi(string(rest))
		if err != nil {
			panic(err)
		}
		for i := 0; i < kib; i++ {
			block := make([]byte, 1024)
			block[i%1024] = 1
			kept = append(kept[:0], block)
		}
		return 0
	case 'u':
		return 77
	}
	panic("as asked")
}

// deep leaves copies of b in forty frames of the stack.
//
//go:noinline
func deep(b []byte, n int) int {
	var frame [200]byte
	copy(frame[:], b)
	if n == 0 {
		return int(frame[0])
	}
	return deep(frame[:], n-1) + int(frame[1])
}

//go:wasmexport output_ptr
func outputPtr() *byte {
	if len(out) == 0 {
		out = make([]byte, 1)[:0]
		return &out[:1][0]
	}
	return &out[0]
}

//go:wasmexport output_len
func outputLen() uint32 { return uint32(len(out)) }

//go:wasmexport heap_top
func heapTop() uint32 { return 0 }
