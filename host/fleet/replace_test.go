package fleet

import (
	"strings"
	"testing"
	"testing/iotest"
)

// One document is another, and everything else is as it was: line ends, blanks, what
// is no document, and lines longer than any.
func TestReplace(t *testing.T) {
	long := strings.Repeat("x", 3*MaxLine)
	for name, c := range map[string]struct {
		file, want string
		line       int
	}{
		"first":              {"old\nb\n", "new\nb\n", 1},
		"last":               {"a\nold\n", "a\nnew\n", 2},
		"without a line end": {"a\nold", "a\nnew", 2},
		"alone":              {"old", "new", 1},
		"with blanks":        {"\n\n \told \r\n\nc\r\n", "\n\n \tnew \r\n\nc\r\n", 3},
		"the same twice":     {"old\nold\n", "old\nnew\n", 2},
		"behind a long one":  {long + "\nold\n" + long, long + "\nnew\n" + long, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := Replace(&out, iotest.HalfReader(strings.NewReader(c.file)), c.line, "old", "new"); err != nil || out.String() != c.want {
				t.Errorf("%v: %.200q", err, out.String())
			}
		})
	}
	for line, want := range map[int]string{1: "line 1 is not the document that it was", 2: "there is no line 2", 3: "there is no line 3"} {
		if err := Replace(new(strings.Builder), strings.NewReader("other"), line, "old", "new"); err == nil || err.Error() != want {
			t.Errorf("line %d: %v", line, err)
		}
	}
}
