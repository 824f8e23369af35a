// Package reference runs a template with the standard library's text/template,
// which is what a program's output is compared with. Tests and benchmarks use it;
// the core never does.
package reference

import (
	"errors"
	"fmt"
	"io"
	"text/template"

	"stagger/edge/record"
)

// Data makes of a record what text/template works on: a map of every field that a
// template can name. Fields that are not set are nil.
func Data(schema *record.Schema, r record.Record) map[string]any {
	data := make(map[string]any, len(schema.Fields))
	for i, f := range schema.Fields {
		if f.Name == "" || f.Hidden {
			continue
		}
		data[f.Name] = value(&f, r[i])
	}
	return data
}

func value(f *record.Field, v record.Value) any {
	if !v.Set {
		if f.Kind == record.Group {
			// Fields of a group that is not set are not set themselves. A nil map
			// is false, and its fields are nil.
			return map[string]any(nil)
		}
		return nil
	}
	switch f.Kind {
	case record.String:
		return v.Str
	case record.Int:
		return int(v.Num)
	case record.Bool:
		return v.Num != 0
	case record.Group:
		return Data(f.Of, v.List[0])
	}
	if f.Of.Single {
		list := make([]any, len(v.List))
		for i, r := range v.List {
			list[i] = value(&f.Of.Fields[0], r[0])
		}
		return list
	}
	list := make([]map[string]any, len(v.List))
	for i, r := range v.List {
		list[i] = Data(f.Of, r)
	}
	return list
}

// Template is a source, parsed by the standard library with our functions.
type Template struct{ t *template.Template }

// Parse parses source. tables are the vendor's words for the function "code".
func Parse(name, source string, tables map[string]map[string]string) (*Template, error) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b },
		"code": func(table string, word any) (string, error) {
			is, ok := tables[table][fmt.Sprint(word)]
			if !ok {
				return "", fmt.Errorf("no %s for this value", table)
			}
			return is, nil
		},
		// The text alone: what it is written through, text/template does not know.
		"as":   func(_, value string) string { return value },
		"fail": func(why string) (string, error) { return "", errors.New(why) },
		"has": func(list []any, word string) bool {
			for _, item := range list {
				if item == word {
					return true
				}
			}
			return false
		},
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// Execute writes the output for data to w.
func (t *Template) Execute(w io.Writer, data any) error { return t.t.Execute(w, data) }
