// Package keyvalue writes values of the line format "name = value": the value is
// the rest of the line, there is no escape and no quoting. What a line cannot
// carry is refused, never changed.
package keyvalue

import "stagger/edge/record"

// Append appends s to b as a value. The text is what is wrong with s, or "";
// when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	if bad := record.Secret.Check(s); bad != "" {
		return b, bad
	}
	// A value that is one of these tokens as a whole resets the parameter.
	if s == "%NULL%" || s == "%EMPTY%" {
		return b, "is a reset token"
	}
	return append(b, s...), ""
}
