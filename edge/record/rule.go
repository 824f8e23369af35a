package record

import "unicode/utf8"

// Rule says which text a String may hold, on top of Plain, which all obey.
type Rule uint8

// Rules for text.
const (
	// Plain is valid UTF-8 without control characters (C0, C1, DEL), line and
	// paragraph separators, byte order mark and non-characters: what no
	// configuration format can carry, or not faithfully.
	Plain Rule = iota
	// Label is shown on a display: no bidi controls (they spoof), no blanks at
	// the edges.
	Label
	// Secret has no blanks at the edges, which some phones trim.
	Secret
	// User is the user part of a SIP URI (RFC 3261, section 25.1), unescaped.
	User
	// Dial is what a key dials: a number, a feature code, a user or a SIP URI, without
	// "$" and "!", with which phones begin macros.
	Dial
	// Host is a DNS name, an IPv4 address, or an IPv6 address in brackets.
	Host
	// URL is an absolute http, https or tftp URL without user, password, blanks
	// or characters that a phone could take for a macro.
	URL
	// Base is an http or https URL that more path is put behind: without query, and
	// with at most one slash at its end.
	Base
	// Parameter is the name of a vendor's parameter in a profile: A-Z, a-z, 0-9 and
	// "_", with single dots between.
	Parameter
	// MAC is 12 lower-case hexadecimal digits of a single device: neither a
	// group address nor all zero.
	MAC
	// Tenant is 1 to 32 of a-z, 0-9 and "-", neither first nor last a "-".
	Tenant
	// Name is a name of a vendor or a model: A-Z, a-z, 0-9, ".", "_" and "-".
	Name
	// Zone is the name of a time zone of the IANA database.
	Zone
	// Tag is a language tag such as "en", "pt-BR" or "zh-Hant" (RFC 5646), without
	// extensions and private parts, which begin with a single letter.
	Tag
	// Version is the version of a firmware: digits with dots between.
	Version
	// Clock is a time of the day from 00:00 to 23:59.
	Clock
)

// Check returns what is wrong with s under the rule, or "". The text names the
// rule and never the value.
func (r Rule) Check(s string) string {
	if bad := checkPlain(s, r == Label); bad != "" {
		return bad
	}
	switch r {
	case Label, Secret:
		if s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
			return "has a blank at its edge"
		}
	case User:
		if !only(s, userSet) {
			return "is not a SIP user"
		}
	case Dial:
		if !only(s, dialSet) {
			return "is not a number, feature code, user or SIP URI"
		}
	case Host:
		if !IsHost(s) {
			return "is not a host name or address"
		}
	case URL:
		if !isURL(s) {
			return "is not an absolute http, https or tftp URL without user, password or blanks"
		}
	case Base:
		if !isBase(s) {
			return "is not an absolute http or https URL without user, password, query or blanks"
		}
	case Parameter:
		if !isParameter(s) {
			return `is not a parameter name: letters, digits and "_" with dots between`
		}
	case MAC:
		if !IsMAC(s) {
			return "is not the MAC of a device in 12 lower-case hexadecimal digits"
		}
	case Tenant:
		if !IsTenant(s) {
			return `is not 1 to 32 of a-z, 0-9 and "-"`
		}
	case Name:
		if !only(s, nameSet) {
			return `is not a name of letters, digits, ".", "_" and "-"`
		}
	case Zone:
		if !only(s, zoneSet) {
			return "is not the name of a time zone"
		}
	case Tag:
		if !isTag(s) {
			return "is not a language tag"
		}
	case Version:
		if !isVersion(s) {
			return "is not a version: digits with dots between"
		}
	case Clock:
		if !isClock(s) {
			return "is not a time of the day from 00:00 to 23:59"
		}
	}
	return ""
}

// checkPlain is Rule Plain and, for labels, the ban on bidi controls. ASCII is
// the common case and costs one comparison a byte.
func checkPlain(s string, label bool) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || c == 0x7f {
			return "has a control character"
		}
		if c < 0x80 {
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return "is not UTF-8"
		case r < 0xa0:
			return "has a control character"
		case r == 0x2028 || r == 0x2029:
			return "has a line separator"
		case r == 0xfeff, r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef:
			return "has a character that is none"
		case label && (r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069):
			return "has a bidi control"
		}
		i += n - 1
	}
	return ""
}

// CheckPlain returns what is wrong with s under Plain, or "".
func CheckPlain(s string) string { return checkPlain(s, false) }

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Sets of characters beside letters and digits, as bits of class.
const (
	userSet = 1 << iota
	dialSet
	nameSet
	zoneSet
	pathSet
)

// class says for each byte which sets have it. Letters and digits are in all.
var class = func() (class [256]uint8) {
	for set, extra := range [...]string{
		"-_.!~*'()&=+$,;?/%#", "-_.~*'()&=+,;?/%#@:", "._-", "/_+-", "/?&=-_.~%+,:;@!()*'",
	} {
		for i := range len(extra) {
			class[extra[i]] |= 1 << set
		}
	}
	for c := range 256 {
		if alphanumeric(byte(c)) {
			class[c] = 0xff
		}
	}
	return class
}()

// only says whether s is made of letters, digits and the characters of a set.
func only(s string, set uint8) bool {
	for i := range len(s) {
		if class[s[i]]&set == 0 {
			return false
		}
	}
	return true
}

// IsMAC says whether s obeys the rule MAC.
func IsMAC(s string) bool {
	if len(s) != 12 || s == "000000000000" {
		return false
	}
	for i := range 12 {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	// The lowest bit of the first octet marks a group (IEEE 802, section 8.2).
	// It is the lowest bit of the second digit, and of its ASCII code when the
	// digit is decimal; "a" is 10 but 0x61, so letters are the other way round.
	odd := s[1]&1 == 1
	if s[1] >= 'a' {
		odd = !odd
	}
	return !odd
}

// IsTenant says whether s obeys the rule Tenant.
func IsTenant(s string) bool {
	if len(s) == 0 || len(s) > 32 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// IsHost says whether s obeys the rule Host.
func IsHost(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	if s[0] == '[' {
		return isIPv6(s)
	}
	label, dots := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			if label == 0 || label > 63 || s[i-1] == '-' {
				return false
			}
			if i < len(s) {
				dots++
				label = 0
			}
			continue
		}
		if c := s[i]; !alphanumeric(c) && (c != '-' && c != '_' || c == '-' && label == 0) {
			return false
		}
		label++
	}
	// What ends in a number is an address, to resolvers that also read 0x7f.1.
	last := s[len(s)-label:]
	digits := true
	for i := range len(last) {
		digits = digits && last[i] >= '0' && last[i] <= '9'
	}
	if digits || last[0] == '0' && len(last) > 1 && last[1]|0x20 == 'x' {
		return dots == 3 && isIPv4(s)
	}
	return true
}

func isIPv4(s string) bool {
	part, digits := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			if digits == 0 || part > 255 {
				return false
			}
			part, digits = 0, 0
			continue
		}
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		if digits > 0 && part == 0 || digits == 3 {
			return false // a leading zero: some resolvers read it as octal
		}
		part = part*10 + int(s[i]-'0')
		digits++
	}
	return true
}

// isIPv6 checks an address in brackets (RFC 4291, section 2.2) without the
// dotted form and without a zone.
func isIPv6(s string) bool {
	if len(s) < 4 || s[len(s)-1] != ']' {
		return false
	}
	s = s[1 : len(s)-1]
	groups, digits, gap := 0, 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isHex(c):
			if digits == 0 {
				groups++
			}
			if digits++; digits > 4 {
				return false
			}
		case c != ':':
			return false
		case i+1 < len(s) && s[i+1] == ':':
			if gap {
				return false
			}
			gap, digits = true, 0
			i++
		case digits == 0 || i+1 == len(s):
			return false
		default:
			digits = 0
		}
	}
	return groups == 8 && !gap || groups < 8 && gap
}

func isURL(s string) bool {
	rest := ""
	for _, scheme := range [...]string{"https://", "http://", "tftp://"} {
		if len(s) > len(scheme) && s[:len(scheme)] == scheme {
			rest = s[len(scheme):]
		}
	}
	end := 0
	for end < len(rest) && rest[end] != '/' && rest[end] != '?' {
		end++
	}
	host := rest[:end]
	for i := len(host) - 1; i >= 0 && host[i] != ']'; i-- {
		if host[i] == ':' {
			if !isPort(host[i+1:]) {
				return false
			}
			host = host[:i]
			break
		}
	}
	return IsHost(host) && only(rest[end:], pathSet) && isEscaped(rest[end:])
}

// isEscaped says whether every "%" has its two hexadecimal digits.
func isEscaped(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && (len(s) < i+3 || !isHex(s[i+1]) || !isHex(s[i+2])) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isBase(s string) bool {
	for i := range len(s) {
		if s[i] == '?' {
			return false
		}
	}
	return isURL(s) && s[0] == 'h' && !(s[len(s)-1] == '/' && s[len(s)-2] == '/')
}

func isParameter(s string) bool {
	part := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			if part == 0 {
				return false
			}
			part = 0
			continue
		}
		if !alphanumeric(s[i]) && s[i] != '_' {
			return false
		}
		part++
	}
	return true
}

func isPort(s string) bool {
	if len(s) == 0 || len(s) > 5 || s[0] == '0' {
		return false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n <= 65535
}

func isTag(s string) bool {
	part, first := 0, true
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '-' {
			if part < 2 || part > 8 {
				return false
			}
			part, first = 0, false
			continue
		}
		if !alphanumeric(s[i]) || first && s[i] <= '9' {
			return false // the language itself has no digits
		}
		part++
	}
	return true
}

func isClock(s string) bool {
	if len(s) != 5 || s[2] != ':' {
		return false
	}
	for i, highest := range [...]byte{'2', '9', ':', '5', '9'} {
		if i != 2 && (s[i] < '0' || s[i] > highest) {
			return false
		}
	}
	return s[0] < '2' || s[1] <= '3'
}

func isVersion(s string) bool {
	digits := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			if digits == 0 || digits > 6 {
				return false
			}
			digits = 0
			continue
		}
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		digits++
	}
	return true
}
