package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// try runs a command and wants the exit status.
func try(t *testing.T, status int, args ...string) *machine {
	t.Helper()
	m := newMachine(t)
	if got := m.run(t.Context(), args); got != status {
		t.Fatalf("%q: status %d, want %d: %s", args, got, status, m.errors.String())
	}
	return m
}

// plansOf runs the command for its JSON.
func plansOf(t *testing.T, status int, args ...string) []planned {
	t.Helper()
	var plans []planned
	if err := json.Unmarshal([]byte(try(t, status, append([]string{"plan", "--json"}, args...)...).out.String()), &plans); err != nil {
		t.Fatal(err)
	}
	return plans
}

func TestPlan(t *testing.T) {
	m := try(t, 0, "plan", "--phones", "50000", "--interval", "3600", "--floor", "60", "--capacity", "250", "--background", "50",
		"--service", "0.25", "--concurrency", "50", "--traffic-budget", "10%")
	for _, want := range []string{
		"register: 50,000 phones, interval 3600 s, floor 60 s, unit 1 s\n", "200        requests/s = 250 - 50\n",
		"M*b/lambda = 50000*1/160.02; lambda is the largest mean with P(N > 200) <= 0.001, exact\n",
		"312.5 s *", "310.1 s ", "349.4 s ", "634.1 s *", "M*s/K = 50000*0.25/50\n",
		"313 s      feasible; 8.7% of the interval\n", "1,255,402 requests a day\n",
	} {
		if !strings.Contains(m.out.String(), want) {
			t.Errorf("no %q in\n%s", want, m.out.String())
		}
	}
	if m.errors.String() != "" || strings.Contains(m.out.String(), " \n") {
		t.Errorf("%q\n%s", m.errors.String(), m.out.String())
	}

	p := plansOf(t, 0, "--phones", "50000", "--interval", "3600", "--capacity", "250", "--background", "50", "--background-random")
	if len(p) != 1 || p[0].Window != 323 || p[0].Configured != nil {
		t.Errorf("%+v", p)
	}
	p = plansOf(t, 0, "--phones", "1000", "--interval", "checkin=86400,register=3600,subscribe=1800", "--unit", "checkin=60,register=1,subscribe=1", "--capacity", "50")
	if len(p) != 3 || p[0].Timer != "checkin" || p[0].Unit != 60 || p[1].Requests != 2000 || p[2].Interval != 1800 {
		t.Errorf("%+v", p)
	}
	mix := plansOf(t, 0, "--phones", "50000", "--interval", "3600", "--capacity", "200", "--refresh", "50%:30%,-60:70%")
	if got := mix[0].AtLeast[0].Seconds; math.Abs(got-250) > 1 {
		t.Errorf("a mix needs %v s", got)
	}
}

func TestPlanInfeasible(t *testing.T) {
	args := []string{"plan", "--phones", "50000", "--interval", "3600", "--capacity", "60", "--traffic-budget", "5%"}
	m := try(t, 1, args...)
	for _, want := range []string{"INFEASIBLE by 922.8 s", "way out 1", "a capacity of 187 requests/s", "an interval of 13449 s", "no more than 13384 phones"} {
		if !strings.Contains(m.out.String(), want) {
			t.Errorf("no %q in\n%s", want, m.out.String())
		}
	}
	if got := m.errors.String(); got != "register: infeasible: the bound that binds is traffic, by 922.8 s\n" {
		t.Errorf("%q", got)
	}
	p := plansOf(t, 1, args[1:]...)
	if p[0].Feasible || p[0].Binds != "traffic" || len(p[0].Ways) != 3 || p[0].Ways[0].Value != 187 {
		t.Errorf("%+v", p[0])
	}
}

// TestPlanFleet counts the demo fleet: two check-in requests a phone, three
// registrations, three subscriptions.
func TestPlanFleet(t *testing.T) {
	p := plansOf(t, 0, "--fleet", "../testdata/fleets/demo.jsonl", "--capacity", "30")
	if len(p) != 3 {
		t.Fatalf("%+v", p)
	}
	if p[0].Phones != 3 || p[0].Requests != 6 || p[0].Unit != 60 || p[0].Configured.Requests != 2 || p[0].Configured.Buckets != 3 || p[0].Configured.At != 76140 {
		t.Errorf("check-in: %+v %+v", p[0].Result, p[0].Configured)
	}
	// One registers every 1800 s, and comes twice in the time.
	if p[1].Phones != 3 || p[1].Requests != 6 || p[1].Configured.Requests != 1 || p[1].Configured.Buckets != 7 {
		t.Errorf("registration: %+v %+v", p[1].Result, p[1].Configured)
	}
	if p := plansOf(t, 0, "--fleet", "../testdata/fleets/demo.jsonl", "--capacity", "30", "--timer", "register"); len(p) != 1 || p[0].Requests != 3 {
		t.Errorf("%+v", p)
	}

	fleet, err := os.ReadFile("../testdata/fleets/demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	m.stdin = strings.NewReader(string(fleet))
	if status := m.run(t.Context(), []string{"plan", "--fleet", "-", "--capacity", "30"}); status != 0 || !strings.Contains(m.out.String(), "as it is") {
		t.Errorf("status %d: %s%s", status, m.out.String(), m.errors.String())
	}
}

func TestPlanMisuse(t *testing.T) {
	base := []string{"plan", "--phones", "10", "--interval", "3600", "--capacity", "10"}
	for want, args := range map[string][]string{
		`required flag(s) "capacity"`:             {"plan", "--phones", "10"},
		"either --phones and --interval":          {"plan", "--capacity", "10"},
		"no headroom":                             append(base, "--background", "10"),
		"interval, unit and requests":             {"plan", "--phones", "10", "--capacity", "10"},
		"--traffic-budget":                        append(base, "--traffic-budget", "x"),
		`--timer: "boot" is not a timer`:          append(base, "--timer", "boot"),
		`--floor: "boot" is not a timer`:          append(base, "--floor", "boot=3"),
		`--floor: "-1" is not a number`:           append(base, "--floor", "-1"),
		"--floor: one number":                     append(base, "--floor", "1,2"),
		"--refresh: the shares add up to 30%":     append(base, "--refresh", "50%:30%"),
		`--refresh: "half" is no rule`:            append(base, "--refresh", "half"),
		`--refresh: "x" is no share`:              append(base, "--refresh", "50%:x"),
		"1e+09 is not a number from 0":            append(base, "--deadline", "1e9"),
		"NaN is not a number from 0":              append(base, "--background", "nan"),
		"epsilon must be above 0":                 append(base, "--epsilon", "0"),
		"--unit has no meaning":                   {"plan", "--fleet", "../testdata/fleets/demo.jsonl", "--capacity", "10", "--unit", "60"},
		"--interval has no meaning with --fleet,": {"plan", "--fleet", "../testdata/fleets/demo.jsonl", "--capacity", "10", "--interval", "60"},
	} {
		m := try(t, 2, args...)
		if got := m.errors.String(); !strings.Contains(got, want) || m.out.String() != "" || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	m := try(t, 1, "plan", "--fleet", "nothing", "--capacity", "1")
	if got := m.errors.String(); !strings.Contains(got, "open nothing") {
		t.Errorf("%q", got)
	}
}

// clocks is a fleet of phones that come at a time of the day.
func clocks(n int) string {
	var b strings.Builder
	b.WriteString(`{"tenant":"demo","url":"https://prov.example.com","vendor":"mitel","model":"6867i","line":{"server":"pbx.example.com"},"timers":{"checkin":{"at":"21:30","window":7200}}}` + "\n")
	for i := range n {
		fmt.Fprintf(&b, `{"device":"00085d%06x","tenant":"demo","lines":[{"user":"%d","password":"p"}]}`+"\n", i, i)
	}
	return b.String()
}

func TestPlanTimeOfDay(t *testing.T) {
	m := newMachine(t)
	m.stdin = strings.NewReader(clocks(600))
	if status := m.run(t.Context(), []string{"plan", "--fleet", "-", "--capacity", "100", "--timer", "checkin,register"}); status != 0 {
		t.Fatalf("status %d: %s", status, m.errors.String())
	}
	out := strings.Join(strings.Fields(m.out.String()), " ")
	for _, want := range []string{
		"checkin: 600 phones, at a time of the day, every 86400 s, unit 60 s ", "in step M 1,800 requests ", " day 86400.0 s * ", " whenever they were started ",
		" s after midnight, if all start then ", "traffic x 1.000 1,800 requests a day ",
		// What the pack says: 15 seconds before the end.
		" 14,478 requests a day ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, m.out.String())
		}
	}
	// The same without a fleet.
	p := plansOf(t, 0, "--phones", "600", "--interval", "86400", "--unit", "60", "--requests", "3", "--timer", "checkin", "--time-of-day", "--capacity", "100")
	if len(p) != 1 || !p[0].Daily || p[0].PerDay != 1800 || p[0].Traffic != 1 {
		t.Errorf("%+v", p[0].Result)
	}
	for _, args := range [][]string{{"--phones", "10", "--interval", "3600", "--time-of-day"}, {"--phones", "10", "--interval", "3600", "--timer", "checkin", "--time-of-day"}} {
		if m := try(t, 2, append([]string{"plan", "--capacity", "10"}, args...)...); !strings.Contains(m.errors.String(), "time") {
			t.Errorf("%q: %q", args, m.errors.String())
		}
	}
}

// The flag overrules what the packs say, for all vendors or for one.
func TestRefreshOfThePacks(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{{nil, "-15"}, {[]string{"full"}, "full"}, {[]string{"mitel=50%"}, "50%"}, {[]string{"yealink=50%"}, "-15"}} {
		f, err := parseRefresh(c.flags)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.of("mitel", "register").String(); got != c.want || f.of("mitel", "checkin").String() != "full" || f.of("nobody", "register").String() == "-15" {
			t.Errorf("%q: %s, want %s", c.flags, got, c.want)
		}
	}
}
