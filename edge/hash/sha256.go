// Package hash has the cryptographic primitives that the core needs: SHA-256,
// HMAC-SHA256 and MD5. The standard library's are twice the size of the whole core
// under TinyGo; every test run compares these with them. It must never grow a
// primitive that nothing uses.
package hash

import "math/bits"

// Size is the length of a SHA-256 or HMAC-SHA256 sum in bytes.
const Size = 32

const block = 64

// state is a SHA-256 computation at a block boundary (FIPS 180-4).
type state [8]uint32

var start = state{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

var round = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// SHA256 returns the SHA-256 sum of message.
func SHA256(message string) [Size]byte {
	return start.sum(message, 0)
}

// blocks works off the whole blocks at the head of message and returns the rest.
func (s *state) blocks(message string) string {
	var w [64]uint32
	for ; len(message) >= block; message = message[block:] {
		for i := range 16 {
			m := message[4*i : 4*i+4]
			w[i] = uint32(m[0])<<24 | uint32(m[1])<<16 | uint32(m[2])<<8 | uint32(m[3])
		}
		for i := 16; i < 64; i++ {
			x, y := w[i-15], w[i-2]
			w[i] = w[i-16] + w[i-7] +
				(bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3) +
				(bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10)
		}
		a, b, c, d, e, f, g, h := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
		// Eight rounds at a time, so that the eight variables need not be moved
		// from one to the next in each.
		for i := 0; i < 64; i += 8 {
			r, x := round[i:i+8:i+8], w[i:i+8:i+8]
			h += big1(e) + choose(e, f, g) + r[0] + x[0]
			d += h
			h += big0(a) + majority(a, b, c)
			g += big1(d) + choose(d, e, f) + r[1] + x[1]
			c += g
			g += big0(h) + majority(h, a, b)
			f += big1(c) + choose(c, d, e) + r[2] + x[2]
			b += f
			f += big0(g) + majority(g, h, a)
			e += big1(b) + choose(b, c, d) + r[3] + x[3]
			a += e
			e += big0(f) + majority(f, g, h)
			d += big1(a) + choose(a, b, c) + r[4] + x[4]
			h += d
			d += big0(e) + majority(e, f, g)
			c += big1(h) + choose(h, a, b) + r[5] + x[5]
			g += c
			c += big0(d) + majority(d, e, f)
			b += big1(g) + choose(g, h, a) + r[6] + x[6]
			f += b
			b += big0(c) + majority(c, d, e)
			a += big1(f) + choose(f, g, h) + r[7] + x[7]
			e += a
			a += big0(b) + majority(b, c, d)
		}
		s[0] += a
		s[1] += b
		s[2] += c
		s[3] += d
		s[4] += e
		s[5] += f
		s[6] += g
		s[7] += h
	}
	return message
}

func big0(x uint32) uint32 {
	return bits.RotateLeft32(x, -2) ^ bits.RotateLeft32(x, -13) ^ bits.RotateLeft32(x, -22)
}

func big1(x uint32) uint32 {
	return bits.RotateLeft32(x, -6) ^ bits.RotateLeft32(x, -11) ^ bits.RotateLeft32(x, -25)
}

func choose(x, y, z uint32) uint32 { return z ^ x&(y^z) }

func majority(x, y, z uint32) uint32 { return x&y | z&(x|y) }

// sum finishes a computation that has worked off done bytes, with message as the
// last of its input. The receiver is a copy: a prepared state can be used again.
func (s state) sum(message string, done int) [Size]byte {
	length := uint64(done+len(message)) * 8
	rest := s.blocks(message)
	var tail [2 * block]byte
	n := copy(tail[:], rest)
	tail[n] = 0x80
	n = block
	if len(rest) > block-9 {
		n = 2 * block
	}
	for i := range 8 {
		tail[n-1-i] = byte(length >> (8 * i))
	}
	s.blocks(view(tail[:n]))
	var out [Size]byte
	for i, v := range s {
		out[4*i], out[4*i+1], out[4*i+2], out[4*i+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	return out
}
