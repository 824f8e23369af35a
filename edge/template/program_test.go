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
