package colon

import (
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
	"stagger/edge/template"
)

// both are rows that hold for labels and for all other values.
var both = []hostile.Row{
	{Name: "MI2, comment", Value: "Bob # tail", What: "has the beginning of a comment"},
	{Name: "comment first", Value: "#", What: "has the beginning of a comment"},
	{Name: "comment without blank", Value: "Bob#", What: "has the beginning of a comment"},
	{Name: "remark", Value: "Bob // tail", What: "has the beginning of a comment"},
	{Name: "remark at once, after the blank of the template", Value: "// tail", What: "has the beginning of a comment"},
	{Name: "remark at the end", Value: "Bob //", What: "has the beginning of a comment"},
	{Name: "three strokes", Value: "Bob ///", What: "has the beginning of a comment"},
	{Name: "no remark", Value: "http://pbx.example/a//b", Out: "http://pbx.example/a//b"},
	{Name: "strokes apart", Value: "/ / /", Out: "/ / /"},
	{Name: "one stroke", Value: "x/y z/", Out: "x/y z/"},
	{Name: "MI6, looks like a lock", Value: "!Sales: 1", Out: "!Sales: 1"},
	{Name: "looks like a reset", Value: "^Sales: 1", Out: "^Sales: 1"},
	{Name: "colons", Value: "sip:100@pbx:5061", Out: "sip:100@pbx:5061"},
	{Name: "empty"},
}

// shell are rows for values that no display shows.
var shell = []hostile.Row{
	{Name: "MI4, command", Value: "pbx.example;reboot", What: "has a character that a shell could act on"},
	{Name: "command", Value: "a`b", What: "has a character that a shell could act on"},
	{Name: "expansion", Value: "a$b", What: "has a character that a shell could act on"},
	{Name: "escape", Value: `a\b`, What: "has a character that a shell could act on"},
	{Name: "pipe", Value: "a|b", What: "has a character that a shell could act on"},
	{Name: "background", Value: "a&b", What: "has a character that a shell could act on"},
	{Name: "input", Value: "a<b", What: "has a character that a shell could act on"},
	{Name: "output", Value: "a>b", What: "has a character that a shell could act on"},
}

// labels are rows for texts on a display.
var labels = []hostile.Row{
	{Name: "what a shell would act on", Value: "`$\\|&;<>", Out: "`$\\|&;<>"},
}

func TestAppend(t *testing.T) {
	hostile.Check(t, Append, both, shell, hostile.Unfit, hostile.Edges)
}

func TestAppendLabel(t *testing.T) {
	hostile.Check(t, AppendLabel, both, labels, hostile.Unfit, hostile.Edges)
}

func TestLegitimate(t *testing.T) {
	literal := func(written string) string { return written }
	refused := map[string]string{"#1 Support": "has the beginning of a comment"}
	hostile.CheckLegitimate(t, AppendLabel, refused, literal)
	for _, value := range []string{"O'Neil & Sons <Sales>", "a;b,c", `C:\temp`, "R&D; QA"} {
		refused[value] = "has a character that a shell could act on"
	}
	hostile.CheckLegitimate(t, Append, refused, literal)
}

// Two values side by side make no comment that neither is.
func TestNeighbours(t *testing.T) {
	for _, before := range []string{"name: /", "name:\t/", "name: http: /"} {
		for _, value := range []string{"/x", "/"} {
			if b, what := AppendLabel([]byte(before), value); what == "" {
				t.Errorf("%q became %q", before, b)
			}
		}
	}
	if b, what := AppendLabel([]byte("name: http:/"), "/x"); what != "" {
		t.Errorf("%q: %q", b, what)
	}
}

// read takes a file apart as a phone would that is easy to fool: "#" begins a
// comment anywhere, "//" after a blank too, "!" and "^" before a name do not belong
// to it, and blanks around the name and the value do not count.
func read(file string) (lines int, settings []string) {
	all := hostile.Lines(file)
	for _, line := range all {
		line, _, _ = strings.Cut(line, "#")
		line, _, _ = strings.Cut(line, " //")
		line, _, _ = strings.Cut(line, "\t//")
		name, value, found := strings.Cut(line, ":")
		if found {
			settings = append(settings, strings.Trim(name, "!^ \t")+":"+strings.Trim(value, " \t"))
		}
	}
	return len(all), settings
}

// check: a value is refused, or the file has the lines that the template has and
// the phone reads the very value in each place.
func check(t *testing.T, value string) {
	for _, escape := range []template.Escape{Append, AppendLabel} {
		file, ok := hostile.Fill(t, escape, value, "# device\nsip line1 display name: ", "\n!sip proxy ip: ", "\npath: ftp:/", "\nlast: ", "\n")
		if !ok {
			continue
		}
		lines, got := read(file)
		want := []string{"sip line1 display name:" + value, "sip proxy ip:" + value, "path:ftp:/" + value, "last:" + value}
		if lines != 5 || !slices.Equal(got, want) {
			t.Fatalf("%q: %d lines, %q", value, lines, got)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, value := range hostile.Seeds(both, shell, labels) {
		f.Add(value)
	}
	f.Fuzz(check)
}

func TestEveryCharacter(t *testing.T) {
	hostile.Characters(func(value string) { check(t, value) })
	for _, value := range hostile.Random(20000) {
		check(t, value)
	}
}

// What is not a label never has a character that a shell acts on.
func TestShell(t *testing.T) {
	for _, value := range append(hostile.Random(20000), hostile.Seeds()...) {
		if b, _ := Append(nil, value); strings.ContainsAny(string(b), "`$\\|&;<>#") {
			t.Errorf("%q was written", b)
		}
	}
}

func TestAllocations(t *testing.T) {
	hostile.CheckAllocations(t, Append, both, shell)
	hostile.CheckAllocations(t, AppendLabel, both, labels)
}

func BenchmarkAppend(b *testing.B) { hostile.Benchmark(b, Append, "sip.example.com:5061") }
func BenchmarkAppendLabel(b *testing.B) {
	hostile.Benchmark(b, AppendLabel, "O'Neil & Sons <Sales>; 1")
}
