package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagger/host/waves"
)

func TestWaves(t *testing.T) {
	m := try(t, 0, "waves", "--fleet", "../testdata/fleets/demo.jsonl", "--rate", "1")
	rows, err := csv.NewReader(strings.NewReader(m.out.String())).ReadAll()
	// The third device is staged.
	if err != nil || len(rows) != 3 || strings.Join(rows[0], ",") != "wave,offset,mac,user,server,phones,also" || m.errors.String() != "" {
		t.Fatalf("%v, %v", rows, err)
	}
	byMAC := map[string]string{}
	for _, row := range rows[1:] {
		byMAC[row[2]] = strings.Join(row[3:], ",")
	}
	if byMAC["001565aabb01"] != "1001,pbx.demo.example,1," || byMAC["001565aabb02"] != "1002,pbx.demo.example,1," {
		t.Errorf("%v", byMAC)
	}
	m = try(t, 0, "waves", "--fleet", "../testdata/fleets/demo.jsonl", "--rate", "1", "--after", "1", "--json")
	var call waves.Call
	if err := json.Unmarshal([]byte(m.out.String()), &call); err != nil || call.Wave != 2 || call.Offset != 0 || call.Phones != 1 || call.MAC != rows[2][2] || call.Name == "" {
		t.Errorf("%v, %+v", err, call)
	}
}

// TestWavesShared: two phones of one user react together, and count as two.
func TestWavesShared(t *testing.T) {
	text := `{"tenant":"demo","url":"https://p.example.com","vendor":"yealink","line":{"server":"pbx.example.com"}}
{"device":"001565aabb01","tenant":"demo","model":"T46U","lines":[{"user":"600","password":"gQ2vX8sLr0TzK4mWbN6yHc3d"}]}
{"device":"001565aabb02","tenant":"demo","model":"T46U","lines":[{"user":"600","password":"gQ2vX8sLr0TzK4mWbN6yHc3d"}]}
`
	file := filepath.Join(t.TempDir(), "fleet.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := try(t, 0, "waves", "--fleet", file, "--rate", "2", "--json")
	var call waves.Call
	if err := json.Unmarshal([]byte(m.out.String()), &call); err != nil || call.Phones != 2 || len(call.Also) != 1 {
		t.Errorf("%v, %s", err, m.out.String())
	}
	m = try(t, 1, "waves", "--fleet", file, "--rate", "1")
	if got := m.errors.String(); !strings.Contains(got, "user 600 at pbx.example.com is on 2 phones") {
		t.Errorf("%q", got)
	}
	for want, args := range map[string][]string{
		`required flag(s) "fleet", "rate"`: {"waves"},
		"--rate and --every":               {"waves", "--fleet", file, "--rate", "0"},
		"the fleet has no tenant":          {"waves", "--fleet", file, "--rate", "1", "--tenant", "x"},
	} {
		m := try(t, 2, args...)
		if got := m.errors.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}
