package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGenerate(t *testing.T) {
	m := newMachine(t)
	file := filepath.Join(t.TempDir(), "fleet.jsonl")
	args := []string{"generate", "--devices", "300", "--seed", "4"}
	status, fleet, errs := m.do(args...)
	if status != 0 || errs != "" || strings.Count(fleet, "\n") != 301 {
		t.Fatalf("status %d: %s\n%.300s", status, errs, fleet)
	}
	status, out, errs := m.do(append(args, "--out", file)...)
	if info, err := os.Stat(file); status != 0 || out != "" || err != nil || info.Mode().Perm() != 0o600 || read(t, file) != fleet {
		t.Errorf("status %d: %s%s, %v", status, out, errs, err)
	}
	if status, _, errs := m.do("validate", "--fleet", file); status != 0 || !strings.HasPrefix(errs, "1 tenants, 300 devices: 0 errors") {
		t.Errorf("status %d: %s", status, errs)
	}
	for want, args := range map[string][]string{
		"--devices: from 1 to":           {"generate"},
		"--tenants: from 1 to":           {"generate", "--devices", "5", "--tenants", "6"},
		`there is no vendor "x"`:         {"generate", "--devices", "5", "--vendors", "snom,x"},
		"--url: is not an absolute":      {"generate", "--devices", "5", "--url", "x"},
		"--out: " + file + " exists; --": append(args, "--out", file),
	} {
		if status, out, errs := m.do(args...); status != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d: %s%s", args, status, out, errs)
		}
	}
	status, fleet, _ = m.do("generate", "--devices", "40", "--tenants", "2", "--vendors", "snom", "--url", "https://a.example/p")
	if status != 0 || strings.Count(fleet, `"vendor":"snom"`) != 40 || strings.Count(fleet, `"url":"https://a.example/p"`) != 2 {
		t.Errorf("status %d: %s", status, fleet)
	}
	// What Config says is what the core takes, for a vendor with the model in the name.
	mac := fleet[strings.Index(fleet, `{"device":"`)+11:][:12]
	m.stdin = strings.NewReader(fleet)
	if status, out, errs := m.do("render", "--engine", "native", "--fleet", "-", mac); status != 0 || !strings.Contains(out, "<settings>") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	m.stdout = broken{}
	if status, _, errs := m.do("generate", "--devices", "40"); status != 1 || errs != "unplugged\n" {
		t.Errorf("status %d: %s", status, errs)
	}
}
