// Package quoted writes values of the line format NAME="value". There is no
// escape: the next quotation mark ends the value, and words in braces are macros.
// What a line cannot carry is refused, never changed. A phone skips a line that is
// too long, in silence, and ignores a file that is too large, so a finished file
// is checked once more, by CheckFile.
package quoted

import (
	"unicode/utf8"

	"stagger/edge/record"
)

// Limits of the format: characters of a value, bytes of a name, bytes of a line
// with its CR LF, and bytes of a file. Manuals say 120 KB; this is the smaller
// reading of it.
const (
	MaxValue = 500
	MaxName  = 32
	MaxLine  = 537
	MaxFile  = 120000
)

// overhead is what the shortest line has beside its value.
const overhead = len("N=\"\"\r\n")

// Append appends s to b as a value. The text is what is wrong with s, or "";
// when it is not empty b is returned as it was.
func Append(b []byte, s string) ([]byte, string) {
	if bad := record.Secret.Check(s); bad != "" {
		return b, bad
	}
	if s == "" {
		return b, ""
	}
	// Whether a backslash escapes the quotation mark after it, no manual says.
	if s[len(s)-1] == '\\' {
		return b, "has a backslash at its end"
	}
	if len(s) > MaxValue && utf8.RuneCountInString(s) > MaxValue {
		return b, "is longer than 500 characters"
	}
	if len(s) > MaxLine-overhead {
		return b, "is longer than a line can be"
	}
	for i := range len(s) {
		switch s[i] {
		case '"':
			return b, "has a quotation mark"
		case '{', '}':
			return b, "has a brace, which begins or ends a macro"
		}
	}
	return append(b, s...), ""
}

// CheckFile checks a finished file: its size, and that every line is a comment, an
// empty line or NAME="value", ends in CR LF and is not too long. The text is what
// is wrong with the line, counted from 1, or with the whole file when line is 0;
// it is "" when nothing is.
func CheckFile(file []byte) (line int, what string) {
	if len(file) > MaxFile {
		return 0, "is larger than 120 KB"
	}
	for line = 1; len(file) > 0; line++ {
		end := 0
		for end < len(file) && file[end] >= ' ' {
			end++
		}
		if end+1 >= len(file) || file[end] != '\r' || file[end+1] != '\n' {
			return line, "has a control character, or does not end in CR LF"
		}
		if end+2 > MaxLine {
			return line, "is longer than 537 bytes"
		}
		if end > 0 && file[0] != '#' && !isSetting(file[:end]) {
			return line, `is not NAME="value"`
		}
		file = file[end+2:]
	}
	return 0, ""
}

// isSetting says whether a line is NAME="value", without blanks round the "=" and
// with no quotation mark but the two.
func isSetting(line []byte) bool {
	name := 0
	for name < len(line) && isName(line[name]) {
		name++
	}
	last := len(line) - 1
	if name == 0 || name > MaxName || last < name+2 || line[name] != '=' || line[name+1] != '"' || line[last] != '"' {
		return false
	}
	for _, c := range line[name+2 : last] {
		if c == '"' {
			return false
		}
	}
	return true
}

func isName(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}
