package quoted

import (
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
)

var rows = []hostile.Row{
	{Name: "PA1, next line", Value: "x\"\r\nCFG_STANDARD_FILE_PATH=\"http://evil.example/", What: "has a control character"},
	{Name: "PA2, quotation marks", Value: `"Front" desk`, What: "has a quotation mark"},
	{Name: "quotation mark last", Value: `x"`, What: "has a quotation mark"},
	{Name: "second setting", Value: `x" Y="z`, What: "has a quotation mark"},
	{Name: "PA3, 501 characters", Value: strings.Repeat("a", 501), What: "is longer than 500 characters"},
	{Name: "500 characters", Value: strings.Repeat("a", 500), Out: strings.Repeat("a", 500)},
	{Name: "500 characters of 502 bytes", Value: "日" + strings.Repeat("a", 499), Out: "日" + strings.Repeat("a", 499)},
	{Name: "PA4, 180 characters of 540 bytes", Value: strings.Repeat("日", 180), What: "is longer than a line can be"},
	{Name: "532 bytes", Value: strings.Repeat("日", 177) + "b", What: "is longer than a line can be"},
	{Name: "531 bytes", Value: strings.Repeat("日", 177), Out: strings.Repeat("日", 177)},
	{Name: "PA6, macro", Value: "{MAC}", What: "has a brace, which begins or ends a macro"},
	{Name: "brace closed", Value: "MAC}", What: "has a brace, which begins or ends a macro"},
	{Name: "PA, ok", Value: "O'Neil & Sons <Sales> #1", Out: "O'Neil & Sons <Sales> #1"},
	{Name: "backslash last", Value: `C:\`, What: "has a backslash at its end"},
	{Name: "backslash within", Value: `C:\temp`, Out: `C:\temp`},
	{Name: "empty"},
}

func TestAppend(t *testing.T) { hostile.Check(t, Append, rows, hostile.Unfit, hostile.Edges) }

func TestLegitimate(t *testing.T) {
	refused := map[string]string{`"Front" desk`: "has a quotation mark"}
	hostile.CheckLegitimate(t, Append, refused, func(written string) string { return written })
}

func TestCheckFile(t *testing.T) {
	const first = "# a comment that begins every file, é\r\n"
	setting := func(name string, length int) string { return name + `="` + strings.Repeat("a", length) + "\"\r\n" }
	for _, c := range []struct {
		name, file string
		line       int
		what       string
	}{
		{"empty", "", 0, ""},
		{"settings", first + "A=\"\"\r\n\r\n# c\r\nB_2=\"x\"\r\n", 0, ""},
		{"537 bytes", first + setting("A", 531), 0, ""},
		{"538 bytes", first + setting("A", 532), 2, "is longer than 537 bytes"},
		{"538 bytes by the name", first + setting("SIP_PASS_1", 523), 2, "is longer than 537 bytes"},
		{"bytes, not characters", first + "A=\"" + strings.Repeat("日", 178) + "\"\r\n", 2, "is longer than 537 bytes"},
		{"long comment", "#" + strings.Repeat("a", 535) + "\r\n", 1, "is longer than 537 bytes"},
		{"120000 bytes", strings.Repeat(setting("A", 494), 240), 0, ""},
		{"120001 bytes", strings.Repeat(setting("A", 494), 239) + setting("A", 495), 0, "is larger than 120 KB"},
		{"no end", first + `A="x"`, 2, "has a control character, or does not end in CR LF"},
		{"CR", first + "A=\"x\"\r", 2, "has a control character, or does not end in CR LF"},
		{"LF", first + "A=\"x\"\n", 2, "has a control character, or does not end in CR LF"},
		{"CR within", first + "A=\"x\rB\"\r\n", 2, "has a control character, or does not end in CR LF"},
		{"LF LF", first + "A=\"x\"\n\n", 2, "has a control character, or does not end in CR LF"},
		{"LF CR", first + "A=\"x\"\n\r\n", 2, "has a control character, or does not end in CR LF"},
		{"tab", first + "A=\"x\t\"\r\n", 2, "has a control character, or does not end in CR LF"},
		{"only a quotation mark", first + "A=\"\r\n", 2, `is not NAME="value"`},
		{"three quotation marks", first + "A=\"x\"y\"\r\n", 2, `is not NAME="value"`},
		{"text after it", first + "A=\"x\" # c\r\n", 2, `is not NAME="value"`},
		{"no quotation marks", first + "\r\nA=x\r\n", 3, `is not NAME="value"`},
		{"none at the end", first + "A=\"x\r\n", 2, `is not NAME="value"`},
		{"none at the beginning", first + "A=x\"\r\n", 2, `is not NAME="value"`},
		{"no name", first + "=\"x\"\r\n", 2, `is not NAME="value"`},
		{"blank", first + "A =\"x\"\r\n", 2, `is not NAME="value"`},
		{"blank first", first + " A=\"x\"\r\n", 2, `is not NAME="value"`},
		{"colon", first + "A:\"x\"\r\n", 2, `is not NAME="value"`},
		{"only a name", first + "A\r\n", 2, `is not NAME="value"`},
		{"32 bytes of name", first + setting(strings.Repeat("Az09_xyz", 4), 1), 0, ""},
		{"33 bytes of name", first + setting(strings.Repeat("Az09_xyz", 4)+"A", 1), 2, `is not NAME="value"`},
		{"name of other letters", first + "Aé=\"x\"\r\n", 2, `is not NAME="value"`},
	} {
		if line, what := CheckFile([]byte(c.file)); what != c.what || what != "" && line != c.line {
			t.Errorf("%s: line %d %s, want line %d %s", c.name, line, what, c.line, c.what)
		}
	}
}

var macros = strings.NewReplacer("{", "(macro)", "}", "(macro)")

// read takes a file apart as a phone would that is easy to fool: a backslash
// escapes the quotation mark after it, a quotation mark ends the value wherever it
// stands, braces are replaced, "#" lines and lines that are too long are skipped.
func read(file string) (lines int, settings []string) {
	all := hostile.Lines(file)
	for _, line := range all {
		name, rest, found := strings.Cut(line, `="`)
		if !found || line[0] == '#' || len(line) > 535 {
			continue
		}
		value, _, _ := strings.Cut(strings.ReplaceAll(rest, `\"`, ""), `"`)
		value = macros.Replace(value)
		settings = append(settings, name+"="+strings.Trim(value, " \t"))
	}
	return len(all), settings
}

// check: a value is refused, or the file has the lines that the template has and
// the phone reads the very value in each place, or the file is refused for a line
// that the phone would skip.
func check(t *testing.T, value string) {
	file, ok := hostile.Fill(t, Append, value,
		"# comment\r\nA=\"", "\"\r\nSIP_URI_1=\"sip:", "@pbx\"\r\nDISPLAY_NAME_1=\"", "\"\r\nLAST=\"1\"\r\n")
	if !ok {
		return
	}
	lines, got := read(file)
	want := []string{"A=" + value, "SIP_URI_1=sip:" + value + "@pbx", "DISPLAY_NAME_1=" + value, "LAST=1"}
	line, what := CheckFile([]byte(file))
	if lines != 5 {
		t.Fatalf("%q: %d lines", value, lines)
	}
	if what == "is longer than 537 bytes" && line == 3 && len(got) < 4 {
		return
	}
	if what != "" || !slices.Equal(got, want) {
		t.Fatalf("%q: %q, line %d %s", value, got, line, what)
	}
}

func FuzzAppend(f *testing.F) {
	for _, value := range hostile.Seeds(rows) {
		f.Add(value)
	}
	f.Fuzz(check)
}

// A file that passes has the settings that its "\n" say it has, for the reader that
// is easiest to fool, and a file that does not is no reason to crash.
func FuzzCheckFile(f *testing.F) {
	f.Add("# comment\r\nA=\"x\"\r\n\r\nB=\"\"\r\n")
	f.Add("A=\"x\"\n")
	f.Add("A=\"x\"y\"\r\n#\r\n")
	f.Fuzz(func(t *testing.T, file string) {
		if _, what := CheckFile([]byte(file)); what != "" {
			return
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(file, "\r\n"), "\r\n") {
			if len(line) > 535 || strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%q has the line %q", file, line)
			}
			if line != "" && line[0] != '#' && (strings.Count(line, `"`) != 2 || strings.Index(line, `="`) < 1 || !strings.HasSuffix(line, `"`)) {
				t.Fatalf("%q has the line %q", file, line)
			}
		}
	})
}

func TestEveryCharacter(t *testing.T) {
	hostile.Characters(func(value string) { check(t, value) })
	for _, value := range hostile.Random(20000) {
		check(t, value)
	}
	for length := range 600 {
		check(t, strings.Repeat("a", length))
		check(t, strings.Repeat("日", length))
	}
}

func TestAllocations(t *testing.T) {
	hostile.CheckAllocations(t, Append, rows)
	file := []byte("# comment\r\nA=\"x\"\r\nB=x\r\n")
	if n := testing.AllocsPerRun(10, func() { CheckFile(file) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) { hostile.Benchmark(b, Append, "O'Neil & Sons <Sales>; #1") }

func BenchmarkCheckFile(b *testing.B) {
	file := []byte(strings.Repeat("SIP_RGSTR_ADDR_1=\"sip.example.com\"\r\n", 400))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, what := CheckFile(file); what != "" {
			b.Fatal(what)
		}
	}
}
