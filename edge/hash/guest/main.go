// Command guest is the primitives alone as a module, so that a test can put
// published vectors through the code that TinyGo makes of them.
package main

import (
	"unsafe"

	"stagger/edge/hash"
)

var (
	in  [64 << 10]byte
	out [hash.Size]byte
)

func main() {}

//go:wasmexport input
func input() uint32 { return uint32(uintptr(unsafe.Pointer(&in))) }

//go:wasmexport output
func output() uint32 { return uint32(uintptr(unsafe.Pointer(&out))) }

//go:wasmexport sha256
func sha256(length uint32) { out = hash.SHA256(string(in[:length])) }

//go:wasmexport md5
func md5(length uint32) {
	sum := hash.MD5(string(in[:length]))
	copy(out[:], sum[:])
}

// The key lies before the message.
//
//go:wasmexport hmac
func hmac(key, length uint32) {
	k := hash.NewKey(string(in[:key]))
	out = k.Sum(string(in[key : key+length]))
}
