package settings

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"stagger/edge/pack/source"
	"stagger/host/corpus"
	"stagger/host/seal"
	"stagger/vendors"
)

// show is a list of settings in one text.
func show(list []Setting) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s = %q\n", s.Path, s.Value)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, syntax, file, want string }{
		{"key and value", "keyvalue", "#!version:1.0.0.1\n# a = comment\n\na.b = c = d # e\n  x=\r\ninclude:config \"http://h/?a=b\"\n", `#!version = "1.0.0.1"
a.b = "c = d # e"
x = ""
include:config = "\"http://h/?a=b\""
`},
		{"twice", "keyvalue", "a = 1\na = 2", "a = \"1\"\na = \"2\"\n"},
		{"colon", "colon", "# x: y\nsip line1 user name: Bob: \"x\"\r\n!admin password:1\nempty:\n", `sip line1 user name = "Bob: \"x\""
!admin password = "1"
empty = ""
`},
		{"quoted", "quoted", "# A comment\r\n\r\nNAME=\"a = b # c\"\r\nE_1=\"\"\r\n", `NAME = "a = b # c"
E_1 = ""
`},
		{"percent", "percent", "P271=1&P270=a%26b%3D+%C3%A9&P2=\nP3=x", `P271 = "1"
P270 = "a&b=+é"
P2 = ""
P3 = "x"
`},
		{"marked", "marked", "<<VOIP CONFIG FILE>>Version:2.0\n\n<SIP CONFIG MODULE>\nSIP1 Addr   :a:5060\nSIP1 Empty :\n<<END OF FILE>>\n", `VOIP CONFIG FILE/Version = "2.0"
SIP CONFIG MODULE/SIP1 Addr = "a:5060"
SIP CONFIG MODULE/SIP1 Empty = ""
`},
		{"elements", "xml", "<?xml version=\"1.0\"?>\n<!-- x -->\n<s v=\"1\">\n<p>\n<a perm='R'>x &amp; &#x41;&#10;</a>\n<b idx=\"2\" perm=\"R\"></b><b idx=\"3\"/>\n<c/>t</p></s>\n", `s@v = "1"
p/a@perm = "R"
p/a = "x & A\n"
p/b[2]@perm = "R"
p/b[2] = ""
p/b[3] = ""
p/c = ""
p = "t"
`},
		{"attributes", "xml", `<c><x a.b="1" c.d="&lt;&quot;"/><y/><APP FILE="f"/></c>`, `a.b = "1"
c.d = "<\""
y = ""
APP@FILE = "f"
`},
		{"the root alone", "xml", `<APP FILE="" X="1"/>`, `APP@FILE = ""
APP@X = "1"
`},
		{"numbered in numbered", "xml", `<s><l index="1"><m index="2"><n>v</n></m></l></s>`, "l[1]/m[2]/n = \"v\"\n"},
		{"text between elements", "xml", "<s><p>\n a<b/> <b/>c<!-- x --> d \n</p></s>", "p/b = \"\"\np/b = \"\"\np = \"a c d\"\n"},
		{"nothing", "keyvalue", "\n# x\n", ""},
	} {
		list, err := Read(c.syntax, c.file)
		if got := show(list); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		syntax, file string
		line         int
	}{
		{"keyvalue", "a = 1\nSECRET\n", 2}, {"keyvalue", "= SECRET", 1}, {"keyvalue", "a = \xff", 1},
		{"colon", "SECRET", 1}, {"colon", "\n: SECRET", 2},
		{"quoted", `A=SECRET`, 1}, {"quoted", "A=\"1\"\nA=\"SECRET", 2}, {"quoted", `A="x" SECRET "y"`, 1}, {"quoted", `="SECRET"`, 1},
		{"percent", "SECRET", 1}, {"percent", "a=%SECRET", 1}, {"percent", "a=%ff", 1}, {"percent", "a=1&&b=2", 1},
		{"marked", "<<SECRET", 1}, {"marked", "<A>\nSECRET", 2}, {"marked", "<A>\n :SECRET", 2},
		{"xml", "", 1}, {"xml", "SECRET", 1}, {"xml", "<a>", 1}, {"xml", "<a>\n</b>", 2}, {"xml", "<a></a><b/>", 1}, {"xml", "<a/>SECRET", 1},
		{"xml", "<a b='1' b='2'/>", 1}, {"xml", "<a b=1/>", 1}, {"xml", "<a b/>", 1}, {"xml", "<a b='<'/>", 1}, {"xml", "<a b='1'c='2'/>", 1},
		{"xml", "<a>&SECRET;</a>", 1}, {"xml", "<a>&amp</a>", 1}, {"xml", "<a>&#0;</a>", 1}, {"xml", "<a>&#xd800;</a>", 1}, {"xml", "<a>\x01</a>", 1},
		{"xml", "<a>]]></a>", 1}, {"xml", "<!DOCTYPE a><a/>", 1}, {"xml", "<a><![CDATA[x]]></a>", 1}, {"xml", "<a><?SECRET?></a>", 1}, {"xml", "<a><!-- -- --></a>", 1},
		{"xml", "<?xml", 1}, {"xml", "<a b='", 1}, {"xml", strings.Repeat("<a>", 40), 1}, {"xml", "<", 1}, {"xml", "</a>", 1}, {"xml", "<a>\uffff</a>", 1},
	} {
		list, err := Read(c.syntax, c.file)
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || list != nil && c.syntax == "xml" {
			t.Errorf("%s %q: %v %v, want line %d", c.syntax, c.file, list, err, c.line)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: the error %q quotes the file", c.syntax, err)
		}
	}
	if _, err := Read("ini", ""); err == nil || !strings.Contains(err.Error(), `"ini"`) {
		t.Error(err)
	}
}

// There is a reader for every syntax that a pack can name.
func TestSyntaxes(t *testing.T) {
	for syntax := range source.Syntaxes {
		if readers[syntax] == nil {
			t.Errorf("no reader for %s", syntax)
		}
	}
}

func TestName(t *testing.T) {
	for full, want := range map[string]string{
		"account.1.label": "account.1.label", "phone-settings/user_name[1]": "user_name", "functionKeys/fkey[0]@label": "label",
		"config/P145": "P145", "reg.1.address": "reg.1.address", "APP@FILE": "FILE", "SIP CONFIG MODULE/SIP1 Addr": "SIP1 Addr", "": "", "[x]": "[x]",
	} {
		if got := (&Setting{Path: full}).Name(); got != want {
			t.Errorf("%q: %q, want %q", full, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	list := func(text string) (list []Setting) {
		for _, part := range strings.Fields(text) {
			name, value, _ := strings.Cut(part, "=")
			list = append(list, Setting{name, value})
		}
		return list
	}
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"a=1 b=2", "a=1 b=2", ""},
		{"a=1 b=2", "b=2 a=1", ""},
		{"a=1 b=2", "a=1 b=3", "b 2>3"},
		{"a=1 b=2", "a=1", "b 2>-"},
		{"a=1", "b=2 a=1", "b ->2"},
		{"a=1 b=2", "c=3 b=9", "c ->3, b 2>9, a 1>-"},
		{"a= b=", "a=x b=", "a >x"},
		{"k=1 k=2 a=", "k=1 k=3 a=", "k 2>3"},
		{"k=1 k=2", "k=1 k=2 k=3", "k#3 ->3"},
		{"k=1 k=2", "k=2", "k 1>2, k#2 2>-"},
	} {
		from, to := list(c.from), list(c.to)
		got := ""
		for _, change := range Compare(from, to) {
			text := func(s *string) string {
				if s == nil {
					return "-"
				}
				return *s
			}
			got += fmt.Sprintf(", %s %s>%s", change.Path, text(change.Old), text(change.New))
		}
		if got = strings.TrimPrefix(got, ", "); got != c.want {
			t.Errorf("%q to %q: %q, want %q", c.from, c.to, got, c.want)
		}
		if !slices.Equal(from, list(c.from)) || !slices.Equal(to, list(c.to)) {
			t.Errorf("%q to %q: the settings were changed", c.from, c.to)
		}
	}
}

var mac = regexp.MustCompile(`[0-9a-f]{12}`)

// bodies are all files that the corpus has, with their syntax.
func bodies(t testing.TB) (list []Setting) {
	cases, err := corpus.Load("../../testdata/golden", "../../testdata/fleets")
	if err != nil {
		t.Fatal(err)
	}
	packs, err := source.Descriptors(vendors.Descriptors)
	if err != nil {
		t.Fatal(err)
	}
	sealed := seal.New([]string{corpus.Current})
	for _, c := range cases {
		// The vendor of each tenant and of each device; "" is that of any.
		vendorOf := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(c.Setup.Documents)) {
			document := c.Setup.Documents[key]
			if seal.Sealed(document) {
				document, _, _ = sealed.Open(key, document) // cases have some that do not open
			}
			d := gjson.Parse(document)
			if vendor := d.Get("vendor").Str; vendor != "" {
				vendorOf[d.Get("tenant").Str+d.Get("device").Str], vendorOf[""] = vendor, vendor
			}
		}
		for _, step := range c.Steps {
			head, body, _ := strings.Cut(step.Want, "\n\n")
			if !strings.HasPrefix(head, "200 ") || step.Method == "HEAD" {
				continue
			}
			tenant, file, _ := strings.Cut(strings.TrimPrefix(step.Target, "/"), "/")
			vendor := vendorOf[tenant+mac.FindString(strings.ToLower(path.Base(file)))]
			for _, key := range []string{tenant, ""} {
				if vendor == "" {
					vendor = vendorOf[key]
				}
			}
			i := slices.IndexFunc(packs, func(p *source.Descriptor) bool { return p.Vendor == vendor })
			if i < 0 {
				t.Fatalf("%s: no vendor %q", c.Name, vendor)
			}
			list = append(list, Setting{packs[i].Syntax, body})
		}
	}
	if len(list) < 30 {
		t.Fatalf("only %d files in the corpus", len(list))
	}
	return list
}

// Every file that a phone is given in the corpus can be read, and as XML it is what
// encoding/xml takes it for.
func TestCorpus(t *testing.T) {
	for _, b := range bodies(t) {
		list, err := Read(b.Path, b.Value)
		// Some phones want a file that says nothing, and then it is a comment.
		if err != nil || len(list) == 0 && b.Value[0] != '#' {
			t.Fatalf("%v:\n%s", err, b.Value)
		}
		if b.Path == "xml" {
			agree(t, b.Value, list)
		}
		if changes := Compare(list, list); changes != nil {
			t.Errorf("a file differs from itself: %v", changes)
		}
	}
}

// agree wants the elements of one text that encoding/xml finds to be settings, and all
// of its attributes.
func agree(t testing.TB, file string, list []Setting) {
	t.Helper()
	var got, want []string
	for _, s := range list {
		got = append(got, s.Value)
	}
	d := xml.NewDecoder(strings.NewReader(file))
	type open struct {
		text         string
		parent, full bool
	}
	var stack []open
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("encoding/xml refuses it: %v\n%s", err, file)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if len(stack) > 0 {
				stack[len(stack)-1].parent = true
			}
			stack = append(stack, open{})
			number := ""
			for _, a := range token.Attr {
				name := a.Name.Local
				if name == "idx" || name == "index" || name == "id" {
					if number == "" {
						number = a.Value
					}
					if a.Value == number && a.Value != "" {
						continue
					}
				}
				want = append(want, a.Value)
				stack[len(stack)-1].full = true
			}
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].text += string(token)
			}
		case xml.EndElement:
			e := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch text := e.text; {
			case !e.parent && e.full && text == "" && strings.HasSuffix(file[:d.InputOffset()], "/>"):
			case !e.parent:
				want = append(want, text)
			case strings.Trim(text, " \t\r\n") != "":
				want = append(want, strings.Trim(text, " \t\r\n"))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("values\n%q\nencoding/xml has\n%q\n%s", got, want, file)
	}
}

// Whatever is read, reading never panics, and what it reads as XML encoding/xml reads as
// well, to the same values.
func FuzzRead(f *testing.F) {
	for _, b := range bodies(f) {
		f.Add(b.Path, b.Value)
	}
	for _, syntax := range []string{"keyvalue", "colon", "quoted", "percent", "marked", "xml"} {
		f.Add(syntax, "<a b='&#x41;'>x<!-- y --><c id=\"\" id2='3'/></a>\n")
		f.Add(syntax, "A=\"%41\"&b:c = <<x>>d: #!e:f\n")
	}
	f.Fuzz(func(t *testing.T, syntax, file string) {
		list, err := Read(syntax, file)
		if err != nil {
			return
		}
		for _, s := range list {
			if s.Path == "" {
				t.Fatalf("a setting without a name: %q", s.Value)
			}
			_ = s.Name()
		}
		if syntax == "xml" {
			agree(t, file, list)
		}
		if changes := Compare(list, list); changes != nil {
			t.Fatalf("a file differs from itself: %v", changes)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, syntax := range []string{"keyvalue", "xml"} {
		longest := ""
		for _, body := range bodies(b) {
			if body.Path == syntax && len(body.Value) > len(longest) {
				longest = body.Value
			}
		}
		b.Run(syntax, func(b *testing.B) {
			b.SetBytes(int64(len(longest)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(syntax, longest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
