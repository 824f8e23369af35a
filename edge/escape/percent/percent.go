// Package percent writes values of the format "name=value&name=value", in which
// everything but letters, digits and "_.~-" is a percent sign and two hexadecimal
// digits for each byte of UTF-8. A blank is "%20" and never "+", so that readers
// of forms and of paths agree.
package percent

import "stagger/edge/record"

const digits = "0123456789ABCDEF"

// Append appends s to b as a value. The text is what is wrong with s, or "";
// when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	if bad := record.CheckPlain(s); bad != "" {
		return b, bad
	}
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '.' || c == '-' || c == '_' || c == '~' {
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '%', digits[c>>4], digits[c&15])
		from = i + 1
	}
	return append(b, s[from:]...), ""
}
