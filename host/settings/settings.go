// Package settings takes the files of phones apart: which parameter has which value.
//
// It owns the reading of each syntax that a vendor pack can name, the way a phone reads
// it and without a look at how it was written. It must never render, never know a
// vendor, and never put anything of a file into an error: files are full of passwords.
package settings

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Setting is one parameter of a file.
type Setting struct {
	// Path says where the parameter stands. In formats of lines it is the name; in XML
	// the elements below the root with "/" between, "[1]" behind one that is numbered by
	// an attribute, and "@" before the name of an attribute that is a value itself. An
	// attribute with dots in its name stands for itself, wherever it is.
	Path  string
	Value string
}

// Name is the parameter's own name: the path without where it stands, and without its
// number.
func (s *Setting) Name() string { return Name(s.Path) }

// Name is the last part of a path, without number.
func Name(path string) string {
	if i := strings.LastIndexAny(path, "/@"); i >= 0 {
		path = path[i+1:]
	}
	if i := strings.IndexByte(path, '['); i > 0 && strings.HasSuffix(path, "]") {
		path = path[:i]
	}
	return path
}

// An Error is what is wrong with a file, and in which line.
type Error struct {
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// readers are the syntaxes, by the names that descriptors use.
var readers = map[string]func(file string) ([]Setting, error){
	"keyvalue": readKeyValue,
	"colon":    readColon,
	"quoted":   readQuoted,
	"percent":  readPercent,
	"marked":   readMarked,
	"xml":      readXML,
}

// Read takes a file apart, in its order. What the file says twice is there twice. The
// settings share the memory of the file.
func Read(syntax, file string) ([]Setting, error) {
	read := readers[syntax]
	if read == nil {
		return nil, fmt.Errorf("there is no reader for files of the syntax %q", syntax)
	}
	if !utf8.ValidString(file) {
		return nil, &Error{1, "the file is not UTF-8"}
	}
	return read(file)
}

const blanks = " \t\r"

// lines calls each with every line that is not empty, without the blanks at its edges,
// until that says what is wrong with one.
func lines(file string, each func(line string) (what string)) error {
	n := 0
	for line := range strings.Lines(file) {
		n++
		if line = strings.Trim(line, blanks+"\n"); line == "" {
			continue
		}
		if what := each(line); what != "" {
			return &Error{n, what}
		}
	}
	return nil
}

// readKeyValue reads "name = value". A line that begins with "#" is a comment, but for
// "#!name:value", which phones read; one without "=" is a word and what it is given, as
// in include:config "file".
func readKeyValue(file string) (list []Setting, err error) {
	err = lines(file, func(line string) string {
		if rest, ok := strings.CutPrefix(line, "#!"); ok {
			name, value, _ := strings.Cut(rest, ":")
			list = append(list, Setting{"#!" + name, value})
			return ""
		}
		if line[0] == '#' {
			return ""
		}
		name, value, found := strings.Cut(line, "=")
		if !found || strings.ContainsRune(name, '"') {
			if name, value, found = strings.Cut(line, " "); !found {
				return `is not "name = value"`
			}
		}
		return add(&list, name, value)
	})
	return list, err
}

func add(list *[]Setting, name, value string) (what string) {
	if name = strings.Trim(name, blanks); name == "" {
		return "has no name"
	}
	*list = append(*list, Setting{name, strings.Trim(value, blanks)})
	return ""
}

// readColon reads "name: value". A line that begins with "#" is a comment; "!" and "^"
// before a name belong to it.
func readColon(file string) (list []Setting, err error) {
	err = lines(file, func(line string) string {
		if line[0] == '#' {
			return ""
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return `is not "name: value"`
		}
		return add(&list, name, value)
	})
	return list, err
}

// readQuoted reads NAME="value". A line that begins with "#" is a comment.
func readQuoted(file string) (list []Setting, err error) {
	err = lines(file, func(line string) string {
		if line[0] == '#' {
			return ""
		}
		name, value, found := strings.Cut(line, `="`)
		value, closed := strings.CutSuffix(value, `"`)
		if !found || !closed || strings.ContainsRune(value, '"') {
			return `is not NAME="value"`
		}
		if name == "" {
			return "has no name"
		}
		list = append(list, Setting{name, value})
		return ""
	})
	return list, err
}

// readPercent reads "name=value&name=value", with a percent sign and two hexadecimal
// digits for what cannot be written. A line end is as good as a "&".
func readPercent(file string) (list []Setting, err error) {
	err = lines(file, func(line string) string {
		for part := range strings.SplitSeq(line, "&") {
			name, value, found := strings.Cut(part, "=")
			if !found {
				return `is not "name=value"`
			}
			// PathUnescape leaves a "+" alone, which is one here. Its error quotes the value.
			value, err := url.PathUnescape(value)
			if err != nil || !utf8.ValidString(value) {
				return "has a percent sign without two hexadecimal digits, or what is no text"
			}
			if what := add(&list, name, value); what != "" {
				return what
			}
		}
		return ""
	})
	return list, err
}

// readMarked reads "Name :value" in sections, whose names stand in angle brackets. The
// first marker may have a value of its own behind it.
func readMarked(file string) (list []Setting, err error) {
	section := ""
	err = lines(file, func(line string) string {
		if line[0] == '<' {
			end := strings.IndexByte(line, '>')
			if end < 0 {
				return "is a marker without an end"
			}
			section = strings.Trim(line[:end], "<>"+blanks)
			if line = strings.TrimLeft(line[end:], ">"+blanks); line == "" {
				return ""
			}
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return `is neither "Name :value" nor a marker`
		}
		if name = strings.Trim(name, blanks); name == "" {
			return "has no name"
		}
		if section != "" {
			name = section + "/" + name
		}
		return add(&list, name, value)
	})
	return list, err
}

// A Change is a parameter that two files do not have in common.
type Change struct {
	Path string
	// Old and New are nil where one file does not have the parameter.
	Old, New *string
}

// Compare returns what differs, in the order of the new file, and what only the old one
// has behind it. The order of parameters is no difference. Of one that a file has
// several times, the second is called "path#2", and so on.
func Compare(from, to []Setting) (changes []Change) {
	if len(from) == len(to) {
		same := true
		for i := range to {
			if same = from[i].Path == to[i].Path; !same {
				break
			}
		}
		if same {
			for i := range to {
				if from[i].Value != to[i].Value {
					changes = append(changes, Change{to[i].Path, &from[i].Value, &to[i].Value})
				}
			}
			return changes
		}
	}
	from, to = numbered(from), numbered(to)
	have := make(map[string]*string, len(from))
	for i := range from {
		have[from[i].Path] = &from[i].Value
	}
	for i := range to {
		old := have[to[i].Path]
		delete(have, to[i].Path)
		if old == nil || *old != to[i].Value {
			changes = append(changes, Change{to[i].Path, old, &to[i].Value})
		}
	}
	for i := range from {
		if have[from[i].Path] != nil {
			changes = append(changes, Change{from[i].Path, &from[i].Value, nil})
		}
	}
	return changes
}

// numbered gives those that are there again a name of their own.
func numbered(list []Setting) []Setting {
	seen := make(map[string]int, len(list))
	copied := false
	for i := range list {
		path := list[i].Path
		seen[path]++
		if n := seen[path]; n > 1 {
			if !copied {
				list, copied = append([]Setting(nil), list...), true
			}
			list[i].Path = path + "#" + strconv.Itoa(n)
		}
	}
	return list
}
