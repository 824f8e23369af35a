package percent

import (
	"net/url"
	"strings"
	"testing"

	"stagger/edge/escape/hostile"
)

var rows = []hostile.Row{
	{Name: "GS3", Value: "a&P2=evil", Out: "a%26P2%3Devil"},
	{Name: "GS4", Value: "a=b", Out: "a%3Db"},
	{Name: "empty"},
	{Name: "unreserved", Value: "AZaz09_.~-", Out: "AZaz09_.~-"},
	{Name: "around them", Value: "@[`{/:,}", Out: "%40%5B%60%7B%2F%3A%2C%7D"},
	{Name: "plus", Value: "a+b c", Out: "a%2Bb%20c"},
	{Name: "percent", Value: "%0A", Out: "%250A"},
	{Name: "edges", Value: " a ", Out: "%20a%20"},
	{Name: "one-look table", Value: `&<>"'#;`, Out: "%26%3C%3E%22%27%23%3B"},
	{Name: "UTF-8", Value: "日", Out: "%E6%97%A5"},
}

func TestAppend(t *testing.T) { hostile.Check(t, Append, rows, hostile.Unfit) }

func TestLegitimate(t *testing.T) {
	hostile.CheckLegitimate(t, Append, nil, func(written string) string {
		value, err := url.PathUnescape(written)
		if err != nil {
			t.Error(err)
		}
		return value
	})
}

// check: a value is refused, or the file has the parameters that the template has
// and the standard library's readers agree on the very value in each.
func check(t *testing.T, value string) {
	file, ok := hostile.Fill(t, Append, value, "P271=1&P270=", "&P3=x", "&P2=", "")
	if !ok {
		return
	}
	form, err := url.ParseQuery(file)
	if err != nil || len(form) != 4 || form.Get("P271") != "1" || form.Get("P270") != value || form.Get("P3") != "x"+value ||
		form.Get("P2") != value || strings.Count(file, "=") != 4 || len(hostile.Lines(file)) != 1 {
		t.Fatalf("%q: %q, read as %q, %v", value, file, form, err)
	}
	_, last, _ := strings.Cut(file, "&P2=")
	if got, err := url.PathUnescape(last); got != value || err != nil {
		t.Fatalf("%q: read as %q, %v", value, got, err)
	}
	if strings.Trim(last, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-%") != "" {
		t.Fatalf("%q: %q", value, last)
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
