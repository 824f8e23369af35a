package hash

import "math/bits"

// MD5Size is the length of an MD5 sum in bytes.
const MD5Size = 16

// md5Shift and md5Table are those of RFC 1321, section 3.4.
var md5Shift = [16]uint8{7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21}

var md5Table = [64]uint32{
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
	0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
	0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
	0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
	0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
	0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
	0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
}

// MD5 returns the MD5 sum of message (RFC 1321). HTTP Digest is what it is for:
// phones know nothing better. It protects nothing else here.
func MD5(message string) [MD5Size]byte {
	state := [4]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}
	length := uint64(len(message)) * 8
	for ; len(message) >= block; message = message[block:] {
		md5Block(&state, message[:block])
	}
	var tail [2 * block]byte
	n := copy(tail[:], message)
	tail[n] = 0x80
	n = block
	if len(message) > block-9 {
		n = 2 * block
	}
	for i := range 8 {
		tail[n-8+i] = byte(length >> (8 * i))
	}
	for i := 0; i < n; i += block {
		md5Block(&state, view(tail[i:i+block]))
	}
	var out [MD5Size]byte
	for i, v := range state {
		out[4*i], out[4*i+1], out[4*i+2], out[4*i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	return out
}

func md5Block(state *[4]uint32, m string) {
	a, b, c, d := state[0], state[1], state[2], state[3]
	for i := range 64 {
		var f uint32
		var word int
		switch i / 16 {
		case 0:
			f, word = d^b&(c^d), i
		case 1:
			f, word = c^d&(b^c), (5*i+1)%16
		case 2:
			f, word = b^c^d, (3*i+5)%16
		default:
			f, word = c^(b|^d), (7*i)%16
		}
		w := m[4*word : 4*word+4]
		f += a + md5Table[i] + (uint32(w[0]) | uint32(w[1])<<8 | uint32(w[2])<<16 | uint32(w[3])<<24)
		a, d, c, b = d, c, b, b+bits.RotateLeft32(f, int(md5Shift[i/16*4+i%4]))
	}
	state[0] += a
	state[1] += b
	state[2] += c
	state[3] += d
}
