package masterkey

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("B2", 40)
	rawA, rawB := strings.Repeat("\xa1", 32), strings.Repeat("\xb2", 40)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fileA, fileB, empty, big := file("a", a+"\n"), file("b", "  "+b+"\r\n"), file("empty", "\n"), file("big", strings.Repeat("a", 10000))
	for name, test := range map[string]struct {
		current, previous, file, previousFile string
		want                                  []string
		err                                   string
	}{
		"variable":             {current: a, want: []string{rawA}},
		"both variables":       {current: a, previous: b, want: []string{rawA, rawB}},
		"file":                 {file: fileA, want: []string{rawA}},
		"both files":           {file: fileB, previousFile: fileA, want: []string{rawB, rawA}},
		"variable and file":    {current: b, previousFile: fileA, want: []string{rawB, rawA}},
		"nothing":              {err: "no master key"},
		"previous alone":       {previous: a, err: "no current one"},
		"the same":             {current: a, previous: strings.ToUpper(a), err: "the same as the current"},
		"twice":                {current: a, file: fileB, err: "use one"},
		"no file":              {file: fileA + "x", err: "no such file"},
		"empty file":           {file: empty, err: "this one has 0"},
		"short":                {current: a[:62], err: "this one has 31"},
		"short previous":       {current: a, previous: b[:2], err: "STAGGER_MASTER_KEY_PREVIOUS: "},
		"odd":                  {current: a + "a", err: "hexadecimal digits"},
		"not hexadecimal":      {current: strings.Repeat("z", 64), err: "hexadecimal digits"},
		"in quotes":            {current: `"` + a + `"`, err: "hexadecimal digits"},
		"with a prefix":        {current: "0x" + a, err: "hexadecimal digits"},
		"two keys in the file": {file: file("two", a+"\n"+b), err: "hexadecimal digits"},
		"the wrong file":       {file: big, err: "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{Variable: test.current, VariablePrevious: test.previous}
			got, err := Read(func(name string) string { return env[name] }, test.file, test.previousFile)
			if test.err == "" {
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got %v, want %q", err, test.err)
			}
			for _, key := range []string{a[:6], b[:6], "zzz", "aaaa"} {
				if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(key)) {
					t.Errorf("%q shows the key", err)
				}
			}
		})
	}
	if _, err := Read(func(string) string { return "" }, "", ""); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}
