package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

const (
	demoFleet    = "../testdata/fleets/demo.jsonl"
	changedFleet = "../testdata/fleets/changed.jsonl"
)

// secretsOfDemo are those of the demo fleet and of the changed one.
var secretsOfDemo = []string{
	"gQ2vX8sLr0TzK4mWbN6yHc3d", "nR7cT2kWm9Pz5LxQ8vYb4HsJ", "Vt5ZpR1nJ7xYwE9kQ3uMaS8f", "hB4cD6eF8gH1jK3mN5pQ7rS9",
	"Zx9Cv7Bn5Mq3We1Rt2Yu4Io6", "demo7Admin7Password", "Kd4Fg7Hj1Lq3We6Rt9Yu2Io5",
}

// TestDiffGolden compares what is printed for the demo fleet with testdata/diff.txt.
func TestDiffGolden(t *testing.T) {
	m := newMachine(t)
	args := []string{"diff", demoFleet, changedFleet, "--engine", "native", "--capacity", "250", "--background", "50"}
	status, out, errs := m.do(args...)
	if want := "4 of 4 devices change: 0 live, 0 unverified, 2 reboot, 2 in another way\n"; status != 1 || errs != want {
		t.Errorf("status %d: %s", status, errs)
	}
	const golden = "../testdata/diff.txt"
	if want := read(t, golden); out != want {
		t.Errorf("got\n%s\nwant\n%s\nif that is meant: stagger %s > %s", out, want, strings.Join(args, " "), golden)
	}
	if status, out, errs := m.do(append(args, "--old-wasm", "../build/out/edge.wasm")...); status != 1 || out != read(t, golden) {
		t.Errorf("with the module of the edge on the old side: status %d: %s%s", status, errs, out)
	}
}

func TestDiffOutputs(t *testing.T) {
	m := newMachine(t)
	page := filepath.Join(t.TempDir(), "page.html")
	status, out, errs := m.do("diff", demoFleet, changedFleet, "--engine", "native", "--json", "--html", page, "--capacity", "250", "--fail-on", "reboot")
	if status != 1 {
		t.Fatalf("status %d: %s", status, errs)
	}
	var got struct {
		Total      map[string]int
		Parameters []struct{ Vendor, Name, Effect string }
		Reboots    struct{ Devices, Registers, Subscribes int }
		Step       *struct{ Share, Headroom float64 }
		First      []struct {
			MAC     string
			Changes []struct{ Path, Old, New string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Total["reboot"] != 2 || got.Total["added"] != 1 || got.Total["cut-off"] != 1 || got.Total["devices"] != 4 || got.Reboots.Registers != 1 || got.Reboots.Subscribes != 2 ||
		got.Step == nil || got.Step.Share != 1 || got.Step.Headroom != 250 || len(got.First) != 3 || got.First[0].MAC != "001565aabb01" || got.Parameters[0].Effect != "reboot" {
		t.Errorf("%+v", got)
	}
	html := read(t, page)
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	count := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
	if count["svg"] != 1 || count["table"] != 7 || count["script"] != 0 || strings.Contains(html, "NaN") || !strings.Contains(html, "sip.reg_surge_prevention") {
		t.Errorf("%v", count)
	}
	_, text, _ := m.do("diff", demoFleet, changedFleet, "--engine", "native", "--show", "9")
	for _, secret := range secretsOfDemo {
		for what, shown := range map[string]string{"json": out, "html": html, "text": text} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s has the secret %q", what, secret)
			}
		}
	}
	if strings.Count(text, "(hidden) -> (hidden)") < 2 || strings.Contains(text, `"admin:`) {
		t.Errorf("%s", text)
	}
}

func TestDiffStatus(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	demo := read(t, demoFleet)
	live := write(t, filepath.Join(dir, "live.jsonl"), strings.Replace(demo, "Bob Example", "Robert Example", 1))
	refused := write(t, filepath.Join(dir, "refused.jsonl"), strings.Replace(demo, `"user":"1002"`, `"user":"10 02"`, 1))
	bad := write(t, filepath.Join(dir, "bad.jsonl"), demo+"SECRET\n")
	module := write(t, filepath.Join(dir, "copy.wasm"), read(t, "../build/out/edge.wasm"))
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{demoFleet, demoFleet, "--engine", "native"}, 0, "0 of 3 devices change"},
		{[]string{demoFleet, demoFleet, "--old-wasm", "../build/out/edge.wasm", "--new-wasm", module}, 0, "0 of 3 devices change"},
		{[]string{demoFleet, live, "--engine", "native"}, 1, "1 of 3 devices change: 1 live"},
		{[]string{demoFleet, live, "--engine", "native", "--fail-on", "reboot"}, 0, "1 live"},
		{[]string{demoFleet, live, "--engine", "native", "--fail-on", "unverified"}, 0, "1 live"},
		{[]string{demoFleet, changedFleet, "--engine", "native", "--fail-on", "reboot"}, 1, "2 reboot"},
		{[]string{demoFleet, refused, "--engine", "native", "--fail-on", "reboot"}, 0, "1 in another way"},
		{[]string{demoFleet, refused, "--engine", "native", "--fail-on", "unverified"}, 1, "1 in another way"},
		{[]string{demoFleet, bad, "--engine", "native"}, 1, bad + ":5: not JSON"},
		{[]string{demoFleet, "nothing", "--engine", "native"}, 1, "open nothing: no such file"},
		{[]string{demoFleet, live, "--new-wasm", "nothing"}, 1, "make it with make wasm"},
		{[]string{demoFleet, live, "--old-wasm", "nothing", "--new-wasm", module}, 1, "open nothing: no such file"},
		{[]string{demoFleet}, 2, "accepts 2 arg(s)"},
		{[]string{"-", "-"}, 2, "both be standard input"},
		{[]string{demoFleet, live, "--fail-on", "never"}, 2, "--fail-on: change, reboot, unverified"},
		{[]string{demoFleet, live, "--show", "-1"}, 2, "--show: "},
		{[]string{demoFleet, live, "--safety", "0.5"}, 2, "--safety: from 1"},
		{[]string{demoFleet, live, "--capacity", "5", "--background", "5"}, 2, "a capacity above the background"},
		{[]string{demoFleet, live, "--background", "5"}, 2, "--background needs --capacity"},
	} {
		status, out, errs := m.do(append([]string{"diff"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "SECRET") {
			t.Errorf("%q: status %d: %s\nwant %d: %s", c.args, status, errs, c.status, c.want)
		}
	}
	m.stdin = strings.NewReader(demo)
	if status, _, errs := m.do("diff", "-", live, "--engine", "native"); status != 1 || !strings.Contains(errs, "1 live") {
		t.Errorf("status %d: %s", status, errs)
	}
	m.stdout = broken{}
	if status, _, errs := m.do("diff", demoFleet, demoFleet, "--engine", "native"); status != 1 || errs != "unplugged\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}
