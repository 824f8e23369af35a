package compile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"stagger/edge/record"
	"stagger/edge/template"
	"stagger/edge/template/reference"
)

// The data of these tests: every kind of field, set and unset.
var (
	point = &record.Schema{Name: "point", Fields: []record.Field{
		{Name: "x", Kind: record.Int}, {Name: "name", Kind: record.String},
	}}
	word = &record.Schema{Name: "word", Single: true, Fields: []record.Field{{Name: "word", Kind: record.String}}}
	item = &record.Schema{Name: "item", Fields: []record.Field{
		{Name: "n", Kind: record.Int}, {Name: "s", Kind: record.String}, {Name: "b", Kind: record.Bool},
		{Name: "none", Kind: record.String}, {Name: "at", Kind: record.Group, Of: point},
		{Name: "words", Kind: record.List, Of: word},
	}}
	root = &record.Schema{Name: "root", Fields: []record.Field{
		{Name: "s", Kind: record.String}, {Name: "empty", Kind: record.String}, {Name: "none", Kind: record.String},
		{Name: "n", Kind: record.Int}, {Name: "zero", Kind: record.Int}, {Name: "b", Kind: record.Bool},
		{Name: "off", Kind: record.Bool}, {Name: "at", Kind: record.Group, Of: point},
		{Name: "nowhere", Kind: record.Group, Of: point}, {Name: "items", Kind: record.List, Of: item},
		{Name: "words", Kind: record.List, Of: word}, {Name: "nothing", Kind: record.List, Of: item},
		{Name: "hidden", Kind: record.String, Hidden: true},
	}}
	tables = map[string]map[string]string{"color": {"a": "red", "b": "green", "alpha": "blue", "42": "answer", "0": "zero"}}
)

func group(r ...record.Value) record.Value {
	return record.Value{Set: true, List: []record.Record{r}}
}

func list(r ...record.Record) record.Value { return record.Value{Set: true, List: r} }

func data() record.Record {
	words := list(record.Record{record.Text("a")}, record.Record{record.Text("b")})
	items := list()
	for i := range int64(4) {
		items.List = append(items.List, record.Record{
			record.Number(i), record.Text(strings.Repeat("s", int(i))), record.Truth(i%2 == 0),
			{}, group(record.Number(10*i), record.Text(fmt.Sprint("p", i))), words,
		})
	}
	return record.Record{
		record.Text("alpha"), record.Text(""), {}, record.Number(42), record.Number(0), record.Truth(true),
		record.Truth(false), group(record.Number(-7), record.Text("here")), {}, items, words, list(),
		record.Text("hidden"),
	}
}

func raw(b []byte, s string) ([]byte, string) { return append(b, s...), "" }

func program(t testing.TB, source string) (*template.Program, error) {
	t.Helper()
	p, err := Compile("dir/test.tmpl", source, Options{Root: root, Tables: tables, Escapes: []string{"first", "second"}})
	if p != nil {
		p.Escape, p.Escapes = raw, []template.Escape{raw, raw}
	}
	return p, err
}

// agree compiles and runs a source both ways. It reports whether it compiled.
func agree(t testing.TB, source string) bool {
	t.Helper()
	p, err := program(t, source)
	if err != nil {
		return false
	}
	reference, err := reference.Parse("test.tmpl", source, tables)
	if err != nil {
		t.Fatalf("%q compiles, but the standard library says %v", source, err)
	}
	var want bytes.Buffer
	wantErr := reference.Execute(&want, testData)
	got, gotErr := new(template.Machine).Run(p, nil, testRecord)
	switch {
	case gotErr != nil:
		// We refuse what is not set. The standard library says "<no value>", or
		// fails too.
		if wantErr == nil && !strings.Contains(want.String(), "<no value>") {
			t.Fatalf("%q: refused with %v, but the standard library renders %q", source, gotErr, &want)
		}
	case wantErr != nil:
		t.Fatalf("%q renders %q, but the standard library says %v", source, got, wantErr)
	case string(got) != want.String():
		t.Fatalf("%q renders\n%q, the standard library\n%q", source, got, &want)
	}
	return true
}

var (
	testRecord = data()
	testData   = reference.Data(root, testRecord)
)

func TestAgreesWithTheStandardLibrary(t *testing.T) {
	for _, source := range []string{
		``, `plain text`, `{{.s}} {{.n}} {{.b}} {{.off}}`, `{{- .s -}}  x`, `a {{- /* comment */ -}} b`,
		`{{.at.x}}{{.at.name}}`, `{{.none}}`, `{{.nowhere.x}}`, `{{"literal"}}{{7}}{{true}}`, `{{"a\"b"}}{{` + "`raw`" + `}}`,
		`{{if .s}}yes{{end}}`, `{{if .empty}}yes{{else}}no{{end}}`, `{{if .none}}yes{{else if .n}}n{{else}}no{{end}}`,
		`{{if .at}}at{{end}}{{if .nowhere}}nowhere{{end}}{{if .nothing}}x{{else}}empty{{end}}`,
		`{{range .items}}{{.n}}:{{.s}};{{end}}`, `{{range $i := .items}}{{$i.n}}{{end}}`,
		`{{range $i, $e := .items}}{{$i}}={{$e.at.name}}{{.at.x}} {{end}}`, `{{range .nothing}}x{{else}}none{{end}}`,
		`{{range .words}}{{.}},{{end}}`, `{{range $i, $w := .words}}{{$i}}{{$w}}{{end}}`,
		`{{range .items}}{{range .words}}{{.}}{{end}}{{$.s}}{{end}}`,
		`{{range .items}}{{if eq .n 1}}{{continue}}{{end}}{{if eq .n 3}}{{break}}{{end}}{{.n}}{{end}}`,
		`{{with .s}}{{.}}{{end}}{{with .empty}}x{{else}}empty{{end}}{{with .at}}{{.x}}{{end}}{{with .nowhere}}x{{end}}`,
		`{{with $x := .at}}{{$x.name}}{{.x}}{{end}}`, `{{with .empty}}a{{else with .s}}{{.}}{{end}}`,
		`{{$x := .s}}{{$x}}{{$x = "new"}}{{$x}}{{.s}}`, `{{$n := .n}}{{range .items}}{{$n = .n}}{{end}}{{$n}}`,
		`{{$x := 1}}{{if .s}}{{$x := 2}}{{$x}}{{end}}{{$x}}`,
		`{{eq .s "alpha"}}{{eq .n 1 42}}{{ne .s "x"}}{{eq .b true}}{{eq .n .zero}}`,
		`{{lt .zero .n}}{{le .n 42}}{{gt .n 42}}{{ge .n 42}}`, `{{not .s}}{{not .none}}`,
		`{{and .s "x"}}`, `{{eq .none .none}}{{ne .none "x"}}`, `{{if and .s (eq .n 42)}}both{{end}}`, `{{or .empty .s}}`, `{{or .empty .none}}`,
		`{{if or .zero .off .empty}}x{{else}}none{{end}}`, `{{and .s (or .empty .s)}}`, `{{or .s (fail "not reached")}}`,
		`{{and .empty (fail "not reached")}}`, `{{fail "reached"}}`,
		`{{len .items}}{{len .s}}{{len .words}}{{len .none}}`, `{{add .n 1}}{{.n | add 2}}`, `{{.s | code "color"}}`,
		`{{range .words}}{{code "color" .}}{{end}}`, `{{code "color" "z"}}`, `{{code "color" .none}}`, `{{code "color" .n}}{{.zero | code "color"}}`, `{{code "color" 7}}`,
		`{{if has .words "b"}}b{{end}}{{if has .words "z"}}z{{end}}`, `{{eq .none "x"}}`, `{{lt .nowhere.x 1}}`,
		`{{define "t"}}<{{.x}}{{.name}}>{{end}}{{template "t" .at}}{{range .items}}{{template "t" .at}}{{end}}`,
		`{{define "t"}}{{$.name}}{{end}}{{with .at}}{{template "t" .}}{{end}}`, `{{(.at).x}}`, `{{$.at.x}}`,
		`{{as "first" .s}}{{.s | as "second"}}{{code "color" .s | as "first"}}{{range .words}}{{as "second" .}}{{end}}`, `{{as "first" .none}}`, `{{.nowhere.name | as "first"}}`,
		`{{range .items}}{{.none}}{{end}}`, `{{if .b}}{{if .off}}a{{else}}b{{end}}{{end}}`,
	} {
		if !agree(t, source) {
			_, err := program(t, source)
			t.Errorf("%q does not compile: %v", source, err)
		}
	}
}

// Build errors name the file, the line and the cause.
func TestBuildErrors(t *testing.T) {
	for source, want := range map[string]string{
		"x\n{{.lable}}":                   "dir/test.tmpl:2: unknown field .lable (of root)",
		"\n\n{{.at.y}}":                   "dir/test.tmpl:3: unknown field .at.y (of point)",
		"{{range .items}}\n{{.x}}{{end}}": "dir/test.tmpl:2: unknown field .x (of item)",
		"{{.hidden}}":                     "dir/test.tmpl:1: unknown field .hidden (of root)",
		"{{.s.x}}":                        "dir/test.tmpl:1: unknown field .s.x: a text has no fields",
		"{{if .s}}":                       "dir/test.tmpl:1: unexpected EOF",
		"\n{{end}}":                       "dir/test.tmpl:2: unexpected {{end}}",
		"{{upper .s}}":                    `dir/test.tmpl:1: function "upper" not defined`,
		"{{.items}}":                      "dir/test.tmpl:1: a list of item cannot be printed",
		"{{.at}}":                         "dir/test.tmpl:1: a point cannot be printed",
		"{{range .s}}{{end}}":             "dir/test.tmpl:1: range needs a list, and this is a text",
		"{{eq .s 1}}":                     "dir/test.tmpl:1: argument 2 of eq is a number",
		"{{eq .at .at}}":                  "dir/test.tmpl:1: argument 1 of eq is a point",
		"{{lt .s .n}}":                    "dir/test.tmpl:1: argument 1 of lt is a text",
		"{{and .s .n .b}}":                "dir/test.tmpl:1: the values of this and/or have different types, so that it cannot be printed",
		"{{$x := or .s .n}}":              "dir/test.tmpl:1: the values of this and/or have different types, so that no variable can hold it",
		`{{code "colour" .s}}`:            `dir/test.tmpl:1: the pack has no table "colour"`,
		"{{code .s .s}}":                  "dir/test.tmpl:1: code needs the name of a table in quotes",
		"{{add 1}}":                       "dir/test.tmpl:1: add has 1 arguments",
		"{{1.5}}":                         "dir/test.tmpl:1: 1.5 is not a whole number from 0 to 4294967295",
		"{{eq .n .0}}":                    "dir/test.tmpl:1: .0 is not a whole number from 0 to 4294967295",
		"{{1e3}}":                         "dir/test.tmpl:1: 1e3 is not a whole number from 0 to 4294967295",
		"{{$x := 1}}{{$x = .s}}":          "dir/test.tmpl:1: $x is a number and cannot become a text",
		"{{range $i, $e := .items}}{{$i = 1}}{{end}}":               "dir/test.tmpl:1: $i cannot be assigned",
		`{{template "t"}}`:                                          `dir/test.tmpl:1: no template is named "t"`,
		`{{define "t"}}{{template "t" .}}{{end}}{{template "t" .}}`: "dir/test.tmpl:1: templates use each other without end",
		`{{define "t"}}{{end}}{{template "t"}}`:                     `dir/test.tmpl:1: template "t" is used without a value; write {{template "t" .}}`,
		"{{.s 1}}":                                                  "dir/test.tmpl:1: .s is no function",
		"{{nil}}":                                                   "dir/test.tmpl:1: nil is not part of the subset",
		`{{as "third" .s}}`:                                         `dir/test.tmpl:1: the syntax has no escaper "third"`,
		`{{as .s .s}}`:                                              "dir/test.tmpl:1: as needs the name of an escaper in quotes, and a text",
		`{{as "first"}}`:                                            "dir/test.tmpl:1: as needs the name of an escaper in quotes, and a text",
		`{{.s | as}}`:                                               "dir/test.tmpl:1: as needs the name of an escaper in quotes, and a text",
		`{{as "first" .s .s}}`:                                      "dir/test.tmpl:1: as needs the name of an escaper in quotes, and a text",
		`{{.s | as "first" .s}}`:                                    "dir/test.tmpl:1: as needs the name of an escaper in quotes, and a text",
		`{{as "first" .n}}`:                                         "dir/test.tmpl:1: what as prints is a number",
		`{{as "first" (or .s .n)}}`:                                 "dir/test.tmpl:1: what as prints is one of several types",
		`{{$x := as "first" .s}}`:                                   "dir/test.tmpl:1: as is the last thing that happens to a value, when it is printed",
		`{{as "first" .s | code "color"}}`:                          "dir/test.tmpl:1: as is the last thing that happens to a value, when it is printed",
		`{{if as "first" .s}}{{end}}`:                               "dir/test.tmpl:1: as is the last thing that happens to a value, when it is printed",
		`{{(as "first" .s)}}`:                                       "dir/test.tmpl:1: as is the last thing that happens to a value, when it is printed",
		"{{$y}}":                                                    "dir/test.tmpl:1: undefined variable \"$y\"",
	} {
		_, err := program(t, source)
		if err == nil {
			t.Errorf("%q compiles", source)
		} else if err.Error() != want {
			t.Errorf("%q: %q, want %q", source, err, want)
		}
	}
}

// What a value cannot carry stops the run, with file and line and no value.
func TestRunErrors(t *testing.T) {
	for source, want := range map[string]string{
		"\n{{.none}}":             "test.tmpl:2: a value that is printed is not set",
		"{{add .n 1}}\n{{.s}}":    "test.tmpl:2: is refused",
		`{{code "color" .empty}}`: "test.tmpl:1: the phone has no color for this value",
		"{{lt .nowhere.x 1}}":     "test.tmpl:1: a value that is compared is not set",
	} {
		p, err := program(t, source)
		if err != nil {
			t.Fatal(err)
		}
		p.Escape = func(b []byte, s string) ([]byte, string) { return b, "is refused" }
		if _, err := new(template.Machine).Run(p, nil, testRecord); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", source, err, want)
		}
	}
}

// "as" goes through the escaper that it names and leaves the others their values.
func TestAs(t *testing.T) {
	p, err := program(t, `a {{.s}} {{as "first" .s}} {{as "second" .at.name}} {{code "color" "b" | as "first"}} {{.s}}`)
	if err != nil {
		t.Fatal(err)
	}
	mark := func(with string) template.Escape {
		return func(b []byte, s string) ([]byte, string) { return append(b, with+s+with...), "" }
	}
	p.Escape, p.Escapes = mark("'"), []template.Escape{mark("1"), mark("2")}
	out, stopped := new(template.Machine).Run(p, nil, testRecord)
	if want := "a 'alpha' 1alpha1 2here2 1green1 'alpha'"; stopped != nil || string(out) != want {
		t.Errorf("%s, %v, want %s", out, stopped, want)
	}
	p.Escapes[1] = func(b []byte, s string) ([]byte, string) { return b, "is refused" }
	if _, stopped := new(template.Machine).Run(p, nil, testRecord); stopped == nil || stopped.Error() != "test.tmpl:1: is refused" {
		t.Errorf("%v", stopped)
	}
}

// Variables take a cell each, however often they are assigned and whatever their values
// are worked out of.
func TestVariablesTakeOneCell(t *testing.T) {
	var source strings.Builder
	for i := range 40 {
		fmt.Fprintf(&source, `{{$v%d := code "color" (add .zero 0)}}`, i)
	}
	for i := range 40 {
		fmt.Fprintf(&source, `{{$v%d = code "color" (add 42 .zero)}}{{$v%d}}`, i, i)
		fmt.Fprintf(&source, `{{if has .words "a"}}{{$v%d = code "color" "alpha"}}{{end}}{{$v%d}}`, i, (i+1)%40)
	}
	if !agree(t, source.String()) {
		t.Error("too many variables")
	}
}

func TestOutputIsBounded(t *testing.T) {
	source := "{{range .items}}{{range $.items}}{{range $.items}}{{range $.items}}" + strings.Repeat("x", 10_000) + "{{end}}{{end}}{{end}}{{end}}"
	p, err := program(t, source)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := new(template.Machine).Run(p, nil, testRecord); err == nil || len(out) > template.MaxOutput+10_000 {
		t.Errorf("%d bytes: %v", len(out), err)
	}
}

// A generator of templates that are mostly right: it knows the fields.
type generator struct {
	random *rand.Rand
	out    strings.Builder
	depth  int
	names  int
}

func (g *generator) pick(from ...string) string { return from[g.random.IntN(len(from))] }

// fields of a schema that a value of the wanted kind can be read from.
func (g *generator) expr(s *record.Schema, kind record.Kind, dot string) string {
	var paths []string
	for _, f := range s.Fields {
		if f.Kind == kind && !f.Hidden && !s.Single {
			paths = append(paths, dot+"."+f.Name)
		}
		if f.Kind == record.Group {
			for _, inner := range f.Of.Fields {
				if inner.Kind == kind {
					paths = append(paths, dot+"."+f.Name+"."+inner.Name)
				}
			}
		}
	}
	if s.Single && s.Fields[0].Kind == kind {
		paths = append(paths, ".")
	}
	if g.depth > 4 || g.random.IntN(3) > 0 {
		if len(paths) > 0 {
			return g.pick(paths...)
		}
	}
	if g.depth > 6 {
		return map[record.Kind]string{record.String: "$.s", record.Int: "$.n", record.Bool: "$.b"}[kind]
	}
	g.depth++
	defer func() { g.depth-- }()
	switch kind {
	case record.String:
		return g.pick(`"lit"`, "(and "+g.expr(s, kind, dot)+" "+g.expr(s, kind, dot)+")",
			"(or "+g.expr(s, kind, dot)+" "+g.expr(s, kind, dot)+")", `(code "color" `+g.expr(s, kind, dot)+")", "$.s", "$.empty", "$.none")
	case record.Int:
		return g.pick("1", "(add "+g.expr(s, kind, dot)+" 3)", "(len "+g.expr(s, record.String, dot)+")", "$.n", "$.zero")
	default:
		return g.pick("(eq "+g.expr(s, record.Int, dot)+" "+g.expr(s, record.Int, dot)+")",
			"(ne "+g.expr(s, record.String, dot)+" "+g.expr(s, record.String, dot)+")",
			"(lt "+g.expr(s, record.Int, dot)+" "+g.expr(s, record.Int, dot)+")",
			"(not "+g.expr(s, record.String, dot)+")", "(has $.words "+g.expr(s, record.String, dot)+")", "$.b", "$.off")
	}
}

func (g *generator) body(s *record.Schema) {
	for range 1 + g.random.IntN(4) {
		g.action(s)
	}
}

func (g *generator) action(s *record.Schema) {
	kinds := []record.Kind{record.String, record.Int, record.Bool}
	kind := kinds[g.random.IntN(3)]
	w := &g.out
	if g.depth > 3 {
		fmt.Fprintf(w, "{{%s}}", g.expr(s, kind, ""))
		return
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.random.IntN(9) {
	case 0:
		w.WriteString(g.pick(" text ", "\n", "x = ", "%"))
	case 1, 2:
		fmt.Fprintf(w, "{{%s}}", g.expr(s, kind, ""))
	case 3:
		fmt.Fprintf(w, "{{if %s}}", g.expr(s, kind, ""))
		g.body(s)
		if g.random.IntN(2) == 0 {
			w.WriteString("{{else}}")
			g.body(s)
		}
		w.WriteString("{{end}}")
	case 4:
		g.names++
		name := fmt.Sprintf("$v%d", g.names)
		fmt.Fprintf(w, "{{%s := %s}}{{%s}}{{%s = %s}}{{%s}}", name, g.expr(s, kind, ""), name, name, g.expr(s, kind, ""), name)
	case 5:
		w.WriteString(g.pick("{{with .at}}", "{{with $.at}}", "{{with $.nowhere}}"))
		if s != root && s != item {
			fmt.Fprintf(w, "{{$.s}}{{end}}")
			return
		}
		g.body(point)
		w.WriteString("{{end}}")
	case 6:
		fmt.Fprintf(w, "{{range $.words}}")
		g.body(word)
		w.WriteString("{{end}}")
	default:
		g.names++
		if g.random.IntN(2) == 0 {
			fmt.Fprintf(w, "{{range $i%d, $e%d := $.items}}{{$i%d}}{{$e%d.n}}", g.names, g.names, g.names, g.names)
		} else {
			w.WriteString(g.pick("{{range $.items}}", "{{range $.nothing}}"))
		}
		g.body(item)
		if g.random.IntN(3) == 0 {
			fmt.Fprintf(w, "{{if %s}}{{%s}}{{end}}", g.expr(item, record.Bool, ""), g.pick("break", "continue"))
		}
		if g.random.IntN(3) == 0 {
			w.WriteString("{{else}}none")
		}
		w.WriteString("{{end}}")
	}
}

func TestGeneratedTemplatesAgree(t *testing.T) {
	compiled := 0
	for seed := range uint64(6_000) {
		g := generator{random: rand.New(rand.NewPCG(seed, 7))}
		g.body(root)
		if agree(t, g.out.String()) {
			compiled++
		}
	}
	// Most must compile, or nothing has been compared.
	if compiled < 4_000 {
		t.Errorf("only %d of 6,000 generated templates compile", compiled)
	}
	t.Logf("%d templates compared", compiled)
}

func FuzzAgainstTheStandardLibrary(f *testing.F) {
	for _, source := range []string{
		`{{.s}}`, `{{range $i, $e := .items}}{{$i}}{{$e.n}}{{else}}x{{end}}`, `{{if and .s (eq .n 42)}}{{end}}`,
		`{{with .at}}{{.x}}{{else}}{{end}}`, `{{define "t"}}{{.}}{{end}}{{template "t" .s}}`, `{{$x := .s}}{{$x = "y"}}{{$x}}`,
		`{{code "color" .s}}{{add 1 2 | add 3}}{{len .items}}`, `{{as "first" .s}}{{.s | as "second"}}`, `{{range .items}}{{break}}{{end}}`,
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		// Loops within loops run for ever without being wrong.
		if len(source) < 2000 && strings.Count(source, "range") <= 6 && strings.Count(source, "template") <= 4 {
			agree(t, source)
		}
	})
}
