package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"stagger/host/audit"
)

func TestValidate(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	demo := read(t, m.fleet)
	file := func(name, text string) string { return write(t, filepath.Join(dir, name), text) }
	warned := m.fleet
	clean := file("clean.jsonl", strings.Replace(demo, "http://127.0.0.1:8080", "https://p.example", 1))
	bad := file("bad.jsonl", demo+"SECRET\n"+`{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1","password":" SECRET"}]}`+"\n")
	for _, c := range []struct {
		args   []string
		status int
		out    string
		errs   string
	}{
		{[]string{"--fleet", clean}, 0, clean + ":1: note: tenant:demo: staged devices: 1 (staged)\n", "1 tenants, 3 devices: 0 errors, 0 warnings\n"},
		{[]string{"--fleet", clean, "--strict"}, 0, "note", "0 warnings\n"},
		{[]string{"--fleet", warned}, 0, "url: is not an https URL (plain-url)\n", "0 errors, 1 warnings\n"},
		{[]string{"--fleet", warned, "--strict"}, 1, "(plain-url)\n", "0 errors, 1 warnings\n"},
		{[]string{"--fleet", clean, "--registrar-max", "3000", "--strict"}, 1, "above the 3000 s that the registrar grants at most; of 2 devices (registrar-range)", "1 warnings\n"},
		{[]string{"--fleet", bad}, 1, bad + ":5: error: not JSON, or more than one value on the line (not-a-document)\n" + bad + ":6: error: device:demo:001565aabb01: the same device as on line 2 (duplicate)\n", "2 errors, 1 warnings\n"},
		{[]string{"--fleet", bad, "--json"}, 1, `{"file":"` + bad + `","line":6,"level":"error","rule":"duplicate","key":"device:demo:001565aabb01","message":"the same device as on line 2"}` + "\n", "2 errors"},
		{[]string{"--fleet", bad, "--sarif"}, 1, `"version": "2.1.0"`, "2 errors"},
		{nil, 2, "", "--fleet: the fleet file is required\n"},
		{[]string{"--fleet", clean, "--json", "--sarif"}, 2, "", "--json and --sarif: one of them\n"},
		{[]string{"--fleet", clean, "--registrar-min", "9", "--registrar-max", "8"}, 2, "", "--registrar-min is above --registrar-max\n"},
		{[]string{"--fleet", "nothing"}, 1, "", "open nothing: no such file"},
	} {
		status, out, errs := m.do(append([]string{"validate"}, c.args...)...)
		if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.out == "" && out != "" {
			t.Errorf("%v: status %d\n%s%s\nwant %d\n%s%s", c.args, status, out, errs, c.status, c.out, c.errs)
		}
		if strings.Contains(out+errs, "SECRET") {
			t.Errorf("%v: a value is in\n%s%s", c.args, out, errs)
		}
		switch {
		case status == 2 || len(c.args) < 3:
		case c.args[2] == "--json":
			for line := range strings.Lines(out) {
				if err := json.Unmarshal([]byte(line), new(audit.Finding)); err != nil {
					t.Error(err)
				}
			}
		case c.args[2] == "--sarif":
			if !json.Valid([]byte(out)) {
				t.Error(out)
			}
		}
	}
	m.stdin = strings.NewReader(read(t, bad))
	if status, out, _ := m.do("validate", "--fleet", "-"); status != 1 || !strings.Contains(out, "<stdin>:5: error: ") {
		t.Errorf("status %d: %s", status, out)
	}
	m.stdout = broken{}
	if status, _, errs := m.do("validate", "--fleet", bad); status != 1 || errs != "unplugged\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}
