package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagger/host/fleet"
	"stagger/host/inspect"
)

// files are the names of what is in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	goodCSV = "mac,model,user,password\n00:15:65:AA:BB:11,T46U,1001,generate\n00:15:65:AA:BB:12,T46U,1002,generate\n"
	badCSV  = "mac,model,user,password\n00:15:65:AA:BB:11,T46U,1001,generate\n00:15:65:AA:BB:12,T46U,1002, SECRET\nSECRET,T46U,,\n"
)

// What is imported and appended to its fleet is a fleet.
func TestImport(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "new.jsonl")
	status, printed, errs := m.do("import", "--csv", "../testdata/fleets/import.csv", "--tenant", "demo", "--fleet", m.fleet, "--out", out)
	if status != 0 || printed != "" || errs != "3 devices are good, 0 rows bad\n" {
		t.Fatalf("status %d: %s%s", status, printed, errs)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if names := files(t, dir); !slices.Equal(names, []string{"new.jsonl"}) {
		t.Errorf("left: %v", names)
	}
	store, err := fleet.Read("f", strings.NewReader(read(t, m.fleet)+read(t, out)), inspect.Check)
	if err != nil || store.Devices() != 6 {
		t.Fatal(err)
	}
	// A second time they are there already, and as JSON Lines too.
	both := write(t, filepath.Join(dir, "both.jsonl"), read(t, m.fleet)+read(t, out))
	for _, args := range [][]string{{"--csv", "../testdata/fleets/import.csv", "--tenant", "demo"}, {"--jsonl", out}} {
		status, printed, errs = m.do(append([]string{"import", "--fleet", both}, args...)...)
		if status != 1 || printed != "" || strings.Count(errs, "the same device as "+both+":") != 3 {
			t.Errorf("status %d: %s%s", status, printed, errs)
		}
	}
	// JSON Lines come out as they go in, from standard input to standard output.
	want := read(t, out)
	m.stdin = strings.NewReader(want)
	if status, printed, errs := m.do("import", "--jsonl", "-", "--fleet", m.fleet); status != 0 || printed != want {
		t.Errorf("status %d: %s%s", status, printed, errs)
	}
	m.stdin = strings.NewReader(read(t, m.fleet))
	if status, printed, errs := m.do("import", "--jsonl", out, "--fleet", "-"); status != 0 || printed != want {
		t.Errorf("status %d: %s%s", status, printed, errs)
	}
}

func TestImportBad(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	csv := write(t, filepath.Join(dir, "in.csv"), badCSV)
	out, bad := filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "bad.csv")
	args := []string{"import", "--csv", csv, "--tenant", "demo", "--fleet", m.fleet, "--out", out}

	status, printed, errs := m.do(args...)
	want := csv + ": row 3, column password: has a blank at its edge\n" + csv + ": row 4, column mac: is not the MAC of a device: twelve hexadecimal digits\n"
	if status != 1 || printed != "" || errs != want+"nothing is written\n" {
		t.Errorf("status %d: %s\n%s", status, printed, errs)
	}
	if names := files(t, dir); !slices.Equal(names, []string{"in.csv"}) {
		t.Errorf("written: %v", names)
	}

	status, printed, errs = m.do(append(args, "--skip-bad", "--bad", bad)...)
	if status != 1 || printed != "" || errs != "1 devices are good, 2 rows bad\n"+want {
		t.Errorf("status %d: %s\n%s", status, printed, errs)
	}
	lines := strings.SplitAfter(badCSV, "\n")
	if got := read(t, bad); got != lines[0]+lines[2]+lines[3] {
		t.Errorf("bad rows %q", got)
	}
	if got := read(t, out); !regexp.MustCompile(`^\{"device":"001565aabb11".*\}\n$`).MatchString(got) {
		t.Errorf("good rows %q", got)
	}
	if info, _ := os.Stat(bad); info.Mode().Perm() != 0o600 {
		t.Errorf("the bad rows are readable: %v", info.Mode())
	}
	if names := files(t, dir); len(names) != 3 {
		t.Errorf("left: %v", names)
	}

	// To standard output, the good ones alone.
	status, printed, errs = m.do("import", "--csv", csv, "--tenant", "demo", "--fleet", m.fleet, "--skip-bad", "--bad", bad, "--force")
	if status != 1 || strings.Count(printed, "\n") != 1 || strings.Contains(printed+errs, "SECRET") {
		t.Errorf("status %d: %s\n%s", status, printed, errs)
	}
	// A header that is wrong leaves nothing to skip.
	write(t, csv, "SECRET\nx\n")
	status, printed, errs = m.do("import", "--csv", csv, "--tenant", "demo", "--fleet", m.fleet, "--skip-bad", "--bad", bad, "--force")
	if status != 1 || printed != "" || strings.Contains(errs, "SECRET") || !strings.HasSuffix(errs, "nothing is written\n") {
		t.Errorf("status %d: %s\n%s", status, printed, errs)
	}
}

func TestImportNeverOverwrites(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	csv := write(t, filepath.Join(dir, "in.csv"), goodCSV)
	own := write(t, filepath.Join(dir, "fleet.jsonl"), read(t, m.fleet))
	old := write(t, filepath.Join(dir, "old.jsonl"), "old\n")
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "absent"), nowhere); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--out", old}, "exists; --force replaces it"},
		{[]string{"--out", nowhere}, "exists; --force replaces it"},
		{[]string{"--out", filepath.Join(dir, "x"), "--skip-bad", "--bad", old}, "--bad: " + old + " exists"},
		{[]string{"--force", "--out", own}, "is what is read"},
		{[]string{"--force", "--out", csv}, "is what is read"},
		{[]string{"--force", "--out", filepath.Join(dir, ".", "fleet.jsonl")}, "is what is read"},
		{[]string{"--force", "--out", dir}, "is not a regular file"},
		{[]string{"--out", filepath.Join(dir, "x"), "--skip-bad", "--bad", dir + "/./x"}, "--bad and --out are the same file"},
	} {
		status, out, errs := m.do(append([]string{"import", "--csv", csv, "--tenant", "demo", "--fleet", own}, c.args...)...)
		if status != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s%s", c.args, status, out, errs)
		}
	}
	if after := files(t, dir); !slices.Equal(before, after) || read(t, old) != "old\n" || read(t, csv) != goodCSV || read(t, own) != read(t, m.fleet) {
		t.Errorf("something was written: %v", after)
	}
	status, _, errs := m.do("import", "--csv", csv, "--tenant", "demo", "--fleet", own, "--out", old, "--force")
	if info, _ := os.Stat(old); status != 0 || strings.Count(read(t, old), "\n") != 2 || info.Mode().Perm() != 0o600 {
		t.Errorf("status %d, mode %v: %s", status, info.Mode(), errs)
	}
}

func TestImportCannotWrite(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	csv := write(t, filepath.Join(dir, "in.csv"), badCSV)
	absent := filepath.Join(dir, "absent", "out.jsonl")
	status, out, errs := m.do("import", "--csv", csv, "--tenant", "demo", "--fleet", m.fleet, "--skip-bad", "--bad", filepath.Join(dir, "bad.csv"), "--out", absent)
	if names := files(t, dir); status != 1 || out != "" || !slices.Equal(names, []string{"in.csv"}) {
		t.Errorf("status %d, %v: %s", status, names, errs)
	}
	m.stdout = broken{}
	status, _, errs = m.do("import", "--csv", write(t, csv, goodCSV), "--tenant", "demo", "--fleet", m.fleet)
	if status != 1 || errs != "unplugged\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("unplugged") }

// A file that cannot be completed is not there at all.
func TestNewFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	half := func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, errors.New("full"))
	}
	if _, err := stage(file, false, half); err == nil || len(files(t, dir)) != 0 {
		t.Errorf("%v: %v", err, files(t, dir))
	}
	first, err := stage(file, false, hello)
	if err != nil {
		t.Fatal(err)
	}
	second, err := stage(filepath.Join(dir, "g"), false, hello)
	if err != nil {
		t.Fatal(err)
	}
	// Somebody else was faster: nothing is replaced, and what came first goes.
	write(t, filepath.Join(dir, "g"), "theirs")
	if err := commit([]*newFile{first, second}); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if names := files(t, dir); !slices.Equal(names, []string{"g"}) || read(t, filepath.Join(dir, "g")) != "theirs" {
		t.Errorf("left: %v", names)
	}
	third, err := stage(filepath.Join(dir, "g"), true, hello)
	if err == nil {
		err = commit([]*newFile{third})
	}
	if err != nil || read(t, filepath.Join(dir, "g")) != "hello" || len(files(t, dir)) != 1 {
		t.Errorf("%v: %v", err, files(t, dir))
	}
}

func TestImportMisuse(t *testing.T) {
	m := newMachine(t)
	csv := write(t, filepath.Join(t.TempDir(), "in.csv"), goodCSV)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 2, "either --csv or --jsonl is required"},
		{[]string{"--csv", csv, "--jsonl", csv, "--fleet", m.fleet}, 2, "either --csv or --jsonl"},
		{[]string{"--csv", csv}, 2, "--fleet: "},
		{[]string{"--csv", "-", "--fleet", "-"}, 2, "cannot both be standard input"},
		{[]string{"--jsonl", csv, "--fleet", m.fleet, "--tenant", "demo"}, 2, "no meaning with --jsonl"},
		{[]string{"--jsonl", csv, "--fleet", m.fleet, "--comma", ";"}, 2, "no meaning with --jsonl"},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--comma", "|"}, 2, `--comma: "|" is none of`},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--skip-bad"}, 2, "--skip-bad and --bad FILE go together"},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--bad", "x"}, 2, "--skip-bad and --bad FILE go together"},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--skip-bad", "--bad", "-"}, 2, "--bad: a file is required"},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--tenant", "dmeo"}, 2, `--tenant: the fleet has no tenant "dmeo"`},
		{[]string{"--csv", csv, "--fleet", m.fleet}, 1, "row 1, column tenant: is missing, and --tenant is not given"},
		{[]string{"--csv", csv, "--fleet", m.fleet, "--tenant", "demo", "--comma", ";"}, 1, "row 1, column 1 (A)"},
		{[]string{"--csv", "nothing", "--fleet", m.fleet}, 1, "open nothing: no such file"},
		{[]string{"--csv", csv, "--fleet", "nothing"}, 1, "open nothing: no such file"},
		{[]string{"--csv", csv, "--fleet", csv}, 1, ":1: not JSON"},
	} {
		status, out, errs := m.do(append([]string{"import"}, c.args...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s%s; want %d, %s", c.args, status, out, errs, c.status, c.want)
		}
	}
	for comma, text := range map[string]string{"tab": "\t", ";": ";", ",": ","} {
		m.stdin = strings.NewReader(strings.ReplaceAll(goodCSV, ",", text))
		if status, out, errs := m.do("import", "--csv", "-", "--fleet", m.fleet, "--tenant", "demo", "--comma", comma); status != 0 || strings.Count(out, "\n") != 2 {
			t.Errorf("%q: status %d, %s", comma, status, errs)
		}
	}
}

func BenchmarkImport(b *testing.B) {
	var csv strings.Builder
	csv.WriteString("mac,model,user,password,keys\n")
	for n := range 10000 {
		fmt.Fprintf(&csv, "001565%06x,T46U,%d,generate,line;blf:1002=Bob\n", n, n)
	}
	for b.Loop() {
		w := world{stdin: strings.NewReader(csv.String()), stdout: io.Discard, stderr: io.Discard}
		if w.run(b.Context(), []string{"import", "--csv", "-", "--tenant", "demo", "--fleet", "../testdata/fleets/demo.jsonl"}) != 0 {
			b.Fatal("failed")
		}
	}
}

// What spreadsheets really export: a byte order mark, a line for themselves, semicolons,
// CR LF, addresses in every spelling, doubled quotes, empty rows, and a line end inside
// of a cell, which no phone can show.
func TestImportMessy(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	const csv = "../testdata/fleets/messy.csv"
	out, bad := filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "bad.csv")
	status, printed, errs := m.do("import", "--csv", csv, "--tenant", "demo", "--fleet", m.fleet, "--out", out, "--skip-bad", "--bad", bad)
	if want := "3 devices are good, 1 rows bad\n" + csv + ": row 4, column display_name: has a control character\n"; status != 1 || printed != "" || errs != want {
		t.Errorf("status %d: %s%s, want %s", status, printed, errs, want)
	}
	good := read(t, out)
	for _, want := range []string{
		`"device":"001565aabb21"`, `"device":"0004f2aabb23"`, `"device":"00041300bb24"`, `"display_name":"Zoë \"Front\" Müller-Łuczak"`,
		`"display_name":"O'Neil & Sons <Sales>"`, `"display_name":"日本 支店"`, `{"type":"blf","value":"1022","label":"Bob"}`,
	} {
		if !strings.Contains(good, want) {
			t.Errorf("no %s in\n%s", want, good)
		}
	}
	if strings.Contains(good, "enerate") || strings.Contains(good, "GENERATE") {
		t.Errorf("a password is the word that asks for one:\n%s", good)
	}
	// The bad row, mended as it stands there, is imported.
	mended := write(t, filepath.Join(dir, "mended.csv"), strings.Replace(read(t, bad), "\"Bob\r\nExample\"", "Bob Example", 1))
	if status, printed, errs := m.do("import", "--csv", mended, "--tenant", "demo", "--fleet", m.fleet); status != 0 || !strings.Contains(printed, `"device":"001565aabb22"`) {
		t.Errorf("status %d: %s%s", status, printed, errs)
	}
}
