package kv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// played puts an npx on the path that says and does what a test wants, and returns the
// file in which it notes how it was called.
func played(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho \"$@ key=$STAGGER_MASTER_KEY ci=$CI\" >> " + calls + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "npx"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("STAGGER_MASTER_KEY", "SECRET")
	return calls
}

func TestWrangler(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   string
		found  bool
		err    string
	}{
		"a document":       {`printf '{"tenant":"demo"}'`, `{"tenant":"demo"}`, true, ""},
		"an empty one":     {`true`, "", true, ""},
		"with a blank end": {`printf '{} \n'`, "{} \n", true, ""},
		"local, absent":    {`echo 'Value not found'`, "", false, ""},
		"remote, absent":   {`echo 'X [ERROR] Failed to fetch https://api/values/tenant:demo - 404: Not Found);' >&2; exit 1`, "", false, ""},
		"refused":          {`echo 'some {"document"}'; printf '\n\nX [ERROR] Failed to fetch https://api/values/tenant:demo - 403: Forbidden);\n' >&2; exit 1`, "", false, "wrangler: exit status 1: Failed to fetch https://api/values/tenant:demo - 403: Forbidden);"},
		"not installed":    {`echo 'npm error npx canceled due to missing packages and no YES option: ["wrangler@4"]' >&2; exit 1`, "", false, "wrangler: exit status 1: npx canceled due to missing packages and no YES option: [\"wrangler@4\"]"},
		"silent":           {`exit 3`, "", false, "wrangler: exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := played(t, c.script)
			w := &Wrangler{Binding: "FLEET"}
			for range 2 {
				got, found, err := w.Get(t.Context(), "tenant:demo")
				if got != c.want || found != c.found || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
					t.Errorf("%q, %v, %v", got, found, err)
				}
			}
			times := 1 // what is known is not asked for again
			if c.err != "" {
				times = 2
			}
			text, err := os.ReadFile(calls)
			if want := strings.Repeat("--no-install wrangler kv key get tenant:demo --binding FLEET --remote key= ci=true\n", times); err != nil || string(text) != want {
				t.Errorf("called as %q, %v", text, err)
			}
		})
	}
}

func TestWranglerLocal(t *testing.T) {
	calls := played(t, "echo x")
	if _, _, err := (&Wrangler{Binding: "B", Config: "../w.toml", Local: "state"}).Get(t.Context(), "device:a:b"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(calls)
	if want := "--no-install wrangler kv key get device:a:b --binding B --config ../w.toml --local --persist-to state key= ci=true\n"; err != nil || string(text) != want {
		t.Errorf("called as %q, %v", text, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := (&Wrangler{Binding: "B"}).Get(t.Context(), "tenant:x"); err == nil || !strings.Contains(err.Error(), "there is no npx") {
		t.Errorf("without npx: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (&Wrangler{Binding: "B"}).Get(ctx, "tenant:x"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
