// Package colon writes values of the line format "name: value". The first colon
// of a line separates, later ones are data. There is no escape and no quoting,
// "#" begins a comment even after a value, and so may "//" after a blank. What a
// line cannot carry is refused, never changed.
//
// Append is for every value, AppendLabel for what is only shown on a display: a
// firmware once gave values to a shell, so what a shell would act on is refused
// unless people need it to write names.
package colon

import "stagger/edge/record"

// Append appends s to b as a value. The text is what is wrong with s, or "";
// when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	out, bad := AppendLabel(b, s)
	if bad != "" {
		return b, bad
	}
	for i := range len(s) {
		switch s[i] {
		case '`', '$', '\\', '|', '&', ';', '<', '>':
			return b, "has a character that a shell could act on"
		}
	}
	return out, ""
}

// AppendLabel is Append for a text on a display, where a shell's characters are
// allowed.
func AppendLabel(b []byte, s string) ([]byte, string) {
	if bad := record.Secret.Check(s); bad != "" {
		return b, bad
	}
	for i := range len(s) {
		switch s[i] {
		case '#':
			return b, "has the beginning of a comment"
		case '/':
			if at(b, s, i-1) == '/' && at(b, s, i-2) <= ' ' {
				return b, "has the beginning of a comment"
			}
		}
	}
	return append(b, s...), ""
}

// at is the byte of s at i, or what stands so far before s: a blank in most lines,
// the end of another value in some.
func at(b []byte, s string, i int) byte {
	if i >= 0 {
		return s[i]
	}
	if i += len(b); i >= 0 {
		return b[i]
	}
	return ' '
}
