package profile

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"stagger/edge/record"
)

// Error says what is wrong with a document, and where in it. It never holds a
// value of the document.
type Error struct {
	// Document is the key of the document, where it is known.
	Document string
	// Path is the place inside the document, as in "lines[1].port".
	Path string
	// What is the rule that is broken.
	What string
}

func (e *Error) Error() string {
	s := e.What
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Document != "" {
		s = e.Document + ": " + s
	}
	return s
}

// within puts a step in front of the path. Paths are built on the way out of an
// error, so that reading a good document costs nothing for them.
func (e *Error) within(step string) *Error {
	switch {
	case e.Path == "":
		e.Path = step
	case e.Path[0] == '[':
		e.Path = step + e.Path
	default:
		e.Path = step + "." + e.Path
	}
	return e
}

func (e *Error) item(i int) *Error { return e.within("[" + strconv.Itoa(i) + "]") }

func wrong(what string) *Error { return &Error{What: what} }

// Parse reads a document by its schema. Fields that the schema does not have,
// duplicate fields and values of another type are errors: a typing mistake in a
// profile must not become a phone that silently lacks a setting.
func Parse(schema *record.Schema, document string, a *record.Arena) (record.Record, *Error) {
	if len(document) > MaxDocument {
		return nil, wrong("is larger than " + strconv.Itoa(MaxDocument) + " bytes")
	}
	// Before the parser, which recurses. It does not look at the encoding either:
	// that is done for each string.
	if bad := scan(document); bad != "" {
		return nil, wrong(bad)
	}
	if !gjson.Valid(document) {
		return nil, wrong("is not JSON")
	}
	root := gjson.Parse(document)
	if !root.IsObject() {
		return nil, wrong("is not a JSON object")
	}
	return object(schema, root, a)
}

// scan checks how deep the document nests. It need not understand JSON: in a
// document that is none, the parser finds that out.
func scan(document string) string {
	depth := 0
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case c == '"':
			// To the quote that ends the string: one before which the number of
			// backslashes is even.
			for {
				n := strings.IndexByte(document[i+1:], '"')
				if n < 0 {
					return ""
				}
				i += n + 1
				b := i
				for document[b-1] == '\\' {
					b--
				}
				if (i-b)%2 == 0 {
					break
				}
			}
		case c|0x20 == '{': // "[" and "{"
			if depth++; depth > MaxDepth {
				return "nests deeper than " + strconv.Itoa(MaxDepth) + " levels"
			}
		case c|0x20 == '}':
			depth--
		}
	}
	return ""
}

func object(schema *record.Schema, json gjson.Result, a *record.Arena) (record.Record, *Error) {
	r := a.New(len(schema.Fields))
	var err *Error
	json.ForEach(func(key, value gjson.Result) bool {
		i := schema.Index(key.Str)
		if i < 0 {
			// The name is quoted so that the error shows which one; it is a name,
			// not a value, but it comes from outside: cut and escaped.
			err = wrong("has no field " + quoteName(key.Str))
			return false
		}
		f := &schema.Fields[i]
		if r[i].Set {
			err = wrong("appears twice").within(f.Name)
			return false
		}
		if err = field(f, value, &r[i], a); err != nil {
			err = err.within(f.Name)
			return false
		}
		return true
	})
	for i := 0; i < schema.Required && err == nil; i++ {
		if !r[i].Set {
			err = wrong("is required").within(schema.Fields[i].Name)
		}
	}
	return r, err
}

func field(f *record.Field, json gjson.Result, v *record.Value, a *record.Arena) *Error {
	v.Set = true
	switch f.Kind {
	case record.String:
		if json.Type != gjson.String {
			return wrong("is not a string")
		}
		return text(f, json, v)
	case record.Int:
		if json.Type != gjson.Number {
			return wrong("is not a number")
		}
		n, ok := whole(json.Raw)
		if !ok || n < f.Min || n > f.Max {
			return wrong("is not a whole number from " + strconv.FormatInt(f.Min, 10) + " to " + strconv.FormatInt(f.Max, 10))
		}
		v.Num = n
	case record.Bool:
		switch json.Type {
		case gjson.True:
			v.Num = 1
		case gjson.False:
		default:
			return wrong("is not true or false")
		}
	case record.Group:
		if !json.IsObject() {
			return wrong("is not an object")
		}
		r, err := object(f.Of, json, a)
		if err != nil {
			return err
		}
		v.List = append(a.List(1), r)
	case record.List:
		if !json.IsArray() {
			return wrong("is not an array")
		}
		return list(f, json, v, a)
	case record.Map:
		if !json.IsObject() {
			return wrong("is not an object")
		}
		return pairs(f, json, v, a)
	}
	return nil
}

func list(f *record.Field, json gjson.Result, v *record.Value, a *record.Arena) *Error {
	v.List = a.List(int(min(f.Max, 32)))
	var err *Error
	json.ForEach(func(_, item gjson.Result) bool {
		i := len(v.List)
		if int64(i) == f.Max {
			err = tooMany(f)
			return false
		}
		var r record.Record
		switch {
		case f.Of.Single:
			r = a.New(1)
			err = field(&f.Of.Fields[0], item, &r[0], a)
		case !item.IsObject():
			err = wrong("is not an object")
		default:
			r, err = object(f.Of, item, a)
		}
		if err != nil {
			err = err.item(i)
			return false
		}
		v.List = append(v.List, r)
		return true
	})
	if err == nil && int64(len(v.List)) < f.Min {
		return wrong("has less than " + strconv.FormatInt(f.Min, 10) + " items")
	}
	return err
}

func pairs(f *record.Field, json gjson.Result, v *record.Value, a *record.Arena) *Error {
	v.List = a.List(int(min(f.Max, 8)))
	var err *Error
	json.ForEach(func(key, value gjson.Result) bool {
		if int64(len(v.List)) == f.Max {
			err = tooMany(f)
			return false
		}
		r := a.New(len(f.Of.Fields))
		r[PairName].Set = true
		if err = text(&f.Of.Fields[PairName], key, &r[PairName]); err != nil {
			err.What = "has a name that " + err.What
			return false
		}
		for _, other := range v.List {
			if other[PairName].Str == r[PairName].Str {
				err = wrong("appears twice").within(r[PairName].Str)
				return false
			}
		}
		if err = field(&f.Of.Fields[PairValue], value, &r[PairValue], a); err != nil {
			err = err.within(r[PairName].Str)
			return false
		}
		v.List = append(v.List, r)
		return true
	})
	return err
}

func tooMany(f *record.Field) *Error {
	return wrong("has more than " + strconv.FormatInt(f.Max, 10) + " items")
}

func text(f *record.Field, json gjson.Result, v *record.Value) *Error {
	// The parser reads half a surrogate pair as U+FFFD, without a word. A string
	// without escapes is two quotes shorter than it is written.
	if len(json.Raw) != len(json.Str)+2 && loneSurrogate(json.Raw) {
		return wrong("has half a surrogate pair")
	}
	s := json.Str
	if f.Words != nil {
		for _, word := range f.Words {
			if s == word {
				v.Str = word
				return nil
			}
		}
		return wrong("is none of its words")
	}
	if int64(len(s)) < f.Min {
		return wrong("is shorter than " + strconv.FormatInt(f.Min, 10) + " bytes")
	}
	if int64(len(s)) > f.Max {
		return wrong("is longer than " + strconv.FormatInt(f.Max, 10) + " bytes")
	}
	if bad := f.Rule.Check(s); bad != "" {
		return wrong(bad)
	}
	v.Str = s
	return nil
}

// whole reads a number without sign, fraction, exponent or leading zero.
func whole(s string) (int64, bool) {
	if len(s) == 0 || len(s) > 15 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// loneSurrogate looks for \ud800 to \udfff that are not a pair, in a JSON string
// that is otherwise valid.
func loneSurrogate(raw string) bool {
	high := false
	for i := 0; i < len(raw); i++ {
		unit := uint16(0)
		if raw[i] == '\\' {
			i++
			if i+4 < len(raw) && raw[i] == 'u' {
				for _, c := range []byte(raw[i+1 : i+5]) {
					unit = unit<<4 | uint16(c&0xf)
					if c > '9' {
						unit += 9
					}
				}
				i += 4
			}
		}
		low := unit >= 0xdc00 && unit <= 0xdfff
		if low != high {
			return true
		}
		high = unit >= 0xd800 && unit <= 0xdbff
	}
	return high
}

func quoteName(s string) string {
	b := []byte{'"'}
	for i := 0; i < len(s) && i < 40; i++ {
		c := s[i]
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			c = '?'
		}
		b = append(b, c)
	}
	return string(append(b, '"'))
}
