package provision

import (
	"unsafe"

	"stagger/edge/hash"
	"stagger/edge/profile"
)

// A token is 30 characters of a-z and 2-7 (base32, RFC 4648, lower case, no
// padding): one for the key, three for the generation (15 bits), and 26 for 130
// bits of HMAC-SHA256 over label, tenant, MAC and generation, under a key that is
// derived from the master secret for this tenant.
const (
	TokenLength = 30
	// OpenToken stands in the place of the token of a tenant without any check.
	OpenToken = "open"
	// MinKey is the length of a master secret in bytes, at least.
	MinKey = 32

	macAt = 4 // where the HMAC starts
)

const (
	keyLabel    = "stagger key v1\x00"
	tenantLabel = "stagger tenant v1\x00"
	tokenLabel  = "stagger token v1\x00"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

// KeyID returns the character that tells a token of this master secret from one
// of another. Two secrets may share it; then both are tried.
func KeyID(master string) byte {
	var buffer [256]byte
	sum := hash.SHA256(view(append(append(buffer[:0], keyLabel...), master...)))
	return alphabet[sum[0]>>3]
}

// signer makes the tokens of one tenant under one master secret.
type signer struct {
	id  byte
	key hash.Key
}

func newSigner(master, tenant string) signer {
	s := signer{id: KeyID(master)}
	key := hash.NewKey(master)
	var buffer [128]byte
	derived := key.Sum(view(append(append(buffer[:0], tenantLabel...), tenant...)))
	s.key = hash.NewKey(view(derived[:]))
	return s
}

// token returns the token, and 64 bits of the same HMAC that no token shows.
func (s *signer) token(tenant, mac string, generation int64) (token [TokenLength]byte, rest uint64) {
	var buffer [128]byte
	m := append(buffer[:0], tokenLabel...)
	m = append(append(m, tenant...), 0)
	m = append(append(m, mac...), 0)
	m = append(m, byte(generation>>8), byte(generation))
	sum := s.key.Sum(view(m))

	token[0] = s.id
	for i := range 3 {
		token[1+i] = alphabet[generation>>(10-5*i)&31]
	}
	base32(token[macAt:], sum[:])
	for _, b := range sum[24:] {
		rest = rest<<8 | uint64(b)
	}
	return token, rest
}

// base32 fills out with the first bits of from (RFC 4648, section 6, in lower
// case).
func base32(out, from []byte) {
	bits, have, at := uint32(0), 0, 0
	for i := range out {
		if have < 5 {
			bits = bits<<8 | uint32(from[at])
			have += 8
			at++
		}
		have -= 5
		out[i] = alphabet[bits>>have&31]
	}
}

// Token returns the token of a device under a master secret.
func Token(master, tenant, mac string, generation int64) string {
	s := newSigner(master, tenant)
	token, _ := s.token(tenant, mac, generation)
	return string(token[:])
}

// generationOf reads the generation that a token claims; false when it is no
// token at all.
func generationOf(token string) (int64, bool) {
	if len(token) != TokenLength {
		return 0, false
	}
	generation := int64(0)
	for i := range len(token) {
		digit := int64(0)
		switch c := token[i]; {
		case c >= 'a' && c <= 'z':
			digit = int64(c - 'a')
		case c >= '2' && c <= '7':
			digit = int64(c-'2') + 26
		default:
			return 0, false
		}
		if i >= 1 && i < macAt {
			generation = generation<<5 | digit
		}
	}
	return generation, generation <= profile.MaxGeneration
}

// view reads bytes as a string without copying them. Nothing may change them
// while the string is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
