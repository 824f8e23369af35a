// Package hostile is what every escaper is tested with: values that no format may
// carry, values that every format must carry or say why not, and the properties
// that hold for all. Only tests import it.
package hostile

import (
	"math/rand/v2"
	"strings"
	"testing"

	"stagger/edge/template"
)

// Row is a value and what an escaper makes of it: Out, or a refusal in the words
// of What.
type Row struct{ Name, Value, Out, What string }

// Unfit are the values that no escaper accepts.
var Unfit = []Row{
	{Name: "YE1, PO6, line feed", Value: "Bob\naccount.2.enable = 1", What: "has a control character"},
	{Name: "YE2, CR LF", Value: "Bob\r\nstatic.auto_provision.server.url = http://evil.example/", What: "has a control character"},
	{Name: "YE3, next line", Value: "Bob\u0085include:config \"http://evil.example/x.cfg\"", What: "has a control character"},
	{Name: "CI5, NUL", Value: "A\x00B", What: "has a control character"},
	{Name: "FV4, tab", Value: "tab\there", What: "has a control character"},
	{Name: "FV5, line feed", Value: "100\nSIP1 Register Addr :evil.example", What: "has a control character"},
	{Name: "MI1, line feed", Value: "Bob\n!admin password: 1", What: "has a control character"},
	{Name: "PO4, vertical tab", Value: "A\vB", What: "has a control character"},
	{Name: "carriage return", Value: "Bob\raccount.2.enable = 1", What: "has a control character"},
	{Name: "form feed", Value: "Bob\faccount.2.enable = 1", What: "has a control character"},
	{Name: "record separator", Value: "Bob\x1eaccount.2.enable = 1", What: "has a control character"},
	{Name: "line feed alone", Value: "\n", What: "has a control character"},
	{Name: "line feed last", Value: "Bob\n", What: "has a control character"},
	{Name: "DEL", Value: "Bob\x7f", What: "has a control character"},
	{Name: "U+009F", Value: "Bob\u009f", What: "has a control character"},
	{Name: "line separator", Value: "Bob\u2028account.2.enable = 1", What: "has a line separator"},
	{Name: "paragraph separator", Value: "Bob\u2029account.2.enable = 1", What: "has a line separator"},
	{Name: "byte order mark", Value: "\ufeffBob", What: "has a character that is none"},
	{Name: "GS6, U+FFFE", Value: "\ufffe", What: "has a character that is none"},
	{Name: "U+FFFF", Value: "Bob\uffff", What: "has a character that is none"},
	{Name: "U+FDD0", Value: "Bob\ufdd0", What: "has a character that is none"},
	{Name: "U+1FFFF", Value: "Bob\U0001ffff", What: "has a character that is none"},
	{Name: "Latin-1", Value: "Zo\xeb", What: "is not UTF-8"},
	{Name: "SN5, lone surrogate", Value: "\xed\xa0\x80", What: "is not UTF-8"},
	{Name: "overlong line feed", Value: "Bob\xc0\x8aaccount.2.enable = 1", What: "is not UTF-8"},
	{Name: "overlong <", Value: "Bob\xc0\xbcx>", What: "is not UTF-8"},
	{Name: "half a character", Value: "Bob\xe6\x97", What: "is not UTF-8"},
}

// Edges are the values with a blank at an edge, which formats refuse whose readers
// trim, or may.
var Edges = []Row{
	{Name: "blank first", Value: " Bob", What: "has a blank at its edge"},
	{Name: "blank last", Value: "Bob ", What: "has a blank at its edge"},
	{Name: "one blank", Value: " ", What: "has a blank at its edge"},
}

// Legitimate are values that people have good reason to write.
var Legitimate = []string{
	"O'Neil & Sons <Sales>", "Zoë Müller-Łuczak", `"Front" desk`, "#1 Support", "a;b,c", "50% off", `C:\temp`, "日本 支店",
	"R&D; QA", "x=y", "sip:100@pbx:5061",
}

// seeds are values that some syntax would take for its own: others carry them.
var seeds = []string{
	"", "Bob", "# overwrite_mode = 1", "%NULL%", "%EMPTY%", "%0A", "%00", "+", "a+b", "[section]", "include:config x", "!Sales: 1", "^x: 1",
	"</DisplayName><RegisterAddr>evil.example</RegisterAddr><DisplayName>", "&xxe;", "&amp;", "&#10;", "&#x0;", "]]>", "<![CDATA[x]]>", "<!--",
	"-->", "<?xml?>", `A" device.set="1`, "A'/><x y='", "<<END OF FILE>>", "<", "a<", "<<", ">>", "http://evil.example/$GPP_SA", "{MAC}",
	"a&P2=evil", "a=b", "a // b", "// b", "//", "a//b", "/", "a /", "a\\", "\\", "\\n", `"`, `x"`, "${x}", "`reboot`", "$(reboot)", "a|b", "a;b",
	"e3#rl2(&ae#1", `a<b&"c'`, "A&B <C>", "João", "🍕", "\u00a0", "\u3000", "\u202ea", "\ufffd", "a\u0301", "  ", "a  b", "=", "= x", ":", ": x",
}

// Seeds are all values here and those of rows, to start a fuzz test with.
func Seeds(rows ...[]Row) []string {
	all := append(append([]string{}, seeds...), Legitimate...)
	for _, r := range append(rows, Unfit, Edges) {
		for _, row := range r {
			all = append(all, row.Value)
		}
	}
	return all
}

// Random are count values made of what matters to some syntax, always the same.
func Random(count int) []string {
	parts := strings.Split("a b Z 0 é 日 🍕 & < > \" ' # ; = : / // \\ | $ ` { } [ ] % %41 + - _ . ~ ! ^ , ( ) ? @ * "+
		"<< >> ]]> &amp; &# <!-- --> <? %NULL% \u00a0 \u202e", " ")
	parts = append(parts, " ", " ", "\n", "\x85")
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]string, count)
	for i := range values {
		for range 1 + random.IntN(12) {
			values[i] += parts[random.IntN(len(parts))]
		}
	}
	return values
}

// Characters calls f with values that have each character in the first, a middle
// and the last place, and each pair of bytes in the middle. The planes beyond the
// first are visited at their ends.
func Characters(f func(value string)) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if r > 0xffff && r&0xffff > 0xff && r&0xffff < 0xff00 {
			continue
		}
		f("a" + string(r) + "b = 1")
		f(string(r) + "b = 1")
		f("a" + string(r))
	}
	for a := range 256 {
		for b := range 256 {
			f(string([]byte{'x', byte(a), byte(b), 'y'}))
		}
	}
}

// Fill writes a file of pieces with the value between each two of them. When the
// escaper refuses, it must leave what it was given, and ok is false.
func Fill(t *testing.T, escape template.Escape, value string, pieces ...string) (file string, ok bool) {
	t.Helper()
	b := make([]byte, 0, 256)
	for i, piece := range pieces {
		b = append(b, piece...)
		if i == len(pieces)-1 {
			break
		}
		out, what := escape(b, value)
		if what != "" {
			if string(out) != string(b) {
				t.Fatalf("%q was refused, and %q became %q", value, b, out)
			}
			return "", false
		}
		if !strings.HasPrefix(string(out), string(b)) {
			t.Fatalf("%q: %q became %q", value, b, out)
		}
		b = out
	}
	return string(b), true
}

// Check holds the escaper to the rows. What is refused leaves the file as it was.
func Check(t *testing.T, escape template.Escape, rows ...[]Row) {
	t.Helper()
	const before = "name: "
	for _, all := range rows {
		for _, row := range all {
			b, what := escape([]byte(before), row.Value)
			if what != row.What {
				t.Errorf("%s, %q: refused with %q, want %q", row.Name, row.Value, what, row.What)
			}
			if string(b) != before+row.Out {
				t.Errorf("%s, %q: %q, want %q", row.Name, row.Value, b, before+row.Out)
			}
		}
	}
}

// CheckLegitimate: each of the legitimate values is refused with the reason given
// here, or written so that read gets it back.
func CheckLegitimate(t *testing.T, escape template.Escape, refused map[string]string, read func(written string) string) {
	t.Helper()
	for _, value := range Legitimate {
		b, what := escape(nil, value)
		if what != refused[value] {
			t.Errorf("%q: refused with %q, want %q", value, what, refused[value])
		}
		if what == "" && read(string(b)) != value {
			t.Errorf("%q was written as %q, which is read as %q", value, b, read(string(b)))
		}
	}
}

// CheckAllocations: the escaper allocates nothing where there is room, neither for
// what it writes nor for what it refuses.
func CheckAllocations(t *testing.T, escape template.Escape, rows ...[]Row) {
	t.Helper()
	buffer := make([]byte, 0, 4096)
	for _, value := range Seeds(rows...) {
		if n := testing.AllocsPerRun(10, func() { escape(buffer, value) }); n != 0 {
			t.Errorf("%q: %v allocations", value, n)
		}
	}
}

// Lines takes a file apart as the reader would that is easiest to fool: whatever
// anyone knows as the end of a line is one. Empty lines do not count.
func Lines(file string) []string {
	return strings.FieldsFunc(file, func(r rune) bool {
		switch r {
		case '\n', '\r', '\v', '\f', 0, 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			return true
		}
		return false
	})
}

// Benchmark measures the escaper on a value that it accepts.
func Benchmark(b *testing.B, escape template.Escape, value string) {
	buffer := make([]byte, 0, 128)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, what := escape(buffer, value); what != "" {
			b.Fatal(what)
		}
	}
}
