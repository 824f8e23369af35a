package hash

import "unsafe"

// Key is an HMAC-SHA256 key (RFC 2104), prepared so that each sum costs two
// blocks less.
type Key struct {
	inner, outer state
}

// NewKey prepares a key of any length.
func NewKey(key string) Key {
	var pad [block]byte
	if len(key) > block {
		sum := SHA256(key)
		copy(pad[:], sum[:])
	} else {
		copy(pad[:], key)
	}
	k := Key{start, start}
	for i := range pad {
		pad[i] ^= 0x36
	}
	k.inner.blocks(view(pad[:]))
	for i := range pad {
		pad[i] ^= 0x36 ^ 0x5c
	}
	k.outer.blocks(view(pad[:]))
	return k
}

// Sum returns the HMAC of message.
func (k *Key) Sum(message string) [Size]byte {
	inner := k.inner.sum(message, block)
	return k.outer.sum(view(inner[:]), block)
}

// Equal compares two strings in time that depends on their lengths only.
func Equal(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var diff byte
	for i := range len(a) {
		diff |= a[i] ^ b[i]
	}
	return diff == 0
}

// view reads bytes as a string without copying them. Nothing may change them
// while the string is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
