package main

import (
	"encoding/json"
	"strings"
	"testing"

	"stagger/host/drain"
)

func TestDrain(t *testing.T) {
	m := try(t, 0, "drain", "--backlog", "50000", "--capacity", "250", "--background", "50")
	rows := map[string]string{}
	for line := range strings.Lines(m.out.String()) {
		fields := strings.Fields(line)
		if len(fields) > 1 {
			rows[fields[0]] = strings.Join(fields[1:], " ")
		}
	}
	for name, want := range map[string]string{
		"50,000":   "phones wait for a headroom of 200/s, 0/s new ones come",
		"constant": "125.5 49,800 3,720 s 7,470 s Retry-After: 30",
		"slots":    "2.0 161 155 s 312 s Retry-After: a slot of one's own, 160 a second",
	} {
		if rows[name] != want {
			t.Errorf("%s: %q, want %q\n%s", name, rows[name], want, m.out.String())
		}
	}
	if m.errors.String() != "" {
		t.Error(m.errors.String())
	}
	var got struct {
		Slots, Shortest float64
		Strategies      []drain.Result
	}
	m = try(t, 0, "drain", "--backlog", "50000", "--capacity", "200", "--arrivals", "30", "--json")
	if err := json.Unmarshal([]byte(m.out.String()), &got); err != nil || len(got.Strategies) != 5 || got.Slots < 130 || got.Slots > 130.1 || got.Shortest < 294 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestDrainNever: it is said, and the status is that of a finding.
func TestDrainNever(t *testing.T) {
	m := try(t, 1, "drain", "--backlog", "50000", "--capacity", "200", "--arrivals", "200")
	if got := m.errors.String(); got != "never drains: 200 new requests a second are not below the headroom of 200\n" || m.out.String() != "" {
		t.Errorf("%q", got)
	}
	for want, args := range map[string][]string{
		`required flag(s) "backlog", "capacity"`: {"drain"},
		"no headroom":                            {"drain", "--backlog", "1", "--capacity", "5", "--background", "5"},
		"a backlog is from 1":                    {"drain", "--backlog", "0", "--capacity", "5"},
		"arrivals and burst are not below 0":     {"drain", "--backlog", "1", "--capacity", "5", "--arrivals", "nan", "--slots", "1"},
		"--capacity: at most a million":          {"drain", "--backlog", "1", "--capacity", "inf"},
		"--epsilon":                              {"drain", "--backlog", "1", "--capacity", "5", "--epsilon", "1"},
		"retry is from 1":                        {"drain", "--backlog", "1", "--capacity", "5", "--retry", "0"},
	} {
		m := try(t, 2, args...)
		if got := m.errors.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}
