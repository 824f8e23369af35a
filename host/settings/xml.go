package settings

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep elements may nest: no phone's file comes near it.
const maxDepth = 32

// An element is one that is open.
type element struct {
	name string
	// path is how much of the buffer is the path of the elements around it.
	path int
	// parent says that it has elements inside, and text is what stands between them.
	parent bool
	text   string
	more   []byte // of the text, behind the first piece
}

// An xmlReader reads the XML that configuration files are made of: elements,
// attributes, text, comments, the five entities and characters by number. It refuses
// what they have no use for (document types, sections of raw text, other entities), and
// what is no XML. encoding/xml, to which a fuzz test compares it, takes six times as
// long, and a comparison of fleets reads every file twice.
type xmlReader struct {
	file string
	at   int
	open []element
	path []byte
	list []Setting
	what string

	// paths are those of the settings behind each other, and ends where each ends: a
	// string of its own for each would be most of the work.
	paths []byte
	ends  []int
	// returns says that there are line ends that have to be made into others.
	returns bool
}

func readXML(file string) ([]Setting, error) {
	n := strings.Count(file, "\n") + 8
	r := &xmlReader{file: file, list: make([]Setting, 0, n), ends: make([]int, 0, n), paths: make([]byte, 0, 24*n)}
	r.characters()
	r.declaration()
	for roots := 0; r.what == ""; {
		r.blanks()
		switch {
		case r.at == len(file):
			if roots == 0 {
				r.fail("has no element")
			}
		case !r.comment():
			if roots++; roots > 1 {
				r.fail("has something behind its last element")
				break
			}
			r.element()
		}
		if r.at == len(file) {
			break
		}
	}
	if r.what != "" {
		return nil, &Error{1 + strings.Count(file[:min(r.at, len(file))], "\n"), r.what}
	}
	paths, from := string(r.paths), 0
	for i, to := range r.ends {
		r.list[i].Path = paths[from:to]
		from = to
	}
	return r.list, nil
}

// add adds a setting with the path of the innermost element, and what stands behind
// that.
func (r *xmlReader) add(behind, value string) {
	if len(r.path) > 0 {
		r.paths = append(r.paths, r.path...)
	} else {
		r.paths = append(r.paths, r.open[0].name...) // the root
	}
	if behind != "" {
		r.paths = append(append(r.paths, '@'), behind...)
	}
	r.ends, r.list = append(r.ends, len(r.paths)), append(r.list, Setting{Value: value})
}

func (r *xmlReader) fail(what string) {
	if r.what == "" {
		r.what = what
	}
}

func (r *xmlReader) next(prefix string) bool { return strings.HasPrefix(r.file[r.at:], prefix) }

// skip goes on behind the prefix, if it comes next.
func (r *xmlReader) skip(prefix string) bool {
	if !r.next(prefix) {
		return false
	}
	r.at += len(prefix)
	return true
}

func (r *xmlReader) blanks() (any bool) {
	for r.at < len(r.file) && strings.IndexByte(" \t\r\n", r.file[r.at]) >= 0 {
		r.at++
		any = true
	}
	return any
}

// until returns what stands before the next end, and goes on behind that.
func (r *xmlReader) until(end, what string) string {
	n := strings.Index(r.file[r.at:], end)
	if n < 0 {
		r.fail(what)
		return ""
	}
	text := r.file[r.at : r.at+n]
	r.at += n + len(end)
	return text
}

// declared is what a declaration says: XML 1.0, and UTF-8 if it names a coding.
var declared = regexp.MustCompile(`^[ \t\r\n]+version=["']1\.0["']([ \t\r\n]+encoding=["'](?i:utf-8)["'])?([ \t\r\n]+standalone=["'](yes|no)["'])?[ \t\r\n]*$`)

func (r *xmlReader) declaration() {
	if r.skip("<?xml") && !declared.MatchString(r.until("?>", "has a declaration without an end")) {
		r.fail("has a declaration that is not one of XML 1.0 in UTF-8")
	}
}

func (r *xmlReader) comment() bool {
	if !r.skip("<!--") {
		return false
	}
	if text := r.until("-->", "has a comment without an end"); strings.Contains(text, "--") || strings.HasSuffix(text, "-") {
		r.fail("has two dashes in a comment")
	}
	return true
}

// element reads an element and everything inside.
func (r *xmlReader) element() {
	r.start()
	for r.what == "" && len(r.open) > 0 {
		top := &r.open[len(r.open)-1]
		n := strings.IndexByte(r.file[r.at:], '<')
		if n < 0 {
			r.fail("has an element without an end")
			return
		}
		if n > 0 {
			text := r.value(r.file[r.at : r.at+n])
			r.at += n
			if top.text == "" {
				top.text = text
			} else {
				top.more = append(top.more, text...)
			}
		}
		switch {
		case r.skip("</"):
			name := r.name()
			r.blanks()
			if r.what == "" && (name != top.name || !r.skip(">")) {
				r.fail("has an end that is not that of its element")
				return
			}
			r.end(false)
		case r.comment():
		default:
			top.parent = true
			r.start()
		}
	}
}

// start reads the beginning of an element, and the whole of one without an inside.
func (r *xmlReader) start() {
	if len(r.open) == maxDepth {
		r.fail("has elements that are nested too deep")
	}
	if !r.skip("<") {
		r.fail("has text outside of its elements")
	}
	name := r.name()
	if r.what != "" {
		return
	}
	var own [8]Setting
	attributes := own[:0]
	number := ""
	for r.what == "" {
		blank := r.blanks()
		if r.next(">") || r.next("/>") {
			break
		}
		if !blank {
			r.fail("has no blank before an attribute")
			break
		}
		attribute, value := r.attribute()
		for i := range attributes {
			if attributes[i].Path == attribute {
				r.fail("has an attribute twice")
			}
		}
		attributes = append(attributes, Setting{attribute, value})
		if number == "" && (attribute == "idx" || attribute == "index" || attribute == "id") {
			number = value
		}
	}
	e := element{name: name, path: len(r.path)}
	// The root is the same in all files of a vendor.
	if len(r.open) > 0 {
		if len(r.path) > 0 {
			r.path = append(r.path, '/')
		}
		r.path = append(r.path, name...)
		if number != "" {
			r.path = append(append(append(r.path, '['), number...), ']')
		}
	}
	r.open = append(r.open, e)
	values := 0
	for _, a := range attributes {
		switch {
		case number != "" && a.Value == number && (a.Path == "idx" || a.Path == "index" || a.Path == "id"):
			continue
		case strings.IndexByte(a.Path, '.') < 0:
			r.add(a.Path, a.Value)
		default:
			r.paths = append(r.paths, a.Path...)
			r.ends, r.list = append(r.ends, len(r.paths)), append(r.list, Setting{Value: a.Value})
		}
		values++
	}
	if r.skip("/>") {
		// An element that has attributes is there for them.
		r.end(values > 0)
		return
	}
	if !r.skip(">") {
		r.fail("has an element without an end")
	}
}

// end closes the innermost element. One with nothing but text inside is a setting.
func (r *xmlReader) end(attributes bool) {
	e := &r.open[len(r.open)-1]
	if len(e.more) > 0 {
		e.text += string(e.more)
	}
	switch {
	case attributes:
	case !e.parent:
		r.add("", e.text)
	case strings.Trim(e.text, " \t\r\n") != "":
		r.add("", strings.Trim(e.text, " \t\r\n"))
	}
	r.path = r.path[:e.path]
	r.open = r.open[:len(r.open)-1]
}

func (r *xmlReader) attribute() (name, value string) {
	name = r.name()
	r.blanks()
	if !r.skip("=") {
		r.fail("has an attribute without a value")
	}
	r.blanks()
	switch {
	case r.skip(`"`):
		value = r.until(`"`, "has a value without an end")
	case r.skip("'"):
		value = r.until("'", "has a value without an end")
	default:
		r.fail("has an attribute without a value in quotes")
	}
	if strings.IndexByte(value, '<') >= 0 {
		r.fail(`has a "<" in a value`)
	}
	return name, r.value(value)
}

// name reads a name: of letters, digits and "_.-", not beginning with the last two or
// a digit.
func (r *xmlReader) name() string {
	from := r.at
	for r.at < len(r.file) {
		c := r.file[r.at]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || r.at > from && (c >= '0' && c <= '9' || c == '.' || c == '-') {
			r.at++
			continue
		}
		break
	}
	if r.at == from {
		r.fail("has no name where one belongs")
	}
	return r.file[from:r.at]
}

// characters looks at the whole file for what XML does not have anywhere.
func (r *xmlReader) characters() {
	for i := range len(r.file) {
		switch c := r.file[i]; {
		case c >= ' ' && c != 0xef || c == '\n':
			continue
		case c == '\r':
			r.returns = true
		case c == 0xef && (strings.HasPrefix(r.file[i:], "\ufffe") || strings.HasPrefix(r.file[i:], "\uffff")):
			r.at = i
			r.fail("has a character that is none")
		case c < ' ' && c != '\t':
			r.at = i
			r.fail("has a control character")
		}
	}
}

// value undoes the escapes of a text, and makes one line end of each.
func (r *xmlReader) value(text string) string {
	if strings.Contains(text, "]]>") {
		r.fail(`has "]]>" in a text`)
	}
	if r.returns {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(text, '&') < 0 {
		return text
	}
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(text, "&")
		b.WriteString(plain)
		if !found {
			return b.String()
		}
		name, after, found := strings.Cut(rest, ";")
		c, ok := entities[name]
		if !ok && found {
			c, ok = character(name)
		}
		if !ok || !found {
			r.fail("has an entity that it must not have")
			return ""
		}
		b.WriteRune(c)
		text = after
	}
}

var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// character reads a character that is given by its number: #65 or #x41.
func character(name string) (rune, bool) {
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	c := rune(n)
	if err != nil || !utf8.ValidRune(c) || c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xfffe || c == 0xffff {
		return 0, false
	}
	return c, true
}
