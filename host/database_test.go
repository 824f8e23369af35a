package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"stagger/host/fleet"
)

// With asProgram in its environment the test binary is the program: for tests that
// end it from outside.
const asProgram = "STAGGER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		w := &world{os.Getenv, os.Stdin, os.Stdout, os.Stderr, os.Executable}
		os.Exit(w.run(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// importDatabase makes a database of a fleet file.
func (m *machine) importDatabase(t *testing.T, file string) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "fleet.db")
	if status, out, errs := m.do("import", "--fleet", file, "--db", db); status != 0 || out != "" || !strings.HasPrefix(errs, db+": ") {
		t.Fatalf("status %d %s%s", status, out, errs)
	}
	return db
}

// Every command says of a database what it says of the file that it is made of.
func TestDatabaseInPlaceOfAFleetFile(t *testing.T) {
	m := newMachine(t)
	db := m.importDatabase(t, m.fleet)
	if info, err := os.Stat(db); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, args := range [][]string{
		{"render", "--engine", "native", "001565aabb01"},
		{"render", "--engine", "native", "001565aabb01", "001565aabb01.boot"},
		{"url"}, {"url", "--json", "001565aabb02"}, {"explain"}, {"explain", "--json", "001565aabb02"}, {"explain", "001565aabb09"},
		{"waves", "--rate", "1"}, {"plan", "--capacity", "250"}, {"rollout", "--tenant", "demo"},
		{"import", "--csv", "../testdata/fleets/import.csv", "--tenant", "demo"}, {"validate", "--registrar-max", "3000"},
		{"rotate", "status", "../testdata/fleets/import.csv"},
	} {
		status, out, errs := m.do(append(args, "--fleet", m.fleet)...)
		got, gotOut, gotErrs := m.do(append(args, "--fleet", db)...)
		// What differs is where a document is.
		switch args[0] {
		case "validate":
			out = strings.ReplaceAll(out, m.fleet+":1:", db+":4:")
		case "import":
			errs = strings.ReplaceAll(errs, m.fleet+":2", db+":1")
			out, gotOut = passwords(out), passwords(gotOut)
		case "plan":
			out, errs = strings.ReplaceAll(out, m.fleet, db), strings.ReplaceAll(errs, m.fleet, db)
		}
		if got != status || gotOut != out || gotErrs != errs {
			t.Errorf("%v: status %d\n%s%s\nwant %d\n%s%s", args, got, gotOut, gotErrs, status, out, errs)
		}
	}
}

// A comparison of databases is that of the files that they are made of, on either side.
func TestDiffOfDatabases(t *testing.T) {
	m := newMachine(t)
	old, changed := m.importDatabase(t, demoFleet), m.importDatabase(t, changedFleet)
	want := read(t, "../testdata/diff.txt")
	for _, files := range [][2]string{{old, changed}, {demoFleet, changed}, {old, changedFleet}} {
		status, out, errs := m.do("diff", files[0], files[1], "--engine", "native", "--capacity", "250", "--background", "50")
		if status != 1 || out != want {
			t.Errorf("%s: status %d\n%s%s", files, status, out, errs)
		}
	}
	if status, _, errs := m.do("diff", old, old, "--engine", "native"); status != 0 || errs != "0 of 3 devices change: 0 live, 0 unverified, 0 reboot, 0 in another way\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}

// passwords takes away what is made anew each time.
func passwords(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, `"password":"`) {
		if i > 0 {
			_, part, _ = strings.Cut(part, `"`)
		}
		b.WriteString(part)
	}
	return b.String()
}

func TestImportDatabase(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	db, demo := filepath.Join(dir, "fleet.db"), read(t, m.fleet)
	more := write(t, filepath.Join(dir, "more.jsonl"), `{"device":"0004f2aabb01","tenant":"demo","vendor":"polycom","model":"VVX411","lines":[{"user":"1","password":"SECRETSECRET"}]}`+"\n")
	if status, _, errs := m.do("import", "--fleet", m.fleet, "--jsonl", more, "--db", db); status != 0 || !strings.Contains(errs, db+": 1 tenants, 4 devices\n") {
		t.Fatal(errs)
	}
	first := read(t, db)
	other := write(t, filepath.Join(dir, "other.jsonl"), strings.ReplaceAll(demo, `"demo"`, `"other"`)+strings.Split(demo, "\n")[1]+"\n")
	for _, c := range []struct {
		args   []string
		status int
		errs   string
	}{
		{[]string{"--fleet", m.fleet, "--db", db}, 2, "--db: " + db + " exists; --force replaces it\n"},
		{[]string{"--fleet", db, "--db", db}, 2, "--db: " + db + " exists; --force replaces it\n"},
		{[]string{"--fleet", m.fleet, "--db", more, "--jsonl", more, "--force"}, 2, "is what is read\n"},
		{[]string{"--fleet", m.fleet, "--db", db, "--out", more}, 2, "--db: a file is required, and no --out\n"},
		{[]string{"--fleet", m.fleet, "--db", "-"}, 2, "--db: a file is required"},
		{[]string{"--fleet", m.fleet}, 2, "either --csv or --jsonl is required\n"},
		// Of a MAC in two tenants nothing is written.
		{[]string{"--fleet", other, "--db", db, "--force"}, 1, other + ":5: error: device:demo:001565aabb01: the same device as on line 2, there of another tenant (duplicate)\nnothing is written\n"},
		{[]string{"--fleet", write(t, filepath.Join(dir, "bad.jsonl"), demo+"SECRET\n"), "--db", db, "--force"}, 1, "bad.jsonl:5: error: not JSON, or more than one value on the line (not-a-document)\nnothing is written\n"},
		{[]string{"--fleet", db, "--jsonl", more, "--db", db, "--force"}, 1, "the same device as " + db + ":1"},
	} {
		status, out, errs := m.do(append([]string{"import"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.errs) || out != "" {
			t.Errorf("%v: status %d\n%s%s\nwant %d %s", c.args, status, out, errs, c.status, c.errs)
		}
		if strings.Contains(errs, "SECRET") || read(t, db) != first {
			t.Errorf("%v: %s", c.args, errs)
		}
	}
	// A database can be what the next one is made of.
	again := write(t, filepath.Join(dir, "again.jsonl"), strings.Replace(read(t, more), "bb01", "bb02", 1))
	if status, _, errs := m.do("import", "--fleet", db, "--jsonl", again, "--db", db, "--force"); status != 0 || !strings.Contains(errs, "1 tenants, 5 devices\n") {
		t.Error(errs)
	}
	// And a rollout is made in it, as in a file.
	settings := write(t, filepath.Join(dir, "settings.json"), `{"line":{"port":5099}}`)
	if status, _, errs := m.do("rollout", "--fleet", db, "--tenant", "demo", "--id", "x", "--settings", settings, "--share", "100%"); status != 0 {
		t.Fatal(errs)
	}
	_, body, errs := m.do("render", "--engine", "native", "--fleet", db, "001565aabb01")
	if !strings.Contains(body, "sip_server.1.port = 5099\n") {
		t.Errorf("%s%s", body, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An import that is killed leaves the old database or the new one. What it was writing
// lies beside, under a name that nobody asks for, until the next one.
func TestKilledImport(t *testing.T) {
	const devices = 1500
	dir := t.TempDir()
	fleetFile := func(label string) string {
		var b strings.Builder
		b.WriteString(`{"tenant":"t","url":"https://p.example","vendor":"yealink","model":"T31G","line":{"server":"pbx.example"}}` + "\n")
		for n := range devices {
			fmt.Fprintf(&b, `{"device":"001565%06x","tenant":"t","lines":[{"user":"1","password":"SECRETSECRET","label":"%s"}]}`+"\n", n*7919%devices, label)
		}
		return write(t, filepath.Join(dir, label+".jsonl"), b.String())
	}
	db := filepath.Join(dir, "fleet.db")
	old, newer := fleetFile("old"), fleetFile("new")
	start := func(file string) *exec.Cmd {
		c := exec.Command(os.Args[0], "import", "--fleet", file, "--db", db, "--force")
		c.Env = append(os.Environ(), asProgram+"=1")
		return c
	}
	begun := time.Now()
	if out, err := start(old).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	whole := time.Since(begun)
	intact := func() string {
		store, err := fleet.Open(db, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if store.Devices() != devices || store.Tenants() != 1 || len(store.MACs()) != devices {
			t.Fatalf("%d devices, %d keys", store.Devices(), len(store.MACs()))
		}
		labels := map[string]int{}
		for _, mac := range store.MACs() {
			text, found, err := store.Get(t.Context(), fleet.DeviceKey("t", mac))
			if !found || err != nil {
				t.Fatal(mac, err)
			}
			labels[text[strings.LastIndex(text, `"label"`):]]++
		}
		if len(labels) != 1 {
			t.Fatalf("half of each: %v", labels)
		}
		for label := range labels {
			return label
		}
		return ""
	}
	was := intact()
	killed := 0
	for range 10 {
		c := start(newer)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		var err error
		select {
		case err = <-ended:
		case <-time.After(time.Duration(rand.Float64() * 1.1 * float64(whole))): // a moment of chance, and no wait for anything
			_ = c.Process.Kill() // it may have ended in this moment
			err = <-ended
		}
		is := intact()
		if err == nil {
			if is == was {
				t.Fatal("an import that ended well has left the old database")
			}
			old, newer, was = newer, old, is
			continue
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("it ended by itself: %v", err)
		}
		killed++
		if is != was { // it was killed after the last step
			old, newer, was = newer, old, is
		}
	}
	if killed == 0 {
		t.Error("no import was killed")
	}
	// What is left behind the next import takes away, but not what somebody is writing,
	// nor what is another's.
	writing := filepath.Join(dir, ".fleet.db.1")
	if err := errors.Join(os.WriteFile(writing, nil, 0o600), os.WriteFile(filepath.Join(dir, ".fleet.db.mine"), nil, 0o600), os.WriteFile(filepath.Join(dir, ".fleet.db.2"), []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	held, err := bbolt.Open(writing+".rough", 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".fleet.db.1 .fleet.db.1.rough .fleet.db.mine", ".fleet.db.mine"} {
		if out, err := start(old).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		intact()
		left, err := filepath.Glob(filepath.Join(dir, ".*"))
		for i := range left {
			left[i] = filepath.Base(left[i])
		}
		if got := strings.Join(left, " "); got != want || err != nil {
			t.Errorf("left behind: %s, want %s, %v", got, want, err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A database that is a pipe is read as what it is: no fleet file.
func TestDatabaseFromAPipe(t *testing.T) {
	m := newMachine(t)
	db := m.importDatabase(t, m.fleet)
	data, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	m.stdin = bytes.NewReader(data)
	if status, _, errs := m.do("url", "--fleet", "-"); status != 1 || !strings.HasPrefix(errs, "<stdin>:1: ") {
		t.Errorf("status %d %s", status, errs)
	}
	if err := os.Truncate(db, int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"url", "validate"} {
		if status, _, errs := m.do(command, "--fleet", db); status != 1 || errs != db+": the file is shorter than the database in it\n" {
			t.Errorf("%s: status %d %s", command, status, errs)
		}
	}
	if _, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
