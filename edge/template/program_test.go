package template

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	for n := range 40 {
		words := map[string]string{}
		var list []string
		for i := range n {
			word := strings.Repeat("ab", i%4) + fmt.Sprint(i*7%n)
			words[word] = strings.Repeat("x", i%3) // also nothing at all
			list = append(list, word)
		}
		slices.Sort(list)
		table := Table{Name: "t"}
		for _, word := range slices.Compact(list) {
			table.Words += word + "\t" + words[word] + "\n"
		}
		for word, want := range words {
			if got, ok := table.Find(word); got != want || !ok {
				t.Fatalf("%d words: %q is %q, %v, want %q", n, word, got, ok, want)
			}
		}
		for _, word := range []string{"", "a", "zz", "0x", "abab", "-", "\t", "\n"} {
			if _, known := words[word]; known {
				continue
			}
			if got, ok := table.Find(word); ok {
				t.Fatalf("%d words: %q is %q and should not be there", n, word, got)
			}
		}
	}
}

// The last word on a file: it has no line of the template, and never a value.
func TestCheck(t *testing.T) {
	p := Program{Source: "acme/mac.tmpl", Cells: 1, Text: "abc\n", Ops: []Op{{Code: Text, C: 4, Line: 1}}}
	for _, c := range []struct {
		line       int
		what, want string
	}{
		{0, "", ""}, {0, "is larger than 120 KB", "acme/mac.tmpl: the file: is larger than 120 KB"}, {7, "is longer than 537 bytes", "acme/mac.tmpl: the file: line 7 is longer than 537 bytes"},
	} {
		p.Check = func(file []byte) (int, string) {
			if string(file) != "abc\n" {
				t.Errorf("the file is %q", file)
			}
			return c.line, c.what
		}
		b, err := new(Machine).Run(&p, []byte("before"), nil)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want || string(b) != "beforeabc\n" {
			t.Errorf("%q, %q, want %q", got, b, c.want)
		}
	}
}
