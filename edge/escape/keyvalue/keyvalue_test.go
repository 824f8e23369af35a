package keyvalue

import (
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
)

var rows = []hostile.Row{
	{Name: "YE5, looks like a comment", Value: "# overwrite_mode = 1", Out: "# overwrite_mode = 1"},
	{Name: "YE6, reset token", Value: "%NULL%", What: "is a reset token"},
	{Name: "YE6, reset token", Value: "%EMPTY%", What: "is a reset token"},
	{Name: "YE, ok", Value: "O'Neil & Sons <Sales>; #1", Out: "O'Neil & Sons <Sales>; #1"},
	{Name: "empty"},
	{Name: "half a token", Value: "%NULL", Out: "%NULL"},
	{Name: "more than a token", Value: "%NULL%%", Out: "%NULL%%"},
	{Name: "a token within", Value: "a%NULL%", Out: "a%NULL%"},
	{Name: "no token", Value: "%null%", Out: "%null%"},
	{Name: "section", Value: "[section]", Out: "[section]"},
	{Name: "include", Value: "include:config x", Out: "include:config x"},
	{Name: "separator", Value: "= x", Out: "= x"},
	{Name: "expansion", Value: "${x}`reboot`", Out: "${x}`reboot`"},
	{Name: "beyond ASCII", Value: "\u00a0🍕\u202ea\u0301", Out: "\u00a0🍕\u202ea\u0301"},
}

func TestAppend(t *testing.T) {
	hostile.Check(t, Append, rows, hostile.Unfit, hostile.Edges)
}

func TestLegitimate(t *testing.T) {
	hostile.CheckLegitimate(t, Append, nil, func(written string) string { return written })
}

// read takes a file apart as a phone would that is easy to fool: "#" lines are
// skipped, blanks around the name and the value do not count, and a reset token is
// no value.
func read(file string) (lines int, settings []string) {
	all := hostile.Lines(file)
	for _, line := range all {
		name, value, found := strings.Cut(line, "=")
		if !found || line[0] == '#' {
			continue
		}
		value = strings.Trim(value, " \t")
		if value == "%NULL%" || value == "%EMPTY%" {
			value = "(reset)"
		}
		settings = append(settings, strings.Trim(name, " \t")+"="+value)
	}
	return len(all), settings
}

// check: a value is refused, or the file has the lines that the template has and
// the phone reads the very value in each place.
func check(t *testing.T, value string) {
	file, ok := hostile.Fill(t, Append, value, "#!version:1.0.0.1\naccount.1.label = ", "\nadmin = admin:", "\nlast = ", "\n")
	if !ok {
		return
	}
	lines, got := read(file)
	want := []string{"account.1.label=" + value, "admin=admin:" + value, "last=" + value}
	if lines != 4 || !slices.Equal(got, want) {
		t.Fatalf("%q: %d lines, %q", value, lines, got)
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
