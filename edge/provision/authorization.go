package provision

import (
	"stagger/edge/hash"
	"stagger/edge/wire"
)

// Realm is that of every challenge.
const Realm = "provisioning"

// NonceSeconds is how long a Digest nonce is good. A phone that comes with an
// older one is told so (stale=true) and tries again by itself.
const NonceSeconds = 300

// nonceSkew is how far the clocks of two servers may be apart, in seconds.
const nonceSkew = 30

const (
	passwordLabel = "stagger password v1\x00"
	nonceLabel    = "stagger nonce v1\x00"

	// PasswordLength and nonceLength are characters: 130 bits each, the nonce with
	// its time in front.
	PasswordLength = 26
	nonceTime      = 8
	nonceLength    = nonceTime + 26
)

// verdict is what became of an Authorization header.
type verdict uint8

const (
	refused verdict = iota
	stale           // right but for the age of the nonce
	granted
)

// password returns the password of a device for its provisioning URL: derived
// like the token, under another label, so that nothing is stored. The user is the
// MAC.
func (s *signer) password(tenant, mac string, generation int64) [PasswordLength]byte {
	var buffer [128]byte
	m := append(buffer[:0], passwordLabel...)
	m = append(append(m, tenant...), 0)
	m = append(append(m, mac...), 0)
	m = append(m, byte(generation>>8), byte(generation))
	sum := s.key.Sum(view(m))
	var out [PasswordLength]byte
	base32(out[:], sum[:])
	return out
}

// Password returns the password of a device under a master secret.
func Password(master, tenant, mac string, generation int64) string {
	s := newSigner(master, tenant)
	p := s.password(tenant, mac, generation)
	return string(p[:])
}

// nonce returns the nonce of a moment: its time, and a proof that it is ours.
func (s *signer) nonce(tenant string, now uint64) [nonceLength]byte {
	var out [nonceLength]byte
	for i := range nonceTime {
		out[i] = "0123456789abcdef"[now>>(4*(nonceTime-1-i))&15]
	}
	var buffer [128]byte
	m := append(append(append(buffer[:0], nonceLabel...), tenant...), 0)
	sum := s.key.Sum(view(append(m, out[:nonceTime]...)))
	base32(out[nonceTime:], sum[:])
	return out
}

// Nonce returns the Digest nonce of a tenant at a time, under a master secret.
func Nonce(master, tenant string, now uint64) string {
	s := newSigner(master, tenant)
	n := s.nonce(tenant, now)
	return string(n[:])
}

// basic judges "Basic <base64 of MAC:password>" (RFC 7617).
func (c *Core) basic(r *wire.Request, tenant, mac string, generation int64) verdict {
	encoded, ok := scheme(r.Fact("authorization"), "basic")
	if !ok {
		return refused
	}
	var buffer [128]byte
	credentials, ok := decodeBase64(buffer[:0], encoded)
	if !ok || len(credentials) != len(mac)+1+PasswordLength || credentials[len(mac)] != ':' {
		return refused
	}
	lowerASCII(credentials[:len(mac)])
	if view(credentials[:len(mac)]) != mac {
		return refused
	}
	out := refused
	for _, master := range r.Keys {
		s := newSigner(master, tenant)
		want := s.password(tenant, mac, generation)
		if hash.Equal(view(want[:]), view(credentials[len(mac)+1:])) {
			out = granted
		}
	}
	return out
}

// digest judges "Digest ..." with MD5 and qop=auth (RFC 7616), which is what phones
// can do. The nonce is stateless: a request that is seen on the way can be replayed
// for NonceSeconds, which TLS prevents.
func (c *Core) digest(r *wire.Request, tenant, mac string, generation int64) verdict {
	rest, ok := scheme(r.Fact("authorization"), "digest")
	if !ok {
		return refused
	}
	var p digestParameters
	if !p.parse(rest) {
		return refused
	}
	var user [12]byte
	if len(p.username) != len(user) {
		return refused
	}
	copy(user[:], p.username)
	lowerASCII(user[:])
	var response [2 * hash.MD5Size]byte
	if len(p.response) != len(response) {
		return refused
	}
	copy(response[:], p.response)
	lowerASCII(response[:])
	if view(user[:]) != mac || p.realm != Realm || p.uri != r.Target || p.qop != "auth" ||
		p.algorithm != "" && !equalFold(p.algorithm, "md5") || p.userhash != "" && !equalFold(p.userhash, "false") ||
		len(p.nc) != 8 || !isHex(p.nc) || p.cnonce == "" || len(p.nonce) != nonceLength {
		return refused
	}
	issued, ok := hexTime(p.nonce[:nonceTime])
	if !ok {
		return refused
	}
	// Every check is made whatever the one before said, so that time tells nothing
	// of them but the length of the header.
	ours, right := false, false
	for _, master := range r.Keys {
		s := newSigner(master, tenant)
		nonce := s.nonce(tenant, issued)
		ours = hash.Equal(view(nonce[:]), p.nonce) || ours
		password := s.password(tenant, mac, generation)
		want := digestResponse(&p, r.Method, view(password[:]))
		right = hash.Equal(view(want[:]), view(response[:])) || right
	}
	switch {
	case !ours || !right || issued > r.Now+nonceSkew:
		return refused
	case issued+NonceSeconds < r.Now:
		return stale
	}
	return granted
}

// digestResponse is KD of RFC 7616, section 3.4.1, for MD5 and qop=auth.
func digestResponse(p *digestParameters, method, password string) [2 * hash.MD5Size]byte {
	var buffer [256]byte
	join := func(parts ...string) string {
		b := buffer[:0]
		for i, s := range parts {
			if i > 0 {
				b = append(b, ':')
			}
			b = append(b, s...)
		}
		return view(b)
	}
	a1 := hexMD5(join(p.username, p.realm, password))
	a2 := hexMD5(join(method, p.uri))
	return hexMD5(join(view(a1[:]), p.nonce, p.nc, p.cnonce, p.qop, view(a2[:])))
}

func hexMD5(message string) (out [2 * hash.MD5Size]byte) {
	for i, b := range hash.MD5(message) {
		out[2*i], out[2*i+1] = "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15]
	}
	return out
}

// digestParameters are those of a Digest Authorization header.
type digestParameters struct {
	username, realm, nonce, uri, response, algorithm, cnonce, opaque, qop, nc, userhash string
}

// parse reads a list of name=value and name="value" with commas between. A name
// twice, an unknown escape and anything after the last value are errors.
func (p *digestParameters) parse(s string) bool {
	for {
		s = skipBlanks(s)
		end := 0
		for end < len(s) && isToken(s[end]) {
			end++
		}
		name := s[:end]
		s = skipBlanks(s[end:])
		if name == "" || s == "" || s[0] != '=' {
			return false
		}
		s = skipBlanks(s[1:])
		var value string
		if s != "" && s[0] == '"' {
			end = 1
			for end < len(s) && s[end] != '"' {
				// A backslash would have to be taken out again. None of the values
				// has a reason to hold a quote.
				if s[end] == '\\' || s[end] < 0x20 {
					return false
				}
				end++
			}
			if end == len(s) {
				return false
			}
			value, s = s[1:end], s[end+1:]
		} else {
			end = 0
			for end < len(s) && isToken(s[end]) {
				end++
			}
			if end == 0 {
				return false
			}
			value, s = s[:end], s[end:]
		}
		if !p.set(name, value) {
			return false
		}
		s = skipBlanks(s)
		if s == "" {
			return true
		}
		if s[0] != ',' {
			return false
		}
		s = s[1:]
	}
}

func (p *digestParameters) set(name, value string) bool {
	var to *string
	switch {
	case equalFold(name, "username"):
		to = &p.username
	case equalFold(name, "realm"):
		to = &p.realm
	case equalFold(name, "nonce"):
		to = &p.nonce
	case equalFold(name, "uri"):
		to = &p.uri
	case equalFold(name, "response"):
		to = &p.response
	case equalFold(name, "algorithm"):
		to = &p.algorithm
	case equalFold(name, "cnonce"):
		to = &p.cnonce
	case equalFold(name, "opaque"):
		to = &p.opaque
	case equalFold(name, "qop"):
		to = &p.qop
	case equalFold(name, "nc"):
		to = &p.nc
	case equalFold(name, "userhash"):
		to = &p.userhash
	default:
		return true // RFC 7616, section 3.4: unknown parameters are ignored
	}
	if *to != "" || value == "" {
		return false
	}
	*to = value
	return true
}

// scheme takes the authentication scheme (RFC 9110, section 11.1, in any case) off
// a header.
func scheme(header, name string) (rest string, ok bool) {
	if len(header) <= len(name) || !equalFold(header[:len(name)], name) || header[len(name)] != ' ' {
		return "", false
	}
	return skipBlanks(header[len(name):]), true
}

func skipBlanks(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

// isToken says whether c may stand in a token (RFC 9110, section 5.6.2).
func isToken(c byte) bool {
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// equalFold compares ASCII; b is in lower case.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		c := a[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != b[i] {
			return false
		}
	}
	return true
}

func lowerASCII(b []byte) {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !(s[i] >= '0' && s[i] <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

// hexTime reads the time of a nonce, in the one form that it is written in.
func hexTime(s string) (n uint64, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// decodeBase64 appends the bytes of s to b: standard alphabet, padding required,
// and no bits set that say nothing (RFC 4648, section 4 and 3.5).
func decodeBase64(b []byte, s string) ([]byte, bool) {
	if len(s)%4 != 0 || len(s) == 0 {
		return b, false
	}
	for i := 0; i < len(s); i += 4 {
		var n uint32
		pad := 0
		for j := range 4 {
			var digit uint32
			switch c := s[i+j]; {
			case c >= 'A' && c <= 'Z':
				digit = uint32(c - 'A')
			case c >= 'a' && c <= 'z':
				digit = uint32(c-'a') + 26
			case c >= '0' && c <= '9':
				digit = uint32(c-'0') + 52
			case c == '+':
				digit = 62
			case c == '/':
				digit = 63
			case c == '=' && i+4 == len(s) && j >= 2:
				pad++
				n <<= 6
				continue
			default:
				return b, false
			}
			if pad > 0 {
				return b, false
			}
			n = n<<6 | digit
		}
		if pad == 1 && n&0xff != 0 || pad == 2 && n&0xffff != 0 {
			return b, false
		}
		for j := range 3 - pad {
			b = append(b, byte(n>>(16-8*j)))
		}
	}
	return b, true
}
