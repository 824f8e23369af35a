// Package marked writes values of the line format "Name :value" whose sections
// and end are marked by words in double angle brackets. The first colon of a line
// separates, later ones are data. There is no escape and no quoting. What a line
// cannot carry is refused, never changed.
package marked

import "stagger/edge/record"

// Append appends s to b as a value. The text is what is wrong with s, or "";
// when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	if bad := record.Secret.Check(s); bad != "" {
		return b, bad
	}
	// What stands before the value counts: it may be the end of another one.
	last := byte(0)
	if len(b) > 0 {
		last = b[len(b)-1]
	}
	for i := range len(s) {
		if s[i] == '<' && last == '<' {
			return b, "has the beginning of a marker"
		}
		last = s[i]
	}
	return append(b, s...), ""
}
