package jsonschema

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"stagger/edge/profile"
	"stagger/edge/profile/cases"
	"stagger/edge/record"
)

const root = "../../.."

func generate(t testing.TB, d Document) []byte {
	t.Helper()
	schema, err := Generate(d)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCommittedFilesAreCurrent(t *testing.T) {
	for _, d := range Documents {
		got, err := os.ReadFile(filepath.Join(root, "testdata", "schema", d.File))
		if err != nil {
			t.Error(err)
		} else if want := generate(t, d); !bytes.Equal(got, want) {
			t.Errorf("testdata/schema/%s is not what the tables say: go run ./build/schema testdata/schema", d.File)
		}
		if again := generate(t, d); !bytes.Equal(again, generate(t, d)) {
			t.Errorf("%s differs from run to run", d.File)
		}
	}
}

// Every table and field has a description, and every description one of them.
func TestDescriptions(t *testing.T) {
	used := map[string]bool{}
	for _, d := range Documents {
		g := generator{used: used}
		if _, err := g.generate(d); err != nil {
			t.Error(err)
		}
	}
	for key, text := range docs {
		if !used[key] {
			t.Errorf("%s describes no field", key)
		}
		if first, _ := utf8.DecodeRuneInString(text); !strings.HasSuffix(text, ".") || first >= 'a' && first <= 'z' {
			t.Errorf("%s: %q is no sentence", key, text)
		}
	}
	delete(docs, "line.port")
	defer func(text string) { docs["line.port"] = text }(`Port of the server. Without it 5060, or 5061 with "tls"; with "dns-naptr" the DNS says.`)
	for _, d := range Documents {
		if _, err := Generate(d); err == nil || !strings.Contains(err.Error(), "line.port") {
			t.Errorf("%s without a description of line.port: %v", d.File, err)
		}
	}
}

// compile compiles the committed schemas, and that of a line of a fleet file,
// which is one or the other.
func compile(t testing.TB) map[string]*validator.Schema {
	t.Helper()
	c := validator.NewCompiler()
	c.AssertFormat()
	fleet := `{"oneOf": [`
	for i, d := range Documents {
		schema, err := validator.UnmarshalJSON(bytes.NewReader(generate(t, d)))
		if err != nil {
			t.Fatal(err)
		}
		if dialect := schema.(map[string]any)["$schema"]; dialect != validator.Draft2020.String() && dialect != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("dialect %v", dialect)
		}
		if err := c.AddResource("file:///"+d.File, schema); err != nil {
			t.Fatal(err)
		}
		fleet += strings.Repeat(",", i) + `{"$ref": "file:///` + d.File + `"}`
	}
	line, err := validator.UnmarshalJSON(strings.NewReader(fleet + "]}"))
	if err == nil {
		err = c.AddResource("file:///fleet", line)
	}
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*validator.Schema{}
	for kind, file := range map[string]string{cases.Tenant: "tenant.schema.json", cases.Device: "device.schema.json", "fleet": "fleet"} {
		// Compiling judges the schema by the schema of its dialect.
		if compiled[kind], err = c.Compile("file:///" + file); err != nil {
			t.Fatal(err)
		}
	}
	return compiled
}

// refuses says whether the schema, or already the JSON reader, refuses a document.
func refuses(s *validator.Schema, document string) error {
	value, err := validator.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

func TestDemoFleet(t *testing.T) {
	schemas := compile(t)
	fleet, err := os.ReadFile(filepath.Join(root, "testdata", "fleets", "demo.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(fleet)), "\n")
	tenants := 0
	for i, line := range lines {
		if err := refuses(schemas["fleet"], line); err != nil {
			t.Errorf("demo.jsonl:%d: %v", i+1, err)
		}
		if refuses(schemas[cases.Tenant], line) == nil {
			tenants++
		}
	}
	if tenants != 1 || len(lines) < 3 {
		t.Errorf("%d tenants in %d lines", tenants, len(lines))
	}
}

func TestAcceptsWhatTheCoreAccepts(t *testing.T) {
	schemas := compile(t)
	for _, c := range cases.Accepted {
		for _, kind := range []string{c.Kind, "fleet"} {
			if err := refuses(schemas[kind], c.Document); err != nil {
				t.Errorf("%s, %s, by %s: %v", c.Kind, c.Name, kind, err)
			}
		}
	}
}

// inexpressible are the bad documents that JSON Schema lets pass, and why.
var inexpressible = map[string][]string{
	"it sees a value, not its spelling: duplicate keys": {
		"F7: duplicate key", "F7: duplicate password", "F7: duplicate, escaped", "F7: duplicate, escaped first", "F7: duplicate after null", "F7: duplicate in a group",
		"F7: duplicate group", "F7: duplicate vendor", "F7: duplicate setting", "version of a vendor twice",
	},
	"readers of JSON replace what is no Unicode": {
		"F17: Latin-1 in a label", "F17: surrogate in UTF-8", "F17: overlong",
		"half a pair, high", "half a pair, low", "half a pair, two high", "half a pair, turned round", "half a pair, with an escape between", "half a pair at the end",
	},
	"a number with a fraction of zero or an exponent is an integer": {
		"F21: interval 1e2", "F21: floor 1e2", "F21: register 1e2", "F21: interval 36E2", "F21: floor 36E2", "F21: register 36E2",
		"F21: interval 3600.0", "F21: floor 3600.0", "F21: register 3600.0",
	},
	"a pattern without look-ahead cannot ban two slashes at the end alone": {"F30: slashes at the end of the base"},
	"it counts characters, not bytes":                                      {"F31: label of 25 emoji"},
	"a pattern for every engine names no character beyond U+FFFF":          {"F20: U+1FFFF"},
	"it has no limit for a whole document":                                 {"F12: a byte too large"},
	"a pattern does not calculate":                                         {"host that is no address", "host that is no IPv6 address"},
}

func TestRefusesWhatItCanExpress(t *testing.T) {
	schemas := compile(t)
	reason := map[string]string{}
	for why, names := range inexpressible {
		for _, name := range names {
			reason[name] = why
		}
	}
	for _, c := range cases.Refused {
		why, listed := reason[c.Name]
		delete(reason, c.Name)
		err := refuses(schemas[c.Kind], c.Document)
		switch {
		case err == nil && !listed:
			t.Errorf("%s, %s: accepted (the core: %s)", c.Kind, c.Name, c.Error)
		case err != nil && listed:
			t.Errorf("%s, %s: refused, though %s: %v", c.Kind, c.Name, why, err)
		}
		if refuses(schemas["fleet"], c.Document) == nil && err != nil {
			t.Errorf("%s, %s: accepted as a line of a fleet", c.Kind, c.Name)
		}
	}
	for name := range reason {
		t.Errorf("%s is no bad document", name)
	}
}

func TestRequired(t *testing.T) {
	schemas := compile(t)
	for kind, documents := range map[string][]string{
		cases.Tenant: {`{}`, `{"vendor":"acme"}`},
		cases.Device: {`{}`, `{"tenant":"demo"}`, `{"device":"001565aabb01"}`},
		"fleet":      {`{}`, `{"device":"001565aabb01"}`, `{"vendor":"acme"}`},
	} {
		for _, document := range documents {
			if refuses(schemas[kind], document) == nil {
				t.Errorf("%s: %s is accepted", kind, document)
			}
		}
	}
}

// Values on both sides of what the rules allow, in a field of each: a value that
// the core takes, the schema takes; and each rule refuses something here.
func TestRulesAgree(t *testing.T) {
	fields := map[record.Rule]*record.Field{}
	var collect func(s *record.Schema)
	collect = func(s *record.Schema) {
		for i := range s.Fields {
			f := &s.Fields[i]
			if f.Of != nil {
				collect(f.Of)
			} else if f.Kind == record.String && f.Words == nil {
				fields[f.Rule] = f
			}
		}
	}
	for _, d := range Documents {
		collect(d.Schema)
	}
	fields[record.Plain] = &record.Field{Name: "plain", Kind: record.String, Max: 99}
	patterns := map[record.Rule]*regexp.Regexp{}
	for r, f := range fields {
		var n node
		rule(&n, f)
		patterns[r] = regexp.MustCompile(n.Pattern)
	}
	if len(fields) != int(record.Clock)+1 {
		t.Errorf("%d rules of %d", len(fields), record.Clock+1)
	}

	values := []string{
		"a", "A", "0", "1", "12", "a b", " a", "a ", "  ", "a  b", "a-b", "-a", "a-", "a_b", "a.b", "a..b", ".a", "a.", "a+b", "a/b", "a:b", "a@b", "a;b", "a%41", "a%", "a#",
		"1.2.3.4", "256.1.1.1", "1.2", "[::1]", "[1:2:3:4:5:6:7:8]", "[]", "[x]", "::1", "pbx.example", strings.Repeat("a", 63), strings.Repeat("a", 64),
		"http://a", "https://a.b:5061/c?d=e%20f", "tftp://[::1]:69/x", "http://a:0/", "http://a:99999/", "http://a/%zz", "http://a/ b", "ftp://a", "http://u@a/", "HTTP://a/", "http:///", "http://a/#x",
		"001565aabb01", "021565aabb01", "041565aabb01", "f61565aabb01", "f81565aabb01", "aa1565aabb01", "ac1565aabb01", "ae1565aabb01", "ab1565aabb01", "011565aabb01", "001565AABB01", "000000000001", "001565aabb0", "demo", "Europe/Belgrade", "Etc/GMT+5", "en", "pt-BR", "zh-Hant-TW", "en_US", "e", "1en", "en-1", "en-12",
		"1.2.3", "1.", "1234567", "00:00", "19:59", "23:59", "24:00", "02:60", "02h47", "O'Neil & Sons <Sales>", "日本 支店", "🍕", "\U0001f1f7\U0001f1f8", "\U0001fffd", "*97", "#31#", "sip:a@b",
	}
	for r := rune(0); r <= 0xffff; r++ {
		if r < 0xd800 || r > 0xdfff {
			values = append(values, string(r), "a"+string(r)+"b")
		}
	}
	for r, pattern := range patterns {
		passes, refused := 0, 0
		for _, s := range values {
			if n := int64(len(s)); n < fields[r].Min || n > fields[r].Max {
				continue // minLength and maxLength
			}
			good, match := r.Check(s) == "", pattern.MatchString(s)
			switch {
			case good && !match:
				t.Errorf("rule %d takes %q, %s does not", r, s, pattern)
			case !good && !match:
				refused++
			case !good:
				passes++
			}
		}
		if refused == 0 {
			t.Errorf("rule %d: the pattern refuses nothing", r)
		}
		// These say exactly what the rule says; see inexpressible for Host and URL.
		if passes > 0 && r != record.Host && r != record.URL && r != record.Base {
			t.Errorf("rule %d refuses %d values that its pattern takes", r, passes)
		}
	}
}

// What a document may hold is what the tables have, down to the last field.
func TestTablesAgree(t *testing.T) {
	schemas := compile(t)
	for _, d := range Documents {
		s := schemas[d.Schema.Name]
		if len(s.Properties) != len(d.Schema.Fields) {
			t.Errorf("%s: %d properties, %d fields", d.File, len(s.Properties), len(d.Schema.Fields))
		}
		for _, f := range d.Schema.Fields {
			p := s.Properties[f.Name]
			if p == nil {
				t.Errorf("%s: no property %s", d.File, f.Name)
				continue
			}
			if p.Ref == nil && f.Kind == record.Group {
				t.Errorf("%s: %s is no reference", d.File, f.Name)
			}
			if p.WriteOnly != f.Secret {
				t.Errorf("%s: %s: writeOnly is %v", d.File, f.Name, p.WriteOnly)
			}
			if hasDefault := p.Default != nil; hasDefault != (f.Default != "") {
				t.Errorf("%s: %s: default %v, want %q", d.File, f.Name, p.Default, f.Default)
			}
		}
	}
	if profile.Tenant.Index("url") < 0 || schemas[cases.Tenant].Properties["url"].Format == nil {
		t.Error("a URL has no format")
	}
}
