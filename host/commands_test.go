package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"stagger/vendors"
)

// do runs a command and returns its status and what it printed.
func (m *machine) do(args ...string) (status int, out, errors string) {
	m.out.b.Reset()
	m.errors.b.Reset()
	status = m.run(context.Background(), args)
	return status, m.out.String(), m.errors.String()
}

// The numbers of explain are those in the file that render prints.
func TestExplainEqualsTheFile(t *testing.T) {
	m := newMachine(t)
	for _, mac := range []string{"001565aabb01", "001565aabb02", "001565aabb03"} {
		status, file, errs := m.do("render", "--engine", "native", "--fleet", m.fleet, mac)
		if status != 0 {
			t.Fatal(errs)
		}
		status, out, errs := m.do("explain", "--json", "--fleet", m.fleet, mac)
		if status != 0 {
			t.Fatal(errs)
		}
		for line := range strings.Lines(out) {
			var e struct {
				MAC, Timer, Key, Hash, Place string
				Slots, Offset, Value, Unit   uint64
				Interval, Window, Floor      uint64
				Limits                       []string
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			number := map[string]string{
				"checkin": `static\.auto_provision\.repeat\.minutes = (\d+)`, "subscribe": `account\.1\.blf\.subscribe_period = (\d+)`,
			}[e.Timer]
			if line, ok := strings.CutPrefix(e.Timer, "register."); ok {
				number = `account\.` + line + `\.sip_server\.1\.expires = (\d+)`
			}
			found := regexp.MustCompile(number).FindStringSubmatch(file)
			if found == nil {
				if mac == "001565aabb03" && e.Timer == "subscribe" {
					continue // a staged phone has no line to write it for
				}
				t.Fatalf("%s: no %s in the file", mac, e.Timer)
			}
			if got := e.Value / e.Unit; found[1] != strconv.FormatUint(got, 10) {
				t.Errorf("%s %s: explain says %d, the file %s", mac, e.Timer, got, found[1])
			}
			if e.Value+e.Offset != e.Interval || e.Key != mac+"|"+e.Timer || len(e.Hash) != 16 {
				t.Errorf("%s: %+v", mac, e)
			}
		}
	}
}

func TestExplainByHand(t *testing.T) {
	m := newMachine(t)
	status, out, errs := m.do("explain", "00:15:65:AA:BB:CC", "--timer", "register.1", "--interval", "3600", "--window", "600",
		"--floor", "60", "--unit", "1", "--place", "jump-1", "--json")
	want := `{"mac":"001565aabbcc","timer":"register.1","key":"001565aabbcc|register.1","hash":"cf19972a07da98da","slots":600,` +
		`"offset":214,"value":3386,"unit":1,"interval":3600,"window":600,"floor":60,"place":"jump-1","limits":[]}` + "\n"
	if status != 0 || out != want {
		t.Errorf("status %d %s\n%s\nwant\n%s", status, errs, out, want)
	}
	_, out, _ = m.do("explain", "001565aabbcc", "--timer", "checkin", "--interval", "60", "--window", "600", "--floor", "60", "--json")
	if !strings.Contains(out, `"limits":["floor","fixed"]`) || !strings.Contains(out, `"value":60`) {
		t.Errorf("an interval at its floor: %s", out)
	}
}

// A time of the day that goes past midnight.
func TestExplainTimeOfDay(t *testing.T) {
	m := newMachine(t)
	args := []string{"explain", "001565aabbcc", "--timer", "checkin", "--interval", "86400", "--window", "14400", "--unit", "60", "--at", "23:30"}
	status, out, errs := m.do(append(args, "--json")...)
	want := `{"mac":"001565aabbcc","timer":"checkin","key":"001565aabbcc|checkin","hash":"ae1639020d1bb569","slots":240,` +
		`"offset":1980,"value":180,"unit":60,"interval":86400,"window":14400,"floor":0,"place":"jump-1","limits":["unit"],"at":"23:30","clock":"00:03"}` + "\n"
	if status != 0 || out != want {
		t.Errorf("status %d %s\n%s\nwant\n%s", status, errs, out, want)
	}
	_, out, _ = m.do(args...)
	for _, want := range []string{"001565aabbcc checkin: at 00:03\n", "  at        23:30, the earliest\n", "  value     00:03, 180 s after midnight = (84600 + 1980) mod 86400\n"} {
		if !strings.Contains(out, want) || strings.Contains(out, "floor") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// render, url and the file agree on the URL, whichever engine renders.
func TestURLIsTheOneInTheFile(t *testing.T) {
	m := newMachine(t)
	_, urls, _ := m.do("url", "--fleet", m.fleet)
	if strings.Count(urls, "\n") != 3 {
		t.Fatalf("urls of 3 devices: %q", urls)
	}
	for line := range strings.Lines(urls) {
		mac, url, _ := strings.Cut(strings.TrimSpace(line), "\t")
		_, file, _ := m.do("render", "--engine", "native", "--fleet", m.fleet, mac)
		if !strings.Contains(file, "server.url = "+url+"\n") {
			t.Errorf("%s: %s is not in the file", mac, url)
		}
		_, wasm, errs := m.do("render", "--wasm", "../build/out/edge.wasm", "--fleet", m.fleet, mac)
		if wasm != file {
			t.Errorf("%s: wazero renders another file (%s)", mac, errs)
		}
	}
	_, boot, _ := m.do("render", "--engine", "native", "--fleet", m.fleet, "001565aabb01", "001565aabb01.boot")
	if want := "#!version:1.0.0.1\ninclude:config \"001565aabb01.cfg\"\n"; boot != want {
		t.Errorf("boot file %q", boot)
	}
}

func TestFindings(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"render", "--engine", "native", "--fleet", m.fleet, "0015650000ff"}, 1, "the fleet has no device 0015650000ff"},
		{[]string{"render", "--engine", "native", "--fleet", m.fleet, "001565aabb01", "other.xml"}, 1, "other.xml: the phone gets 404 (malformed)"},
		{[]string{"render", "--engine", "native", "--fleet", m.fleet, "001565aabb01", "y000000000108.cfg"}, 1, "the phone gets 404 (not-served)"},
		{[]string{"render", "--engine", "native", "--fleet", m.fleet, "nonsense"}, 2, `"nonsense" is not the MAC of a device`},
		{[]string{"render", "001565aabb01"}, 2, "--fleet: the fleet file is required"},
		{[]string{"url", "--fleet", m.fleet, "01:15:65:aa:bb:01"}, 2, "is not the MAC of a device"},
		{[]string{"explain"}, 2, "a MAC, or --fleet, is required"},
		{[]string{"explain", "001565aabb01"}, 2, "either --fleet, or --timer and --interval, are required"},
		{[]string{"explain", "001565aabb01", "--timer", "register.0", "--interval", "60"}, 2, "--timer: "},
		{[]string{"explain", "001565aabb01", "--timer", "checkin", "--interval", "60", "--unit", "7"}, 2, "--unit: "},
		{[]string{"explain", "001565aabb01", "--timer", "checkin", "--interval", "60", "--place", "dice"}, 2, "--place: "},
		{[]string{"explain", "001565aabb01", "--timer", "subscribe", "--interval", "86400", "--at", "02:00"}, 2, "--at: only the check-in"},
		{[]string{"explain", "001565aabb01", "--timer", "checkin", "--interval", "86400", "--at", "24:00"}, 2, `--at: "24:00" is not a time of the day`},
		{[]string{"explain", "001565aabb01", "--timer", "checkin", "--interval", "3600", "--at", "02:00"}, 2, "--interval: whole days of 86400 seconds"},
		{[]string{"explain", "001565aabb01", "--fleet", m.fleet, "--at", "02:00"}, 2, "--at has no meaning with documents"},
		{[]string{"explain", "001565aabb01", "--fleet", m.fleet, "--timer", "checkin"}, 2, "--timer has no meaning with documents"},
		{[]string{"rotate", "new"}, 2, "--out: "},
		{[]string{"rotate", "status", "--fleet", m.fleet}, 2, "requires at least 1 arg"},
	} {
		status, out, errs := m.do(c.args...)
		if status != c.status || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%v: status %d, %q %q, want %d, %q", c.args, status, out, errs, c.status, c.want)
		}
	}
}

// A key rotation from beginning to end.
func TestRotate(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "new.hex")
	if status, _, errs := m.do("rotate", "new", "--out", file); status != 0 {
		t.Fatal(errs)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 || !regexp.MustCompile(`^[0-9a-f]{64}\n$`).Match(key) {
		t.Errorf("mode %v, %d bytes", info.Mode(), len(key))
	}
	if status, _, errs := m.do("rotate", "new", "--out", file); status != 1 || strings.Contains(errs, strings.TrimSpace(string(key))) {
		t.Errorf("a second key into the same file: status %d, %s", status, errs)
	}
	if again, _ := os.ReadFile(file); string(again) != string(key) {
		t.Error("the key was overwritten")
	}

	log := filepath.Join(dir, "access.log")
	write := func(lines ...string) {
		if err := os.WriteFile(log, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record := func(mac, key, outcome string) string {
		return `{"level":"INFO","msg":"request","mac":"` + mac + `","key":"` + key + `","outcome":"` + outcome + `"}`
	}
	write(record("001565aabb01", "previous", "ok"), "not json", record("001565aabb01", "current", "ok"),
		record("001565aabb02", "current", "ok"), record("001565aabb02", "previous", "ok"), record("001565aabb03", "current", "invalid"))
	status, out, errs := m.do("rotate", "status", "--fleet", m.fleet, log)
	if status != 1 || out != "001565aabb02\tprevious\n001565aabb03\tunseen\n" || !strings.Contains(errs, "2 devices are not on the current key") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	write(record("001565aabb01", "current", "ok"), record("001565aabb02", "current", "ok"), record("001565aabb03", "current", "ok"))
	if status, out, errs := m.do("rotate", "status", "--fleet", m.fleet, log); status != 0 || !strings.Contains(out, "the previous one can go") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestURLHasTheCredentials(t *testing.T) {
	m := newMachine(t)
	fleet := `{"tenant":"b","auth":"basic","url":"https://p.example","vendor":"yealink","model":"T31G","state":"staged"}
{"tenant":"o","auth":"open","url":"https://p.example","vendor":"yealink","model":"T31G","state":"staged"}
{"device":"001565aabb01","tenant":"b"}
{"device":"001565aabb02","tenant":"o"}
`
	m.stdin = strings.NewReader(fleet)
	status, out, errs := m.do("url", "--fleet", "-")
	if want := regexp.MustCompile(`^001565aabb01\thttps://p\.example/b/[a-z2-7]{30}/\t001565aabb01\t[a-z2-7]{26}\n001565aabb02\thttps://p\.example/o/open/\n$`); status != 0 || !want.MatchString(out) {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

func TestVendors(t *testing.T) {
	m := newMachine(t)
	status, out, errs := m.do("vendors", "yealink", "--window", "14400")
	if status != 0 || !strings.Contains(out, "static.auto_provision.repeat.minutes") || !strings.Contains(out, "  240   ") ||
		!strings.Contains(out, "  auth     basic, digest\n  cert     Yealink Equipment Issuing CA\n") || strings.Contains(out, "polycom") {
		t.Errorf("status %d %s\n%s", status, errs, out)
	}
	status, out, errs = m.do("vendors", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	var names []string
	for line := range strings.Lines(out) {
		var f family
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Models) == 0 || len(f.Files) == 0 || len(f.Timers) < 3 {
			t.Errorf("%s: %d models, %d files, %d timers", f.Vendor, len(f.Models), len(f.Files), len(f.Timers))
		}
		names = append(names, f.Vendor)
	}
	if len(names) != len(vendors.Packs) {
		t.Errorf("%q, but the core has %d packs", names, len(vendors.Packs))
	}
	_, out, _ = m.do("vendors", "mitel", "polycom")
	for _, want := range []string{"startup.cfg  a text for everybody: ", "security.tuz  404: ", "{mac}.cfg  served", "a time of the day, every 1 to 364 days", "  -15\n", "  -60\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if status, _, errs := m.do("vendors", "nobody"); status != 2 || !strings.Contains(errs, `no vendor "nobody"`) {
		t.Errorf("status %d: %s", status, errs)
	}
}
