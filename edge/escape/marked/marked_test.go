package marked

import (
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
)

var rows = []hostile.Row{
	{Name: "FV6, end of the file", Value: "<<END OF FILE>>", What: "has the beginning of a marker"},
	{Name: "marker within", Value: "x<<y", What: "has the beginning of a marker"},
	{Name: "marker at the end", Value: "x<<", What: "has the beginning of a marker"},
	{Name: "three brackets", Value: "<<<", What: "has the beginning of a marker"},
	{Name: "FV1, element", Value: "x</DisplayName>", Out: "x</DisplayName>"},
	{Name: "FV2, entity", Value: "&xxe;", Out: "&xxe;"},
	{Name: "brackets apart", Value: "< < <a>", Out: "< < <a>"},
	{Name: "closing brackets", Value: ">>", Out: ">>"},
	{Name: "colons", Value: "sip:100@pbx:5061", Out: "sip:100@pbx:5061"},
	{Name: "one-look table", Value: `&"'#;é`, Out: `&"'#;é`},
	{Name: "empty"},
}

func TestAppend(t *testing.T) { hostile.Check(t, Append, rows, hostile.Unfit, hostile.Edges) }

func TestLegitimate(t *testing.T) {
	hostile.CheckLegitimate(t, Append, nil, func(written string) string { return written })
}

// Two values side by side make no marker that neither is.
func TestNeighbours(t *testing.T) {
	b, what := Append([]byte("Name :a"), "b<")
	if what != "" {
		t.Fatal(what)
	}
	if b, what = Append(b, "<END"); what != "has the beginning of a marker" || string(b) != "Name :ab<" {
		t.Errorf("%q, %q", b, what)
	}
}

// read takes a file apart as a phone would that is easy to fool: a marker counts
// wherever in a line it stands, and blanks around the name and the value do not.
func read(file string) (lines, markers int, settings []string) {
	all := hostile.Lines(file)
	for _, line := range all {
		markers += strings.Count(line, "<<")
		if name, value, found := strings.Cut(line, ":"); found {
			settings = append(settings, strings.Trim(name, " \t")+":"+strings.Trim(value, " \t"))
		}
	}
	return len(all), markers, settings
}

// check: a value is refused, or the file has the lines and markers that the
// template has and the phone reads the very value in each place.
func check(t *testing.T, value string) {
	file, ok := hostile.Fill(t, Append, value,
		"<<VOIP CONFIG FILE>>\n<SIP CONFIG MODULE>\nSIP1 Phone Number :", "\nSIP1 Register Addr :sip:", "\nlast :", "\n<<END OF FILE>>\n")
	if !ok {
		return
	}
	lines, markers, got := read(file)
	want := []string{"SIP1 Phone Number:" + value, "SIP1 Register Addr:sip:" + value, "last:" + value}
	if lines != 6 || markers != 2 || !slices.Equal(got, want) {
		t.Fatalf("%q: %d lines, %d markers, %q", value, lines, markers, got)
	}
}

func FuzzAppend(f *testing.F) {
	for _, value := range hostile.Seeds(rows) {
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

func TestAllocations(t *testing.T) { hostile.CheckAllocations(t, Append, rows) }

func BenchmarkAppend(b *testing.B) { hostile.Benchmark(b, Append, "O'Neil & Sons <Sales>; #1") }
