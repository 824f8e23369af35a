package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// simulated is the JSON of the command.
type simulated struct {
	Timer    string    `json:"timer"`
	Phones   int       `json:"phones"`
	Absent   int       `json:"phones_without"`
	Interval float64   `json:"interval"`
	Window   float64   `json:"window"`
	Unit     float64   `json:"unit"`
	Values   string    `json:"values_from"`
	Distinct int       `json:"distinct_values"`
	Settles  int       `json:"settles_after"`
	Schemes  []outcome `json:"schemes"`
}

func simulate(t *testing.T, args ...string) simulated {
	t.Helper()
	var s simulated
	m := try(t, 0, append([]string{"simulate", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(m.out.String()), &s); err != nil {
		t.Fatal(err)
	}
	// Quiet in a pipe.
	if got := m.errors.String(); got != "" {
		t.Errorf("standard error has %q", got)
	}
	return s
}

func TestSimulate(t *testing.T) {
	dir := t.TempDir()
	page, picture := filepath.Join(dir, "herd.html"), filepath.Join(dir, "herd.svg")
	m := try(t, 0, "simulate", "--phones", "20000", "--periods", "12", "--html", page, "--svg", picture)
	var rows []string
	for line := range strings.Lines(m.out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	text := "\n" + strings.Join(rows, "\n")
	for _, want := range []string{
		"20,000 phones start together: the registration", "window W 600 s", "scheme repeat 1 2 5 10 mean/s a day reboots",
		"fixed ", "spread ", "spread+first-delay ", "registrar ", "reboot - - - - 2", "M/(kW) 33 17 7 - 6.08", "an even load 15 15 15 15 5.56 480,000 0",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %q in%s", want, text)
		}
	}
	for path, want := range map[string]string{page: "<!DOCTYPE html>", picture: `<svg xmlns="http://www.w3.org/2000/svg"`} {
		if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %v, %.40q", path, err, b)
		}
	}
	again := try(t, 0, "simulate", "--phones", "20000", "--periods", "12")
	if again.out.String() != m.out.String() {
		t.Error("the same seed gives other numbers")
	}
}

func TestSimulateJSON(t *testing.T) {
	s := simulate(t, "--phones", "20000", "--window", "360", "--periods", "10", "--scheme", "fixed,spread,reboot")
	if s.Phones != 20000 || s.Interval != 3600 || s.Window != 360 || s.Distinct != 360 || s.Settles != 74 || len(s.Schemes) != 3 {
		t.Fatalf("%+v", s)
	}
	fixed, spread, reboot := s.Schemes[0], s.Schemes[1], s.Schemes[2]
	if len(fixed.Peaks) != 9 || len(fixed.PeriodPeaks) != 10 || fixed.Peaks[0] < 5*spread.Peaks[0] || fixed.Reboots != 0 {
		t.Errorf("%+v\n%+v", fixed, spread)
	}
	if reboot.Seconds != 3600 || reboot.Reboots < 800 || reboot.PerDay < 30*fixed.PerDay {
		t.Errorf("%+v", reboot)
	}
	// Half of the phones renew at half: the first come in the middle.
	s = simulate(t, "--phones", "2000", "--refresh", "50%:50%,full:50%", "--periods", "2", "--scheme", "fixed", "--within", "0", "--latency", "0", "--skew", "0")
	if got := s.Schemes[0].PeriodPeaks; !slices.Equal(got, []uint32{1000, 2000}) || s.Settles != 0 {
		t.Errorf("%v, %+v", got, s)
	}
}

// TestSimulateFleet reads the demo fleet by the rule and out of its files.
func TestSimulateFleet(t *testing.T) {
	const fleet = "../testdata/fleets/demo.jsonl"
	for _, timer := range []string{"checkin", "register", "subscribe"} {
		args := []string{"--fleet", fleet, "--timer", timer, "--periods", "2", "--scheme", "spread", "--latency", "0", "--skew", "0", "--within", "0"}
		rule := simulate(t, args...)
		files := simulate(t, append(args, "--from-rendered", "--engine", "native")...)
		if !strings.Contains(files.Values, "files") || files.Phones+files.Absent != rule.Phones || files.Phones == 0 {
			t.Errorf("%s: %+v, by the rule %+v", timer, files, rule)
		}
		if files.Absent == 0 && (files.Schemes[0].Requests != rule.Schemes[0].Requests || files.Distinct != rule.Distinct) {
			t.Errorf("%s: the files give %+v, the rule %+v", timer, files, rule)
		}
		if timer == "checkin" && (rule.Unit != 60 || rule.Interval != 86400 || rule.Window != 14400 || rule.Distinct != 3) {
			t.Errorf("%+v", rule)
		}
	}
}

func TestSimulateMisuse(t *testing.T) {
	base := []string{"simulate", "--phones", "10"}
	for want, args := range map[string][]string{
		"either --phones or --fleet":        {"simulate"},
		"--phones: from 1":                  {"simulate", "--phones", "0"},
		"no word \"spred\"":                 append(base, "--scheme", "spred"),
		"--periods: from 1":                 append(base, "--periods", "0"),
		"--loss from 0 to 0.9":              append(base, "--loss", "1"),
		"no number below 0":                 append(base, "--skew", "-1"),
		"--prefix: \"x\" is not":            append(base, "--prefix", "x"),
		"--timer: \"boot\" is not a timer":  append(base, "--timer", "boot"),
		"--unit: 1, 60 or 3600":             append(base, "--unit", "7"),
		"--from-rendered needs --fleet":     append(base, "--from-rendered"),
		"--interval has no meaning":         {"simulate", "--fleet", "../testdata/fleets/demo.jsonl", "--interval", "60"},
		"--refresh: the shares add up":      append(base, "--refresh", "50%:10%"),
		"--latency is at most an hour":      append(base, "--latency", "1e9"),
		"unknown command \"x\" for":         append(base, "x"),
		"--interval: from one unit to":      append(base, "--interval", "0"),
		"place: jump-1 or modulo-1":         append(base, "--place", "x"),
		"invalid argument \"x\" for \"--se": append(base, "--seed", "x"),
	} {
		m := try(t, 2, args...)
		if got := m.errors.String(); !strings.Contains(got, want) || m.out.String() != "" || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	m := try(t, 1, "simulate", "--phones", "10", "--periods", "2", "--html", "/nowhere/x.html")
	if got := m.errors.String(); !strings.Contains(got, "/nowhere/x.html") {
		t.Errorf("%q", got)
	}
}

// TestPicture wants the README's picture to be what the command draws. Elsewhere
// the last digit of a floating-point number may be another.
func TestPicture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the picture was drawn on amd64")
	}
	const picture = "report/testdata/herd.svg"
	args := []string{"simulate", "--phones", "50000", "--window", "313", "--scheme", "fixed,spread", "--svg"}
	drawn := filepath.Join(t.TempDir(), "herd.svg")
	try(t, 0, append(args, drawn)...)
	want, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(drawn); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (%v): stagger %s host/%s", picture, err, strings.Join(args, " "), picture)
	}
}

// Phones that look at a clock, with the times out of their files.
func TestSimulateTimeOfDay(t *testing.T) {
	m := newMachine(t)
	m.stdin = strings.NewReader(clocks(300))
	status := m.run(t.Context(), []string{"simulate", "--fleet", "-", "--timer", "checkin", "--from-rendered", "--engine", "native", "--periods", "3", "--scheme", "fixed,spread,registrar", "--latency", "0", "--json"})
	if status != 0 {
		t.Fatalf("status %d: %s", status, m.errors.String())
	}
	var got struct {
		Phones   int `json:"phones"`
		Daily    int `json:"phones_at_a_time_of_day"`
		Distinct int `json:"distinct_values"`
		Schemes  []struct {
			Requests uint64   `json:"requests"`
			Peaks    []uint32 `json:"period_peaks"`
		} `json:"schemes"`
	}
	if err := json.Unmarshal([]byte(m.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Phones != 300 || got.Daily != 300 || got.Distinct < 100 || got.Distinct > 120 || len(got.Schemes) != 3 {
		t.Errorf("%+v", got)
	}
	// Without a place of their own all come in the same second of every day; with one
	// those of a minute, on every day alike.
	fixed, spread, registrar := got.Schemes[0], got.Schemes[1], got.Schemes[2]
	if fixed.Requests != 900 || fixed.Peaks[0] != 300 || fixed.Peaks[1] != 300 || spread.Requests != 900 || spread.Peaks[0] != spread.Peaks[1] || spread.Peaks[0] > 12 || registrar.Peaks[1] != 300 {
		t.Errorf("%+v", got.Schemes)
	}
}
