package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The way of a rollout from its start to its end.
func TestRollout(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	demo := read(t, m.fleet)
	// Blank lines, line ends and another tenant have to stay as they are.
	others := "\n" + `  {"tenant":"other","url":"https://o.example"}  ` + "\r\n"
	for n := range 20 {
		others += fmt.Sprintf(`{"device":"0004f2%06x","tenant":"demo","model":"T46U","lines":[{"user":"1","password":"SECRETSECRET"}]}`+"\n", n)
	}
	first, rest, _ := strings.Cut(demo, "\n")
	file := write(t, filepath.Join(dir, "fleet.jsonl"), others+first+"\n"+rest)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	settings := write(t, filepath.Join(dir, "settings.json"), "{\n  \"timers\": {\"register\": {\"interval\": 1800}},\n  \"template\": {\"yealink\": \"overwrite\"}\n}\n")
	step := func(status int, out, errs string, args ...string) string {
		t.Helper()
		got, gotOut, gotErrs := m.do(append([]string{"rollout", "--fleet", file, "--tenant", "demo"}, args...)...)
		if got != status || !strings.Contains(gotOut, out) || !strings.Contains(gotErrs, errs) || errs == "" && gotErrs != "" {
			t.Fatalf("%v: status %d\n%s%s\nwant %d\n%s%s", args, got, gotOut, gotErrs, status, out, errs)
		}
		return gotOut
	}
	bytes := func() map[string]string {
		files := map[string]string{}
		_, list, _ := m.do("explain", "--fleet", file)
		for _, line := range strings.Split(list, "\n")[1:] {
			if mac, _, ok := strings.Cut(line, " "); ok {
				_, config, errs := m.do("render", "--engine", "native", "--fleet", file, mac)
				_, boot, _ := m.do("render", "--engine", "native", "--fleet", file, mac, mac+".boot")
				if config == "" || boot == "" {
					t.Fatal(errs)
				}
				files[mac] = config + boot
			}
		}
		return files
	}
	before := bytes()

	step(1, "", "the tenant has no rollout: --id and --settings start one", "--share", "1%")
	const table = "\n\ndevices\n  vendor   devices  unchanged  live  unverified  reboot\n  yealink  23       23         0     0           0\n  all      23       23         0     0           0\n"
	step(0, "tenant demo: no rollout\n  in cohort  0 before, 0 after: 0 enter, 0 leave"+table, "")
	step(0, "tenant demo: no rollout -> rollout w49 at 0%\n  in cohort  0 before, 0 after: 0 enter, 0 leave"+table+file+" is written\n", "",
		"--id", "w49", "--settings", settings)
	text := read(t, file)
	if !strings.HasPrefix(text, others) || !strings.HasSuffix(text, "\n"+rest) || strings.Count(text, `"rollout":{"id":"w49","share":0,"settings":{"timers":{"register":{"interval":1800}},"template":{"yealink":"overwrite"}}}}`+"\n") != 1 {
		t.Fatalf("%s", text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}

	started := read(t, file)
	step(0, "rollout w49 at 0% -> rollout w49 at 50%", "", "--share", "50%", "--dry-run")
	if read(t, file) != started {
		t.Error("--dry-run has written")
	}
	out := step(0, `"share":5000,"share_before":0,"devices":23,`, "", "--share", "50%", "--json")
	var report struct {
		In, After int
		Diff      struct {
			Old, New string
			Vendors  map[string]map[string]int
		}
		Written bool
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || !report.Written || report.In == 0 || report.In == 23 || report.In != report.After ||
		report.Diff.Vendors["yealink"]["unchanged"] != 23-report.In || report.Diff.Old != "rollout w49 at 0%" || report.Diff.New != "rollout w49 at 50%" {
		t.Fatalf("%v %s", err, out)
	}
	different := 0
	half := bytes()
	for mac, want := range before {
		if half[mac] != want {
			different++
		}
	}
	if different != report.In {
		t.Errorf("%d files are different, and %d devices entered", different, report.In)
	}

	for _, back := range []struct{ why, flag, value string }{{"a lower share", "--share", "49.99%"}, {"another id", "--id", "w50"}, {"other settings", "--settings", write(t, filepath.Join(dir, "other.json"), "{}")}} {
		step(1, "", back.why+" moves devices back: nothing is written without --yes\n", back.flag, back.value)
	}
	step(1, "-> no rollout", "--abort moves devices back: nothing is written without --yes\n", "--abort")
	step(1, "", "the share is 50%: --finish is for 100%\n", "--finish")
	step(1, "", "template.yealink: is not a version of this vendor's templates\nthe core would refuse ", "--yes", "--settings", write(t, filepath.Join(dir, "bad.json"), `{"template":{"yealink":"SECRET"}}`))
	step(1, "", "rollout.settings.timers.boot: is not a whole number from 0 to 3600\n", "--settings", write(t, filepath.Join(dir, "bad.json"), `{"timers":{"boot":-1}}`))
	if after := bytes(); fmt.Sprint(after) != fmt.Sprint(half) {
		t.Error("something that was refused has changed files")
	}

	step(0, "rollout w49 at 50% -> rollout w49 at 100%", "", "--share", "100%")
	full := bytes()
	for mac, was := range before {
		if full[mac] == was {
			t.Errorf("%s has its old files", mac)
		}
	}
	_, out, _ = m.do("explain", "--fleet", file, "001565aabb01")
	if !strings.Contains(out, "001565aabb01 rollout w49: in the cohort\n  key       001565aabb01|rollout|w49\n") || !strings.Contains(out, "  share     10000, which is 100%: ") {
		t.Errorf("%s", out)
	}
	_, out, _ = m.do("explain", "--fleet", file, "--json", "001565aabb01")
	if !strings.Contains(out, `"cohort":"w49 in"`) {
		t.Errorf("%s", out)
	}
	step(0, "rollout w49 at 100% -> no rollout\n  in cohort  23 before, 0 after: 0 enter, 0 leave"+table, "", "--finish")
	if text := read(t, file); strings.Contains(text, "rollout") || !strings.HasPrefix(text, others) || !strings.HasSuffix(text, "\n"+rest) {
		t.Fatalf("%s", text)
	}
	if after := bytes(); fmt.Sprint(after) != fmt.Sprint(full) {
		t.Error("--finish has changed files")
	}

	// Back to the start, the other way round.
	write(t, file, started)
	step(0, "", "", "--share", "50%")
	step(0, "-> no rollout", "", "--abort", "--yes")
	if after := bytes(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("--abort does not give back the old files")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A step prints what it does to phones before it is made: testdata/rollout.txt. It needs
// no master key for that, prints no secret, and leaves the other tenants out.
func TestRolloutGolden(t *testing.T) {
	m := newMachine(t)
	delete(m.env, "STAGGER_MASTER_KEY")
	dir := t.TempDir()
	demo := read(t, m.fleet)
	first, _, _ := strings.Cut(demo, "\n")
	fleets := demo + strings.ReplaceAll(first, `"demo"`, `"other"`) + "\n" + `{"device":"001565aabbff","tenant":"other","model":"T31G","lines":[{"user":"1","password":"SECRETSECRET8"}]}` + "\n"
	file := write(t, filepath.Join(dir, "fleet.jsonl"), fleets)
	settings := write(t, filepath.Join(dir, "settings.json"), `{"admin_password":"SECRETSECRET9","line":{"server":"sbc.example"},"timers":{"boot":30},"template":{"yealink":"overwrite"}}`)
	args := []string{"rollout", "--fleet", file, "--tenant", "demo", "--id", "x", "--settings", settings, "--share", "80%", "--dry-run", "--show", "1"}
	page := filepath.Join(dir, "page.html")
	status, out, errs := m.do(append(args, "--capacity", "0.00005", "--html", page)...)
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	const golden = "../testdata/rollout.txt"
	if want := read(t, golden); out != want {
		t.Errorf("got\n%s\nwant\n%s\nof %s", out, want, golden)
	}
	status, object, _ := m.do(append(args, "--capacity", "0.00005", "--json")...)
	var got struct {
		ShareAllowed int64 `json:"share_allowed"`
		Diff         struct {
			Total map[string]int
			Step  struct{ Share float64 }
		}
	}
	if err := json.Unmarshal([]byte(object), &got); err != nil || status != 0 || got.Diff.Total["devices"] != 3 || got.ShareAllowed != int64(8000*got.Diff.Step.Share) || got.ShareAllowed == 0 || got.Diff.Step.Share >= 1 {
		t.Errorf("%+v, %v\n%s", got, err, object)
	}
	for what, shown := range map[string]string{"text": out, "json": object, "html": read(t, page)} {
		for _, secret := range append(secretsOfDemo, "SECRETSECRET8", "SECRETSECRET9") {
			if strings.Contains(shown, secret) {
				t.Errorf("%s has the secret %q", what, secret)
			}
		}
	}
	if read(t, file) != fleets {
		t.Error("--dry-run has written")
	}
	// A database is compared as the file is.
	db := m.importDatabase(t, file)
	args[2] = db
	if status, got, errs := m.do(append(args, "--capacity", "0.00005")...); status != 0 || got != out || errs != "" {
		t.Errorf("status %d: %s%s", status, got, errs)
	}
}

// What stops a step is what the core would refuse, and not what is meant.
func TestRolloutRefuses(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	// Of the devices one has a model of its own, and one is refused already.
	fleets := strings.Replace(read(t, m.fleet), `"model":"T54W"`, `"model":"SECRET"`, 1)
	file := write(t, filepath.Join(dir, "fleet.jsonl"), fleets)
	for _, c := range []struct {
		settings, errs string
		status         int
	}{
		{`{"template":{"yealink":"SECRET"}}`, "device 001565aabb01 and 1 more: invalid: template.yealink: is not a version of this vendor's templates\nthe core would refuse 2 devices: nothing is written\n", 1},
		{`{"extra":{"yealink":{"linekey.1.label":"SECRET"}}}`, "device 001565aabb01: invalid: extra.yealink.linekey.1.label: is not a setting that a profile may set\nthe core would refuse 1 devices: nothing is written\n", 1},
		{`{"line":{"port":5099}}`, "", 0},
		{`{"state":"disabled"}`, "", 0},
		{`{}`, "", 0},
	} {
		settings := write(t, filepath.Join(dir, "settings.json"), c.settings)
		status, out, errs := m.do("rollout", "--fleet", file, "--tenant", "demo", "--id", "x", "--settings", settings, "--share", "100%", "--show", "0")
		if status != c.status || !strings.HasPrefix(errs, c.errs) || c.errs == "" && errs != "" || strings.Contains(errs, "SECRET") {
			t.Errorf("%s: status %d\n%s%s\nwant %d %s", c.settings, status, out, errs, c.status, c.errs)
		}
		if written := read(t, file) != fleets; written != (c.status == 0) {
			t.Errorf("%s: written: %v", c.settings, written)
		}
		write(t, file, fleets)
	}
}

// A link stays a link, another file is written where one is asked for, and from
// standard input there is nothing to write to.
func TestRolloutWhere(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	demo := read(t, m.fleet)
	file := write(t, filepath.Join(dir, "real.jsonl"), demo)
	link := filepath.Join(dir, "link.jsonl")
	if err := os.Symlink("real.jsonl", link); err != nil {
		t.Fatal(err)
	}
	start := []string{"--tenant", "demo", "--id", "w49", "--settings", write(t, filepath.Join(dir, "s.json"), "{}")}
	if status, _, errs := m.do(append([]string{"rollout", "--fleet", link}, start...)...); status != 0 {
		t.Fatal(errs)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || !strings.Contains(read(t, file), "w49") {
		t.Errorf("%v %v", info, err)
	}
	m.stdin = strings.NewReader(demo)
	out := filepath.Join(dir, "out.jsonl")
	if status, _, errs := m.do(append([]string{"rollout", "--fleet", "-", "--out", out}, start...)...); status != 0 || !strings.Contains(read(t, out), "w49") {
		t.Error(errs)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestRolloutMisuse(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		status int
		errs   string
	}{
		{nil, 2, "--fleet and --tenant are required"},
		{[]string{"--tenant", "demo"}, 2, "--fleet and --tenant are required"},
		{[]string{"--fleet", m.fleet, "--tenant", "SECRET"}, 2, `--tenant: the fleet has no tenant "SECRET"`},
		{[]string{"--fleet", "-", "--tenant", "demo", "--share", "1%"}, 2, "--fleet -: needs --out FILE or --dry-run"},
		{[]string{"--fleet", "-", "--tenant", "demo", "--id", "x", "--settings", "-", "--dry-run"}, 2, "cannot both be standard input"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--out", "-"}, 2, "--out: a file is required"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--out", m.fleet}, 2, "--out: " + m.fleet + " exists"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--finish", "--abort"}, 2, "--finish and --abort: one of them"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--finish", "--share", "1%"}, 2, "--finish and --abort: one of them"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--background", "5"}, 2, "--background needs --capacity"},
		{[]string{"--fleet", write(t, filepath.Join(dir, "twice.jsonl"), read(t, m.fleet)+read(t, m.fleet)), "--tenant", "demo"}, 1, "twice.jsonl:5: the same tenant as on line 1"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--id", "a b", "--settings", write(t, filepath.Join(dir, "s.json"), "{}")}, 1, "rollout.id: is not a name"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--id", "x", "--settings", write(t, filepath.Join(dir, "l.json"), `["SECRET"]`)}, 1, "l.json: is not a JSON object"},
		{[]string{"--fleet", m.fleet, "--tenant", "demo", "--id", "x", "--settings", write(t, filepath.Join(dir, "t.json"), `{"SECRET":`)}, 1, "t.json: is not a JSON object"},
		{[]string{"--fleet", filepath.Join(dir, "nothing"), "--tenant", "demo"}, 1, "no such file"},
		{[]string{"--fleet", write(t, filepath.Join(dir, "f.jsonl"), "{\"SECRET\n"), "--tenant", "demo"}, 1, "f.jsonl:1: not JSON"},
	} {
		status, out, errs := m.do(append([]string{"rollout"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.errs) || out != "" {
			t.Errorf("%v: status %d\n%s%s\nwant %d %s", c.args, status, out, errs, c.status, c.errs)
		}
	}
	for text, want := range map[string]int64{
		"0%": 0, "1%": 100, "1.5%": 150, "0.01%": 1, "25.25%": 2525, "100%": 10000, "100.00%": 10000, "007%": 700,
		"": -1, "%": -1, "1": -1, "100.01%": -1, "1.%": -1, ".5%": -1, "1.555%": -1, "-1%": -1, "+1%": -1, "1e2%": -1, "1,5%": -1, "1000%": -1, " 1%": -1, "1%%": -1,
	} {
		if got, err := parseShare(text); (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
