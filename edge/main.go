// Command edge is the core as a WebAssembly module: the exports of ABI v1 (see
// package wire) and nothing else. It builds with TinyGo, and with Go's own
// compiler as a wasip1 reactor.
package main

import (
	"unsafe"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/vendors"
)

var (
	core   = provision.New(vendors.Packs)
	input  []byte
	output []byte
)

func main() {}

// The name of this export is the version: a host looks for it, and a later
// version may sit beside it.
//
//go:wasmexport stagger_abi_1
func abi() {}

//go:wasmexport input
func inputBuffer(length uint32) uint32 {
	if length == 0 || length > wire.MaxInput {
		return 0
	}
	if uint32(cap(input)) < length {
		input = make([]byte, length)
	}
	input = input[:length]
	return address(input)
}

//go:wasmexport handle
func handle(length uint32) uint32 {
	if length > uint32(len(input)) {
		output = append(output[:0], "handle: longer than the input"...)
		return wire.StatusMalformed
	}
	var status uint32
	status, output = core.Handle(input[:length])
	return status
}

//go:wasmexport output_ptr
func outputPtr() uint32 { return address(output) }

//go:wasmexport output_len
func outputLen() uint32 { return uint32(len(output)) }

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
