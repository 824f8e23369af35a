package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every pack that is here is done.
func TestPacksAreDone(t *testing.T) {
	folders, err := filepath.Glob("../../vendors/*/pack.json")
	if err != nil || len(folders) < 5 {
		t.Fatal(folders, err)
	}
	for _, f := range folders {
		vendor := filepath.Base(filepath.Dir(f))
		r, err := check("../..", vendor)
		if err != nil {
			t.Fatal(err)
		}
		if r.missing > 0 {
			t.Error(r)
		}
	}
}

// What is taken away from a pack is found missing, each thing by its name.
func TestMissing(t *testing.T) {
	root := t.TempDir()
	copyTo := func(names ...string) {
		for _, name := range names {
			text, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyTo("vendors/snom/pack.json", "vendors/snom/phone.htm.tmpl", "vendors/snom/README.md", "README.md",
		"testdata/golden/snom-checkin.txt", "testdata/golden/snom-full.txt", "testdata/golden/snom-names.txt", "testdata/golden/snom-staged.txt")
	missing := func() (list []string) {
		r, err := check(root, "snom")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range r.lines {
			if strings.HasPrefix(line, "MISSING") {
				list = append(list, strings.TrimSpace(strings.TrimPrefix(line, "MISSING")))
			}
		}
		if len(list) != r.missing || strings.Contains(r.String(), "not done") != (r.missing > 0) {
			t.Error(r)
		}
		return list
	}
	if got := missing(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ file, from, to, want string }{
		{"vendors/snom/README.md", "## Timers", "## Clocks", "vendors/snom/README.md: Timers"},
		{"testdata/golden/snom-staged.txt", "200 ok", "404 gone", "testdata/golden/snom-staged.txt: a phone that is staged"},
		{"README.md", "`vendors/snom`", "", "README.md: a row in the table of families"},
		{"vendors/snom/pack.json", `"prefixes": ["`, `"none": ["`, ""},
	} {
		text, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(text), c.from, c.to)
		if changed == string(text) {
			t.Fatalf("%s has no %q", c.file, c.from)
		}
		if err := os.WriteFile(filepath.Join(root, c.file), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if _, err := check(root, "snom"); err == nil {
				t.Errorf("%s with %q is read", c.file, c.to)
			}
		} else if got := missing(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s without %q: %q", c.file, c.from, got)
		}
		if err := os.WriteFile(filepath.Join(root, c.file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "nobody", "../vendors/snom", "."} {
		if _, err := check(root, name); err == nil {
			t.Errorf("%q is a vendor", name)
		}
	}
}
