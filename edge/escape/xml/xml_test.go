package xml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
	"stagger/edge/record"
	"stagger/edge/template"
)

var rows = []hostile.Row{
	{Name: "FV1, element", Value: "x</DisplayName><RegisterAddr>evil.example</RegisterAddr><DisplayName>",
		Out: "x&lt;/DisplayName&gt;&lt;RegisterAddr&gt;evil.example&lt;/RegisterAddr&gt;&lt;DisplayName&gt;"},
	{Name: "FV2, entity", Value: "&xxe;", Out: "&amp;xxe;"},
	{Name: "PO1, attributes", Value: `A" device.set="1" device.prov.serverName="http://evil.example`,
		Out: "A&quot; device.set=&quot;1&quot; device.prov.serverName=&quot;http://evil.example"},
	{Name: "PO2, end of the element", Value: "A'/><x y='", Out: "A&apos;/&gt;&lt;x y=&apos;"},
	{Name: "PO5, comment", Value: "<!--", Out: "&lt;!--"},
	{Name: "PO, ok", Value: `"Front" desk & R<D`, Out: "&quot;Front&quot; desk &amp; R&lt;D"},
	{Name: "CI1, element", Value: "</Display_Name_1_><Profile_Rule>http://evil.example/</Profile_Rule><Display_Name_1_>",
		Out: "&lt;/Display_Name_1_&gt;&lt;Profile_Rule&gt;http://evil.example/&lt;/Profile_Rule&gt;&lt;Display_Name_1_&gt;"},
	{Name: "CI, dial plan", Value: "(<:1800>xxxxxxx)", Out: "(&lt;:1800&gt;xxxxxxx)"},
	{Name: "SN1, attributes", Value: `x" perm="RW" label="y`, Out: "x&quot; perm=&quot;RW&quot; label=&quot;y"},
	{Name: "SN2, element", Value: "</user_realname><http_pass>1</http_pass>", Out: "&lt;/user_realname&gt;&lt;http_pass&gt;1&lt;/http_pass&gt;"},
	{Name: "GS1, element", Value: "</P270><P2>evil</P2><P270>", Out: "&lt;/P270&gt;&lt;P2&gt;evil&lt;/P2&gt;&lt;P270&gt;"},
	{Name: "end of CDATA", Value: "]]>", Out: "]]&gt;"},
	{Name: "entity for a line feed", Value: "&#10;", Out: "&amp;#10;"},
	{Name: "escaped once more", Value: "&amp;", Out: "&amp;amp;"},
	{Name: "empty"},
}

// macro are values that are data, but not where a phone reads a rule.
var macro = []hostile.Row{
	{Name: "CI3, macro", Value: "http://h/$GPP_SA", Out: "http://h/$GPP_SA"},
	{Name: "macro in parentheses", Value: "$(MA)", Out: "$(MA)"},
	{Name: "second rule", Value: "a|b", Out: "a|b"},
	{Name: "key", Value: "[--key x] http://h/", Out: "[--key x] http://h/"},
	{Name: "braces", Value: "{MAC}", Out: "{MAC}"},
	{Name: "others that no URL has", Value: "^`\\", Out: "^`\\"},
}

// foreign are values outside ASCII.
var foreign = []hostile.Row{
	{Name: "CI6, outside ASCII", Value: "日本 支店", Out: "日本 支店"},
	{Name: "first character outside", Value: "\u00a0", Out: "\u00a0"},
}

func refused(rows []hostile.Row, what string) (all []hostile.Row) {
	for _, row := range rows {
		all = append(all, hostile.Row{Name: row.Name, Value: row.Value, What: what})
	}
	return all
}

func TestAppend(t *testing.T) {
	hostile.Check(t, Append, rows, macro, foreign, hostile.Unfit, hostile.Edges)
}

const (
	outside = "has a character outside ASCII"
	syntax  = "has a character that the phone could take for syntax"
)

func TestAppendMacro(t *testing.T) {
	hostile.Check(t, AppendMacro, rows, foreign, hostile.Unfit, hostile.Edges, refused([]hostile.Row{{Name: "macro", Value: "$USER"}, {Name: "last", Value: "a$"}}, syntax))
}

func TestAppendItem(t *testing.T) {
	hostile.Check(t, AppendItem, foreign, hostile.Unfit, hostile.Edges, refused([]hostile.Row{
		{Name: "another function", Value: "Bob;fnc=sd;ext=900@evil.example"}, {Name: "separator alone", Value: ";"}, {Name: "macro", Value: "$PROXY"},
	}, syntax), []hostile.Row{{Name: "equals", Value: "x=y", Out: "x=y"}, {Name: "at", Value: "a@b", Out: "a@b"}})
}

func TestAppendUser(t *testing.T) {
	hostile.Check(t, AppendUser, foreign, hostile.Unfit, hostile.Edges, refused([]hostile.Row{
		{Name: "host", Value: "900@evil.example"}, {Name: "parameter of a URI", Value: "100;user=phone"}, {Name: "macro", Value: "$USER"},
	}, syntax), []hostile.Row{{Name: "feature code", Value: "*8#31", Out: "*8#31"}})
}

func TestAppendURL(t *testing.T) {
	hostile.Check(t, AppendURL, refused(foreign[1:], outside), hostile.Unfit, hostile.Edges)
	for _, c := range " \"<>\\^`{|}$" {
		hostile.Check(t, AppendURL, []hostile.Row{{Name: "rule", Value: "http://h/" + string(c) + "x", What: syntax}})
	}
	hostile.Check(t, AppendURL, refused(macro, syntax), []hostile.Row{
		{Name: "URL", Value: "https://u_1.pbx.example:5061/~a/b-c;d=e,(f)!*?g=h&i='%41'#j@k+l", Out: "https://u_1.pbx.example:5061/~a/b-c;d=e,(f)!*?g=h&amp;i=&apos;%41&apos;#j@k+l"},
		{Name: "IPv6", Value: "http://[2001:db8::1]:80/", Out: "http://[2001:db8::1]:80/"},
		{Name: "empty"},
	})
}

// SN3: what a key dials stands after a word and a blank in the file, so that a
// blank or bar in it would be syntax of the phone's own. The profile refuses it.
func TestKeyTarget(t *testing.T) {
	if record.Dial.Check("100 |url http://evil.example") == "" || record.Dial.Check("100|x") == "" {
		t.Error("a key can dial a blank or a bar")
	}
}

func TestLegitimate(t *testing.T) {
	unescape := func(written string) string { return parse(t, "<a>"+written+"</a>")[1] }
	hostile.CheckLegitimate(t, Append, nil, unescape)
	hostile.CheckLegitimate(t, AppendMacro, nil, unescape)
	hostile.CheckLegitimate(t, AppendItem, map[string]string{"a;b,c": syntax, "R&D; QA": syntax}, unescape)
	hostile.CheckLegitimate(t, AppendUser, map[string]string{"a;b,c": syntax, "R&D; QA": syntax, "sip:100@pbx:5061": syntax}, unescape)
	not := map[string]string{}
	for _, value := range []string{"Zoë Müller-Łuczak", "日本 支店", "O'Neil & Sons <Sales>", `"Front" desk`, "#1 Support", "50% off", `C:\temp`, "R&D; QA"} {
		not[value] = syntax
	}
	hostile.CheckLegitimate(t, AppendURL, not, unescape)
}

// parse lists what encoding/xml finds in a file: elements, attributes, texts.
func parse(t *testing.T, file string) (found []string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(file))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		switch token := token.(type) {
		case xml.StartElement:
			found = append(found, "<"+token.Name.Local)
			for _, a := range token.Attr {
				found = append(found, a.Name.Local+"="+a.Value)
			}
		case xml.EndElement:
			found = append(found, ">")
		case xml.CharData:
			found = append(found, string(token))
		case xml.ProcInst:
			found = append(found, "?"+token.Target)
		default:
			t.Fatalf("%q: %v, %v", file, token, err)
		}
	}
}

// check: a value is refused, or the file has the elements and attributes that the
// template has and the very value in each place.
func check(t *testing.T, value string) {
	for _, escape := range []template.Escape{Append, AppendMacro, AppendItem, AppendUser, AppendURL} {
		file, ok := hostile.Fill(t, escape, value, `<?xml version="1.0" encoding="UTF-8"?><a b="`, `" c='`, `' d="x:`, `"><e>`, `</e><f g="1">y`, `</f></a>`)
		if !ok {
			continue
		}
		want := []string{"?xml", "<a", "b=" + value, "c=" + value, "d=x:" + value, "<e", value, ">", "<f", "g=1", "y" + value, ">", ">"}
		if value == "" {
			want = slices.Delete(want, 6, 7)
		}
		if got := parse(t, file); !slices.Equal(got, want) {
			t.Fatalf("%q: %q", value, got)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, value := range hostile.Seeds(rows, macro, foreign) {
		f.Add(value)
	}
	f.Fuzz(check)
}

func TestRandom(t *testing.T) {
	for _, value := range hostile.Random(20000) {
		check(t, value)
	}
}

// Two foreign parsers read one file with each character, and with many values made
// of markup, in each position. xmllint, of libxml2, writes what it has read in
// canonical form (https://www.w3.org/TR/xml-c14n), which for such a file is easily
// made from the values.
func TestEveryCharacter(t *testing.T) {
	values := append(hostile.Seeds(rows, macro, foreign), hostile.Random(5000)...)
	hostile.Characters(func(value string) { values = append(values, value) })
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attribute := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	var file, canonical bytes.Buffer
	var want []string
	file.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<config>")
	canonical.WriteString("<config>")
	for _, value := range values {
		line, ok := hostile.Fill(t, Append, value, `<v a="`, `" b='`, `'>`, `</v>`)
		if !ok {
			continue
		}
		file.WriteString(line)
		canonical.WriteString(`<v a="` + attribute.Replace(value) + `" b="` + attribute.Replace(value) + `">` + text.Replace(value) + `</v>`)
		want = append(want, "<v", "a="+value, "b="+value, value, ">")
		if value == "" {
			want = slices.Delete(want, len(want)-2, len(want)-1)
		}
	}
	file.WriteString("</config>\n")
	canonical.WriteString("</config>")
	if len(want) < 5*150000 {
		t.Fatalf("only %d values were accepted", len(want)/5)
	}

	got := parse(t, file.String())
	same(t, "encoding/xml", got[3:len(got)-2], want) // without "?xml", "\n", "<config"; ">", "\n"

	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Fatal("there is no xmllint here, of the Debian package libxml2-utils: ", err)
	}
	command := exec.Command(xmllint, "--nonet", "--c14n", "-")
	command.Stdin = &file
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("xmllint: %v, %.1000s", err, complaints.String())
	}
	split := func(s string) []string { return strings.SplitAfter(s, "</v>") }
	same(t, "xmllint", split(strings.TrimSuffix(string(out), "\n")), split(canonical.String()))
}

func same(t *testing.T, parser string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: item %d is %q, want %q", parser, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d items, want %d", parser, len(got), len(want))
	}
}

func TestAllocations(t *testing.T) {
	for _, escape := range []template.Escape{Append, AppendMacro, AppendItem, AppendUser, AppendURL} {
		hostile.CheckAllocations(t, escape, rows, macro, foreign)
	}
}

func BenchmarkAppend(b *testing.B) { hostile.Benchmark(b, Append, "O'Neil & Sons <Sales>; #1") }
func BenchmarkAppendItem(b *testing.B) {
	hostile.Benchmark(b, AppendItem, "O'Neil & Sons <Sales>, #1")
}
func BenchmarkAppendURL(b *testing.B) {
	hostile.Benchmark(b, AppendURL, "https://phones.example.com/a/b?c=d")
}
