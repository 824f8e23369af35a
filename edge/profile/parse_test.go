package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagger/edge/profile/cases"
	"stagger/edge/record"
)

var schemas = map[string]*record.Schema{cases.Tenant: Tenant, cases.Device: Device}

func parse(kind, document string) (record.Record, *Error) {
	return Parse(schemas[kind], document, record.NewArena(1024))
}

func mustParse(t testing.TB, kind, document string) record.Record {
	t.Helper()
	r, err := parse(kind, document)
	if err != nil {
		t.Fatalf("%v: %.200s", err, document)
	}
	return r
}

func TestParseAccepts(t *testing.T) {
	for _, c := range cases.Accepted {
		r, err := parse(c.Kind, c.Document)
		if err != nil {
			t.Errorf("%s, %s: %v", c.Kind, c.Name, err)
			continue
		}
		reference(t, c.Kind, c.Document, r)
	}
}

func TestParseRefuses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases.Refused {
		if seen[c.Kind+c.Name] {
			t.Errorf("%s, %s: is there twice", c.Kind, c.Name)
		}
		seen[c.Kind+c.Name] = true
		switch _, err := parse(c.Kind, c.Document); {
		case err == nil:
			t.Errorf("%s, %s: is accepted", c.Kind, c.Name)
		case err.Error() != c.Error:
			t.Errorf("%s, %s: %q, want %q", c.Kind, c.Name, err, c.Error)
		}
	}
}

func TestErrorNamesTheDocument(t *testing.T) {
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{What: "is not JSON"}, "is not JSON"},
		{Error{Path: "url", What: "is required"}, "url: is required"},
		{Error{Document: "tenant:demo", Path: "url", What: "is required"}, "tenant:demo: url: is required"},
		{Error{Document: "tenant:demo", What: "is not JSON"}, "tenant:demo: is not JSON"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What JSON itself forbids before these two are asked, they forbid as well.
func TestWhole(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "7": 7, "3600": 3600, "999999999999999": 999999999999999,
		"": -1, "00": -1, "007": -1, "-1": -1, "+1": -1, "1.0": -1, "1e2": -1, "0x10": -1, " 1": -1, "1 ": -1, "1000000000000000": -1, "18446744073709551617": -1,
	} {
		if n, ok := whole(s); ok != (want >= 0) || ok && n != want {
			t.Errorf("whole(%q) = %d, %v", s, n, ok)
		}
	}
}

func TestLoneSurrogate(t *testing.T) {
	for s, want := range map[string]bool{
		``: false, `a`: false, `\\`: false, `\ud83d\ude00`: false, `\uD83D\uDE00`: false, `\ud7ff\ue000`: false, `\\ud800`: false, `\ud83d\ude00\ud83d\ude00`: false,
		`\ud800`: true, `\udbff`: true, `\udc00`: true, `\udfff`: true, `\ud800a`: true, `\ud800\n`: true, `\ud800\u0041`: true, `\ud800\\udc00`: true,
		`\udc00\ud800`: true, `\ud83d\ude00\ude00`: true, `\ud83d\ud83d\ude00`: true,
	} {
		for _, raw := range []string{s, `"` + s + `"`, `"x` + s + `x"`} {
			if got := loneSurrogate(raw); got != want {
				t.Errorf("%s: %v", raw, got)
			}
		}
	}
}

// value is a JSON value that keeps the order of its fields, so that a test can
// change one place of a document and leave the rest alone.
type value struct {
	scalar json.RawMessage
	items  []value
	names  []string // of an object; nil for an array
	isList bool
}

func decode(t testing.TB, d *json.Decoder) value {
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		raw, err := marshal(token)
		if err != nil {
			t.Fatal(err)
		}
		return value{scalar: raw}
	}
	v := value{isList: delim == '[', names: []string{}}
	for d.More() {
		if !v.isList {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			v.names = append(v.names, name.(string))
		}
		v.items = append(v.items, decode(t, d))
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return v
}

func decodeDocument(t testing.TB, document string) value {
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	return decode(t, d)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (v *value) append(b []byte) []byte {
	switch {
	case v.scalar != nil:
		return append(b, v.scalar...)
	case v.isList:
		b = append(b, '[')
	default:
		b = append(b, '{')
	}
	for i := range v.items {
		if i > 0 {
			b = append(b, ',')
		}
		if !v.isList {
			name, _ := marshal(v.names[i])
			b = append(append(b, name...), ':')
		}
		b = v.items[i].append(b)
	}
	if v.isList {
		return append(b, ']')
	}
	return append(b, '}')
}

// places calls f for the value itself and every value inside.
func (v *value) places(f func(v *value)) {
	f(v)
	for i := range v.items {
		v.items[i].places(f)
	}
}

func (v *value) shuffle(random *rand.Rand) {
	if !v.isList {
		random.Shuffle(len(v.items), func(i, j int) {
			v.items[i], v.items[j] = v.items[j], v.items[i]
			v.names[i], v.names[j] = v.names[j], v.names[i]
		})
	}
	for i := range v.items {
		v.items[i].shuffle(random)
	}
}

// The documents that other tests take for complete are.
func TestAllFieldsAreInTheFullDocuments(t *testing.T) {
	var missing func(path string, s *record.Schema, r record.Record)
	missing = func(path string, s *record.Schema, r record.Record) {
		for i, f := range s.Fields {
			if !r[i].Set {
				t.Errorf("%s%s is not set", path, f.Name)
				continue
			}
			if f.Of == nil {
				continue
			}
			if len(r[i].List) == 0 {
				t.Errorf("%s%s is empty", path, f.Name)
			} else if f.Name != "keys" {
				missing(path+f.Name+".", f.Of, r[i].List[0])
			}
		}
	}
	missing("tenant: ", Tenant, mustParse(t, cases.Tenant, cases.AllTenant))
	device := mustParse(t, cases.Device, cases.AllDevice)
	missing("device: ", Device, device)
	missing("device: keys.", Key, device[Keys].List[1])
}

// No error holds a value of the document: a marker goes into every place in turn,
// in every form that could be wrong there. Names of fields are shown, cut.
func TestErrorsHoldNoValue(t *testing.T) {
	const marker = "Qx7793"
	long := strings.Repeat(marker, 2000)
	forms := []string{
		`"` + marker + `"`, `"` + marker + `\u0000"`, `" ` + marker + ` "`, `"` + marker + `\ud800"`, `"` + marker + `\u202e|<é"`, `"` + long + `"`,
		`["` + marker + `"]`, `{"vendor":"` + marker + `"}`, `{"interval":"` + marker + `"}`, `{"acme":{"a.b":"` + marker + ` "}}`, `{"acme":"` + marker + `"}`,
		`[{"user":"` + marker + ` "}]`, `[["` + marker + `"]]`, `7793`, `7793779377`, `-7793`, `7793.5`, `7793e99`, `0.7793`, `[7793]`, `{"boot":77937793}`, `true`, `null`,
		"\"" + marker + "\xff\"", `"` + marker, marker,
	}
	errors, built := 0, 0
	for kind, document := range map[string]string{cases.Tenant: cases.AllTenant, cases.Device: cases.AllDevice} {
		full := decodeDocument(t, document)
		var all []*value
		full.places(func(v *value) { all = append(all, v) })
		for _, v := range all {
			old := *v
			for _, form := range forms {
				*v = value{scalar: json.RawMessage(form)}
				bad := string(full.append(nil))
				r, err := parse(kind, bad)
				if err == nil {
					other := map[string]record.Record{
						cases.Tenant: mustParse(t, cases.Tenant, cases.AllTenant),
						cases.Device: mustParse(t, cases.Device, cases.AllDevice),
					}
					other[kind] = r
					b := Builder{Arena: record.NewArena(1024)}
					if _, err = b.Build(other[cases.Tenant], other[cases.Device], acme, "http://a/"); err != nil {
						built++
					}
				}
				if err == nil {
					continue
				}
				errors++
				if strings.Contains(err.Error(), marker) || strings.Contains(err.Error(), "7793") {
					t.Errorf("%s: %.200q", form, err)
				}
				if len(err.Error()) > 300 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			}
			*v = old
		}
	}
	if errors < 3000 || built < 10 {
		t.Errorf("only %d errors, %d of them of Build: this test sees nothing", errors, built)
	}
}

// reference reads the document with encoding/json and holds the record to it.
func reference(t testing.TB, kind, document string, r record.Record) {
	t.Helper()
	if !json.Valid([]byte(document)) {
		t.Fatalf("encoding/json does not take %.200q", document)
	}
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		t.Fatalf("encoding/json does not take %.200q: %v", document, err)
	}
	if what := sameObject(schemas[kind], r, object); what != "" {
		t.Fatalf("%s in %.200q", what, document)
	}
}

func sameObject(s *record.Schema, r record.Record, object map[string]any) string {
	set := 0
	for i := range s.Fields {
		f, v := &s.Fields[i], &r[i]
		other, found := object[f.Name]
		if v.Set != found {
			return fmt.Sprintf("%s: set is %v", f.Name, v.Set)
		}
		if !found {
			continue
		}
		set++
		if what := sameValue(f, v, other); what != "" {
			return f.Name + "." + what
		}
	}
	if set != len(object) {
		return fmt.Sprintf("%d fields of %d", set, len(object))
	}
	return ""
}

func sameValue(f *record.Field, v *record.Value, other any) string {
	same := false
	switch f.Kind {
	case record.String:
		same = v.Str == other
	case record.Int:
		same = other == json.Number(strconv.FormatInt(v.Num, 10))
	case record.Bool:
		same = other == (v.Num == 1)
	case record.Group:
		return sameObject(f.Of, v.List[0], other.(map[string]any))
	case record.List:
		items, ok := other.([]any)
		same = ok && len(items) == len(v.List)
		for i := 0; same && i < len(items); i++ {
			what := ""
			if f.Of.Single {
				what = sameValue(&f.Of.Fields[0], &v.List[i][0], items[i])
			} else {
				what = sameObject(f.Of, v.List[i], items[i].(map[string]any))
			}
			if what != "" {
				return strconv.Itoa(i) + "." + what
			}
		}
	case record.Map:
		pairs, ok := other.(map[string]any)
		same = ok && len(pairs) == len(v.List)
		for _, r := range v.List {
			if what := sameValue(&f.Of.Fields[PairValue], &r[PairValue], pairs[r[PairName].Str]); what != "" {
				return r[PairName].Str + "." + what
			}
		}
	}
	if !same {
		return "is another value"
	}
	return ""
}

// equal compares two records of a schema; the pairs of a Map have no order.
func equal(s *record.Schema, a, b record.Record) bool {
	for i := range s.Fields {
		f, v, w := &s.Fields[i], &a[i], &b[i]
		if v.Set != w.Set || v.Num != w.Num || v.Str != w.Str || len(v.List) != len(w.List) {
			return false
		}
		for j := range v.List {
			k := j
			if f.Kind == record.Map {
				k = slices.IndexFunc(w.List, func(r record.Record) bool { return r[PairName].Str == v.List[j][PairName].Str })
			}
			if k < 0 || !equal(f.Of, v.List[j], w.List[k]) {
				return false
			}
		}
	}
	return true
}

// Reading never panics and never accepts what encoding/json would not, or would
// read as something else; and the order of fields means nothing.
func FuzzParse(f *testing.F) {
	for i, c := range cases.Accepted {
		if len(c.Document) < 2000 {
			f.Add(c.Document, uint64(i))
		}
	}
	for i, c := range cases.Refused {
		if len(c.Document) < 1000 {
			f.Add(c.Document, uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, document string, seed uint64) {
		for kind, schema := range schemas {
			r, err := parse(kind, document)
			if err != nil {
				if err.What == "" || len(err.Error()) > 400 {
					t.Fatalf("error %q", err)
				}
				continue
			}
			reference(t, kind, document, r)
			shuffled := decodeDocument(t, document)
			shuffled.shuffle(rand.New(rand.NewPCG(seed, 0)))
			again, err := parse(kind, string(shuffled.append(nil)))
			if err != nil || !equal(schema, r, again) {
				t.Fatalf("shuffled: %v\n%s\n%s", err, document, shuffled.append(nil))
			}
		}
	})
}

// Text below the seeds: half of a document, or a document with one byte changed,
// is refused or read as encoding/json reads it.
func TestEveryByteOfADocument(t *testing.T) {
	for kind, document := range map[string]string{cases.Tenant: cases.AllTenant, cases.Device: cases.AllDevice} {
		for i := range document {
			if _, err := parse(kind, document[:i]); err == nil {
				t.Errorf("%s: the first %d bytes are accepted", kind, i)
			}
			for _, c := range "\"\\{}[],:0-e.nt \n\x00\x7f\xc0\xff" {
				b := []byte(document)
				b[i] = byte(c)
				if r, err := parse(kind, string(b)); err == nil {
					reference(t, kind, string(b), r)
				}
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	a := record.NewArena(1024)
	b.SetBytes(int64(len(cases.AllDevice)))
	b.ReportAllocs()
	for b.Loop() {
		a.Reset()
		if _, err := Parse(Device, cases.AllDevice, a); err != nil {
			b.Fatal(err)
		}
	}
}
