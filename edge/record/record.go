// Package record is how the core holds structured data: a schema that is a plain
// table, and records whose values lie in the order of that table. One table
// drives validation, merging, the published JSON Schema and the field look-up of
// templates (at build time), so that the core needs no reflection. The package
// knows no particular schema.
package record

// Kind is the type of a field.
type Kind uint8

// Kinds of fields.
const (
	String Kind = iota + 1
	Int         // a whole number, in JSON without sign, fraction or exponent
	Bool
	List  // an array of records, or of single values when the schema is Single
	Group // one record
	Map   // an object with free names: a list of records of a name and a value
)

// Field is one row of a schema.
type Field struct {
	Name string
	Kind Kind
	// Rule says which text a String may hold.
	Rule Rule
	// Min and Max bound an Int, the bytes of a String or the items of a List.
	Min, Max int64
	// Words are the legal values of a String that is an enumeration.
	Words []string
	// Of is the schema of the items of a List or Map, or of a Group.
	Of *Schema
	// Default is the value of a field that nobody has set, as text. Empty means
	// none: the field stays unset.
	Default string
	// Secret values are never shown by a tool that explains or compares.
	Secret bool
	// Hidden fields cannot be used in a template.
	Hidden bool
}

// Schema is a table of fields.
type Schema struct {
	Name   string
	Fields []Field
	// Required is how many of the fields, from the first one on, must be there for
	// a record to make sense at all. What else is required, only the whole can say.
	Required int
	// Single says that a list of this schema is written as an array of bare
	// values, each the first field of its record.
	Single bool
}

// Index returns the position of the named field, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Value is one value of a record. Only what its field's kind needs is set.
type Value struct {
	// Set tells an absent value from an empty one.
	Set bool
	// Num is an Int, or 1 for a Bool that is true.
	Num int64
	Str string
	// List holds the items of a List or Map, or the one record of a Group.
	List []Record
}

// Record is the values of one schema, in its order.
type Record []Value

// Text is a String value.
func Text(s string) Value { return Value{Set: true, Str: s} }

// Number is an Int value.
func Number(n int64) Value { return Value{Set: true, Num: n} }

// Truth is a Bool value.
func Truth(b bool) Value {
	if b {
		return Value{Set: true, Num: 1}
	}
	return Value{Set: true}
}

// True says whether a condition on this value holds: it is set and not empty,
// zero or false.
func (v *Value) True() bool { return v.Str != "" || v.Num != 0 || len(v.List) > 0 }

// Arena hands out records that live until Reset. The core makes one answer at a
// time and throws everything away after it, so nothing is freed one by one.
type Arena struct {
	values  []Value
	records []Record
	used    int
	listed  int
}

// minValues is how many values the first block of an arena has at least: about as
// many as an ordinary phone needs.
const minValues = 640

// NewArena makes an arena with room for this many values before it has to grow.
func NewArena(values int) *Arena {
	return &Arena{values: make([]Value, values), records: make([]Record, values/8)}
}

// New returns an empty record of n values.
func (a *Arena) New(n int) Record {
	if len(a.values)-a.used < n {
		// The old block stays alive through the records cut from it.
		a.values, a.used = make([]Value, max(2*len(a.values), minValues)+n), 0
	}
	r := a.values[a.used : a.used+n : a.used+n]
	a.used += n
	return r
}

// List returns an empty list with room for n records; appending more is an
// ordinary append.
func (a *Arena) List(n int) []Record {
	if len(a.records)-a.listed < n {
		a.records, a.listed = make([]Record, max(2*len(a.records), minValues/8)+n), 0
	}
	l := a.records[a.listed : a.listed : a.listed+n]
	a.listed += n
	return l
}

// Reset takes all records back. They must not be used any more.
func (a *Arena) Reset() {
	clear(a.values[:a.used])
	clear(a.records[:a.listed])
	a.used, a.listed = 0, 0
}
