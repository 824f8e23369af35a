// Package xml writes values of XML 1.0 files: the text of an element, or an
// attribute in quotes of either kind. The file is UTF-8 and says so in its first
// line. What XML cannot carry is refused, never changed: a tab or line feed in an
// attribute would be read as a blank, and most other controls are not XML at all.
//
// Append is for every value. A template chooses one of the others for a single
// place, by what the phone does with what it has read there; they write the same
// and refuse more.
package xml

import "stagger/edge/record"

// Append appends s to b as a value, with the five entities that XML itself
// defines, which no document type can change and every parser knows. The text is
// what is wrong with s, or ""; when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	// Some phones trim what they read, so that a blank at an edge is refused as in a
	// secret.
	if bad := record.Secret.Check(s); bad != "" {
		return b, bad
	}
	from := 0
	for i := 0; i < len(s); i++ {
		entity := ""
		switch s[i] {
		case '&':
			entity = "&amp;"
		case '<':
			entity = "&lt;"
		case '>':
			entity = "&gt;"
		case '"':
			entity = "&quot;"
		case '\'':
			entity = "&apos;"
		default:
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, entity...)
		from = i + 1
	}
	return append(b, s[from:]...), ""
}

// AppendMacro is Append for a text in which the phone expands macros, which begin
// with "$".
func AppendMacro(b []byte, s string) ([]byte, string) { return without(b, s, "$") }

// AppendItem is Append for a part of a value that the phone takes apart: a list of
// "name=value" with ";" between, in which "$" begins a macro.
func AppendItem(b []byte, s string) ([]byte, string) { return without(b, s, "$;") }

// AppendUser is Append for the user in such a list, before the "@" of a host.
func AppendUser(b []byte, s string) ([]byte, string) { return without(b, s, "$;@") }

// AppendURL is Append for a URL, or a part of one, in a rule: it expands macros,
// which begin with "$", and takes blanks, braces and bars as its own syntax. A value
// may hold what a URL may (RFC 3986, section 2), but for the "$".
func AppendURL(b []byte, s string) ([]byte, string) {
	out, bad := without(b, s, "$ \"<>\\^`{|}")
	if bad != "" {
		return b, bad
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return b, "has a character outside ASCII"
		}
	}
	return out, ""
}

// without appends s unless it has one of the bytes of syntax.
func without(b []byte, s, syntax string) ([]byte, string) {
	out, bad := Append(b, s)
	if bad != "" {
		return b, bad
	}
	for i := range len(s) {
		for j := range len(syntax) {
			if s[i] == syntax[j] {
				return b, "has a character that the phone could take for syntax"
			}
		}
	}
	return out, ""
}
