// Package jsonschema writes the tables of package profile as JSON Schema (draft
// 2020-12), for editors and for systems that fill the store. It runs in tools
// and tests, never in the core.
//
// The tables stay the judge. What JSON Schema cannot say is left out, so that a
// schema never refuses a document that the core accepts.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"stagger/edge/profile"
	"stagger/edge/record"
)

// Document is a kind of document that has a published schema.
type Document struct {
	// File is the name of the schema's file.
	File string
	// Schema is the table that it is made from.
	Schema *record.Schema
	// Required are the fields without which the core does not use a document.
	Required []string
}

// Documents are all kinds of documents.
var Documents = []Document{
	{"tenant.schema.json", profile.Tenant, []string{"tenant"}},
	{"device.schema.json", profile.Device, []string{"device", "tenant"}},
}

// node is a schema or a part of one, with the keywords in the order in which they
// are written.
type node struct {
	Dialect     string   `json:"$schema,omitempty"`
	ID          string   `json:"$id,omitempty"`
	Ref         string   `json:"$ref,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type,omitempty"`
	Const       any      `json:"const,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Minimum     *int64   `json:"minimum,omitempty"`
	Maximum     *int64   `json:"maximum,omitempty"`
	MinLength   int64    `json:"minLength,omitempty"`
	MaxLength   int64    `json:"maxLength,omitempty"`
	Format      string   `json:"format,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	Not         *node    `json:"not,omitempty"`
	MinItems    int64    `json:"minItems,omitempty"`
	MaxItems    int64    `json:"maxItems,omitempty"`
	Items       *node    `json:"items,omitempty"`
	Required    []string `json:"required,omitempty"`
	Properties  members  `json:"properties,omitempty"`
	// MaxProperties, PropertyNames and Additional describe an object with free
	// names; Additional is false for one without.
	MaxProperties int64   `json:"maxProperties,omitempty"`
	PropertyNames *node   `json:"propertyNames,omitempty"`
	Additional    any     `json:"additionalProperties,omitempty"`
	Default       any     `json:"default,omitempty"`
	WriteOnly     bool    `json:"writeOnly,omitempty"`
	Defs          members `json:"$defs,omitempty"`
}

// members is an object that keeps its order.
type members []member

type member struct {
	name string
	node *node
}

func (m members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range m {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := marshal(e.node)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, e.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// marshal is json.Marshal that leaves "<" and "&" readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Generate returns the schema of a kind of documents. The same tables make the
// same bytes. It fails when a field has no description.
func Generate(d Document) ([]byte, error) {
	g := generator{used: map[string]bool{}}
	return g.generate(d)
}

type generator struct {
	// used are the descriptions that have been looked up.
	used map[string]bool
	// defs are the schemas of objects that stand inside the document.
	defs    members
	missing []string
}

func (g *generator) generate(d Document) ([]byte, error) {
	root := g.object(d.Schema)
	root.Dialect = "https://json-schema.org/draft/2020-12/schema"
	root.ID = "urn:stagger:schema:1:" + d.Schema.Name
	root.Title = "Stagger " + d.Schema.Name
	root.Required = d.Required
	root.Defs = g.defs
	if len(g.missing) > 0 {
		return nil, fmt.Errorf("no description of %v", g.missing)
	}
	compact, err := marshal(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, err
	}
	return ascii(oneLine(bytes.TrimSpace(b.Bytes()))), nil
}

var words = regexp.MustCompile(`\[\s+"[\w-]+"(,\s+"[\w-]+")*\s+\]`)

// oneLine puts the words of a list behind each other.
func oneLine(b []byte) []byte {
	return words.ReplaceAllFunc(b, func(list []byte) []byte {
		list = bytes.Join(bytes.Fields(list), []byte(" "))
		return append(append([]byte("["), list[2:len(list)-2]...), ']')
	})
}

// ascii escapes everything else: patterns name characters that no editor shows.
func ascii(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < utf8.RuneSelf && r != 0x7f:
			out = append(out, b[0])
		case r > 0xffff:
			panic("a pattern with a character beyond U+FFFF, which not all engines know in a class")
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return append(out, '\n')
}

func (g *generator) describe(key string) string {
	text, ok := docs[key]
	if !ok {
		g.missing = append(g.missing, key)
	}
	g.used[key] = true
	return text
}

// field is the description of a field. The settings that tenants and devices
// share are described once.
func (g *generator) field(s *record.Schema, f *record.Field) string {
	key := s.Name + "." + f.Name
	if _, own := docs[key]; !own && (s == profile.Tenant || s == profile.Device || s == profile.RolloutSettings) {
		key = "settings." + f.Name
	}
	return g.describe(key)
}

func (g *generator) object(s *record.Schema) *node {
	n := &node{Type: "object", Description: g.describe(s.Name), Additional: false}
	for i := range s.Fields {
		f := &s.Fields[i]
		value := g.value(f)
		value.Description = g.field(s, f)
		n.Properties = append(n.Properties, member{f.Name, value})
		if i < s.Required {
			n.Required = append(n.Required, f.Name)
		}
	}
	return n
}

// ref puts the schema of an object among the definitions, once.
func (g *generator) ref(s *record.Schema) *node {
	n := &node{Ref: "#/$defs/" + s.Name}
	for _, def := range g.defs {
		if def.name == s.Name {
			return n
		}
	}
	at := len(g.defs)
	g.defs = append(g.defs, member{name: s.Name})
	g.defs[at].node = g.object(s)
	return n
}

func (g *generator) value(f *record.Field) *node {
	n := &node{WriteOnly: f.Secret}
	switch f.Kind {
	case record.String:
		n.Type = "string"
		if f.Words != nil {
			n.Enum = f.Words
		} else {
			rule(n, f)
		}
		if f.Default != "" {
			n.Default = f.Default
		}
	case record.Int:
		n.Type, n.Minimum, n.Maximum = "integer", &f.Min, &f.Max
		if f.Default != "" {
			n.Default = json.RawMessage(f.Default)
		}
	case record.Bool:
		n.Type = "boolean"
		if f.Default != "" {
			n.Default = f.Default == "true"
		}
	case record.Group:
		return g.ref(f.Of)
	case record.List:
		n.Type, n.MinItems, n.MaxItems = "array", f.Min, f.Max
		if f.Of.Single {
			n.Items = g.value(&f.Of.Fields[0])
			n.Items.Description = g.describe(f.Of.Name + "." + f.Of.Fields[0].Name)
		} else {
			n.Items = g.ref(f.Of)
		}
	case record.Map:
		n.Type, n.MaxProperties = "object", f.Max
		n.PropertyNames = g.value(&f.Of.Fields[profile.PairName])
		n.PropertyNames.Type = "" // a name is always a string
		n.PropertyNames.Description = g.describe(f.Of.Name + "." + f.Of.Fields[profile.PairName].Name)
		additional := g.value(&f.Of.Fields[profile.PairValue])
		additional.Description = g.describe(f.Of.Name + "." + f.Of.Fields[profile.PairValue].Name)
		n.Additional = additional
	}
	return n
}

// Classes of characters. Patterns keep to what every regular expression engine
// reads alike: no look-ahead, no escapes of properties, no character that takes
// two UTF-16 units.
const (
	// unfit is what Plain refuses, of the characters up to U+FFFF.
	unfit = `\x00-\x1f\x7f-\x9f` + "\u2028\u2029\ufdd0-\ufdef\ufeff\ufffe\uffff"
	bidi  = "\u202a-\u202e\u2066-\u2069"
	// hostPattern does not know which names are all digits, nor what is an address.
	hostPattern = `([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|\[[0-9A-Fa-f:]{2,39}\])`
)

// edged is words without these characters and blanks between them, none at an end.
func edged(refused string) string {
	return "^[^ " + refused + "]+( +[^ " + refused + "]+)*$"
}

// rule says as much as JSON Schema can of which text a field may hold.
func rule(n *node, f *record.Field) {
	n.MinLength, n.MaxLength = f.Min, f.Max
	switch f.Rule {
	case record.Plain, record.Label, record.Secret:
		// The table counts bytes, JSON Schema characters, which have up to four.
		n.MinLength = (f.Min + 3) / 4
	}
	switch f.Rule {
	case record.Plain:
		n.Pattern = "^[^" + unfit + "]*$"
	case record.Label:
		n.Pattern = edged(unfit + bidi)
	case record.Secret:
		n.Pattern = edged(unfit)
	case record.User:
		n.Pattern = `^[A-Za-z0-9_.!~*'()&=+$,;?/%#-]*$`
	case record.Dial:
		n.Pattern = `^[A-Za-z0-9_.~*'()&=+,;?/%#@:-]*$`
	case record.Host:
		n.Pattern = "^" + hostPattern + "$"
	case record.URL:
		n.Format = "uri"
		n.Pattern = "^(https?|tftp)://" + hostPattern + `(:[1-9][0-9]{0,4})?([/?]([A-Za-z0-9/?&=_.~+,:;@!()*'-]|%[0-9A-Fa-f]{2})*)?$`
	case record.Base:
		n.Format = "uri"
		n.Pattern = "^https?://" + hostPattern + `(:[1-9][0-9]{0,4})?(/([A-Za-z0-9/&=_.~+,:;@!()*'-]|%[0-9A-Fa-f]{2})*)?$`
	case record.Parameter:
		n.Pattern = `^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$`
	case record.MAC:
		n.Pattern = "^[0-9a-f][02468ace][0-9a-f]{10}$"
		n.Not = &node{Const: "000000000000"}
	case record.Tenant:
		n.Pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
	case record.Name:
		n.Pattern = "^[A-Za-z0-9._-]*$"
	case record.Zone:
		n.Pattern = "^[A-Za-z0-9/_+-]*$"
	case record.Tag:
		n.Pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{2,8})*$"
	case record.Version:
		n.Pattern = `^[0-9]{1,6}(\.[0-9]{1,6})*$`
	case record.Clock:
		n.Pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
	default:
		panic(fmt.Sprintf("rule %d of %s is not known here", f.Rule, f.Name))
	}
}
