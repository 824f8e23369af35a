package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagger/host/kv"
)

var otherKey = strings.Repeat("7a", 32)

// A fleet is loaded, sealed, exported, changed and rotated: what every step writes is
// what the next one takes for the fleet.
func TestKV(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	load := func(args ...string) kv.Summary {
		t.Helper()
		status, out, errs := m.do(append([]string{"kv", "--json"}, args...)...)
		var s kv.Summary
		if err := json.Unmarshal([]byte(out), &s); status != 0 || err != nil {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		return s
	}
	want := func(what string, s kv.Summary, added, changed, form, deleted, unchanged int) {
		t.Helper()
		if s.Added != added || s.Changed != changed || s.Form != form || s.Deleted != deleted || s.Unchanged != unchanged {
			t.Errorf("%s: %+v", what, s)
		}
	}
	plain, sealed := at("plain/put-0001.json"), at("sealed/put-0001.json")
	want("everything", load(m.fleet, "--out", at("plain")), 4, 0, 0, 0, 0)
	want("sealed", load(m.fleet, "--out", at("sealed"), "--seal"), 4, 0, 0, 0, 0)
	want("an export of itself", load(plain, "--out", at("a"), "--changed-since", m.fleet), 0, 0, 0, 0, 4)
	want("sealed, and the same", load(m.fleet, "--seal", "--out", at("b"), "--changed-since", sealed), 0, 0, 0, 0, 4)
	want("sealed, and loaded from a file", load(m.fleet, "--seal", "--out", at("c"), "--changed-since", m.fleet), 0, 0, 0, 0, 4)
	want("to be sealed", load(m.fleet, "--seal", "--out", at("d"), "--changed-since", plain), 0, 0, 4, 0, 0)
	want("to be opened", load(sealed, "--out", at("e"), "--changed-since", sealed), 0, 0, 4, 0, 0)

	info, err := os.Stat(at("sealed"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(sealed)
	if err != nil || strings.Contains(string(text), "password") {
		t.Errorf("sealed: %v, %s", err, text)
	}

	// A device moves away, one is new, one changes.
	changed := at("changed.jsonl")
	file, err := os.ReadFile(m.fleet)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer("001565aabb03", "001565aabb0f", "Ada Example", "Ada Sample").Replace(string(file))
	if err := os.WriteFile(changed, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	want("changed", load(changed, "--seal", "--out", at("f"), "--changed-since", sealed), 1, 1, 0, 1, 2)
	gone, err := os.ReadFile(at("f/delete-0001.json"))
	if err != nil || string(gone) != "[\"device:demo:001565aabb03\"\n]\n" {
		t.Errorf("deleted: %q, %v", gone, err)
	}

	// Everything is sealed anew while two keys are live, and opens without the old one.
	m.env["STAGGER_MASTER_KEY"], m.env["STAGGER_MASTER_KEY_PREVIOUS"] = otherKey, masterKey
	want("rotated", load(sealed, "--seal", "--out", at("g"), "--changed-since", sealed), 0, 0, 4, 0, 0)
	want("rotated already", load(sealed, "--seal", "--out", at("h"), "--changed-since", at("g/put-0001.json")), 0, 0, 0, 0, 4)
	want("under the previous key, to be opened", load(sealed, "--out", at("i"), "--changed-since", sealed), 0, 0, 4, 0, 0)
	delete(m.env, "STAGGER_MASTER_KEY_PREVIOUS")
	want("the old key has gone", load(m.fleet, "--seal", "--out", at("j"), "--changed-since", at("g/put-0001.json")), 0, 0, 0, 0, 4)

	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"no folder":      {[]string{m.fleet}, 2, "--out: the folder for the files is required"},
		"folder exists":  {[]string{m.fleet, "--out", dir}, 2, "--out: " + dir + " exists"},
		"file exists":    {[]string{m.fleet, "--out", plain}, 2, "--out: " + plain + " exists"},
		"no such place":  {[]string{m.fleet, "--out", at("nowhere/x")}, 1, "no such file or directory"},
		"input twice":    {[]string{"-", "--changed-since", "-", "--out", at("x")}, 2, "cannot both be standard input"},
		"bad fleet":      {[]string{at("bad.jsonl"), "--out", at("x")}, 1, "bad.jsonl:1: not JSON"},
		"key has gone":   {[]string{sealed, "--out", at("x")}, 1, "put-0001.json:1: is sealed under a key that is not live"},
		"moved":          {[]string{at("moved.json"), "--out", at("x")}, 1, "moved.json:1: was changed, or sealed for another key"},
		"old is no file": {[]string{m.fleet, "--out", at("x"), "--changed-since", at("none")}, 1, "no such file"},
	} {
		if err := os.WriteFile(at("bad.jsonl"), []byte("SECRET\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		rotated, err := os.ReadFile(at("g/put-0001.json"))
		if err != nil {
			t.Fatal(err)
		}
		moved := strings.Replace(string(rotated), "aabb01", "aabb0a", 1)
		if err := os.WriteFile(at("moved.json"), []byte(moved), 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, errs := m.do(append([]string{"kv"}, c.args...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.want) || strings.Contains(errs, "SECRET") {
			t.Errorf("%s: status %d, %s%s", name, status, out, errs)
		}
		left, err := filepath.Glob(at("*x*"))
		hidden, _ := filepath.Glob(at(".*"))
		if len(left)+len(hidden) > 0 || err != nil {
			t.Errorf("%s: left behind: %q %q", name, left, hidden)
		}
	}
	delete(m.env, "STAGGER_MASTER_KEY")
	for _, args := range [][]string{{"kv", sealed, "--out", at("x")}, {"kv", m.fleet, "--seal", "--out", at("x")}, {"explain", "--fleet", sealed}} {
		if status, _, errs := m.do(args...); status != 2 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "no master key") {
			t.Errorf("%q without a key: status %d, %s", args, status, errs)
		}
	}
}

// What a command makes of a sealed export is what it makes of the fleet file.
func TestSealedExportIsAFleet(t *testing.T) {
	m := newMachine(t)
	folder := filepath.Join(t.TempDir(), "load")
	if status, _, errs := m.do("kv", m.fleet, "--seal", "--out", folder); status != 0 {
		t.Fatal(errs)
	}
	for _, args := range [][]string{
		{"render", "--engine", "native", "001565aabb01"}, {"url"}, {"explain", "001565aabb02"}, {"explain"},
		{"plan", "--capacity", "100"}, {"waves", "--rate", "1"},
	} {
		_, want, _ := m.do(append(args, "--fleet", m.fleet)...)
		status, got, errs := m.do(append(args, "--fleet", filepath.Join(folder, "put-0001.json"))...)
		if status != 0 || got != want || want == "" {
			t.Errorf("%q: status %d, %s\n%s\nwant\n%s", args, status, errs, got, want)
		}
	}
	status, _, errs := m.do("serve", "--engine", "native", "--require-sealed", "--fleet", m.fleet)
	if status != 1 || !strings.Contains(errs, m.fleet+":1: is not sealed\n") {
		t.Errorf("serve of what is not sealed: status %d, %s", status, errs)
	}
}
