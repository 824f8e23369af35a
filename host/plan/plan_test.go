package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"stagger/edge/spread"
	"stagger/host/herd"
)

// near wants got to be want to as many digits as want is written with.
func near(t *testing.T, what string, got float64, want string) {
	t.Helper()
	_, digits, _ := strings.Cut(want, ".")
	if s := fmt.Sprintf("%.*f", len(digits), got); s != want {
		t.Errorf("%s is %v, want %s", what, got, want)
	}
}

// TestMean has the reference numbers of the design: the largest mean with
// P(N > limit) <= epsilon.
func TestMean(t *testing.T) {
	for _, test := range []struct {
		limit, epsilon float64
		want           string
	}{
		{200, 1e-3, "160.0207"}, {20, 1e-3, "9.6193"}, {5, 1e-3, "1.1071"}, {1000, 1e-3, "906.0719"},
		{50, 1e-4, "28.6020"}, {1, 1e-3, "0.0454"}, {5000, 1e-3, "4785.31"},
	} {
		near(t, fmt.Sprintf("the mean for %g, %g", test.limit, test.epsilon), Mean(test.limit, test.epsilon), test.want)
	}
	near(t, "the normal approximation", MeanNormal(200, 1e-3), "161.2579")
	for limit, want := range map[float64]string{200: "1.4", 20: "2.8", 5: "6.0"} {
		near(t, fmt.Sprintf("what the approximation accepts at %g", limit), Tail(limit, MeanNormal(limit, 1e-3))/1e-3, want)
	}
}

// TestMeanIsLargest wants the tail at the mean to be at most epsilon and just
// above it to be more.
func TestMeanIsLargest(t *testing.T) {
	for _, limit := range []float64{0, 1, 2, 7, 50, 333, 20000, 1e6} {
		for _, epsilon := range []float64{0.5, 0.1, 1e-3, 1e-6, 1e-12} {
			m := Mean(limit, epsilon)
			if at, above := Tail(limit, m), Tail(limit, m*(1+1e-9)); at > epsilon || above <= epsilon*(1-1e-6) {
				t.Errorf("%g, %g: mean %v, tail %v, above %v", limit, epsilon, m, at, above)
			}
			// Towards one half the skew of the distribution turns it around.
			if n := MeanNormal(limit, epsilon); epsilon <= 1e-3 && n <= m {
				t.Errorf("%g, %g: the approximation %v is not above %v", limit, epsilon, n, m)
			}
		}
	}
}

// TestTail holds the tail to another implementation.
func TestTail(t *testing.T) {
	for _, mean := range []float64{1e-6, 0.3, 1, 4.5, 30, 160.0207, 2000, 1e5} {
		for _, deviations := range []float64{-6, -2, 0, 1, 3, 5} {
			limit := math.Floor(mean + deviations*math.Sqrt(mean))
			if limit < 0 {
				continue
			}
			got, want := Tail(limit, mean), distuv.Poisson{Lambda: mean}.Survival(limit)
			if math.Abs(got-want) > 1e-9*want+1e-14 {
				t.Errorf("P(N > %g | %g) = %v, want %v", limit, mean, got, want)
			}
		}
	}
	// Rarer than what 1 - CDF can say.
	if got := Tail(400, 160); !(got > 0 && got < 1e-40) {
		t.Errorf("P(N > 400 | 160) = %v", got)
	}
	for _, test := range [][3]float64{{-1, 3, 1}, {3, 0, 0}, {10, 1e7, 1}, {1e9, 1, 0}} {
		if got := Tail(test[0], test[1]); got != test[2] {
			t.Errorf("P(N > %g | %g) = %v, want %g", test[0], test[1], got, test[2])
		}
	}
}

// worked is the example of the design: 50,000 phones and a headroom of 200/s.
var (
	worked = Server{Capacity: 200, Epsilon: 1e-3, Bucket: 1, Within: 30}
	phones = Group{Phones: 50000, Interval: 3600, Floor: 60, Unit: 1, Requests: 1}
)

func plan(t *testing.T, s Server, groups ...Group) *Result {
	t.Helper()
	r, err := s.Plan(Timer{Name: "register", Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWorkedExample(t *testing.T) {
	r := plan(t, worked, phones)
	near(t, "the exact window", r.AtLeast[1].Seconds, "312.46")
	near(t, "the approximate window", r.Approximate.Seconds, "310.06")
	near(t, "the whole window", r.WholeWindow.Seconds, "349.45")
	near(t, "what the approximation accepts", r.TrueChance, "0.0014")
	near(t, "even load", r.AtLeast[0].Seconds, "250")
	if !r.Feasible || r.Window != 313 || r.Binding != "one bucket" || r.Limiting != "rounds" || r.Values != 313 || len(r.Warnings) > 0 || r.Ways != nil {
		t.Errorf("%+v", r)
	}
	if r.Chance > worked.Epsilon || r.Chance < worked.Epsilon*0.9 {
		t.Errorf("the chance is %v", r.Chance)
	}

	random := worked
	random.Capacity, random.Background, random.BackgroundRandom = 250, 50, true
	near(t, "the window beside a random background", plan(t, random, phones).AtLeast[1].Seconds, "322.8")
	constant := random
	constant.BackgroundRandom = false
	near(t, "the window beside a constant background", plan(t, constant, phones).AtLeast[1].Seconds, "312.46")
}

func TestTraffic(t *testing.T) {
	for share, want := range map[float64]string{0.1: "1.054", 1.0 / 6: "1.094", 0.17: "1.096", 0.5: "1.386"} {
		near(t, fmt.Sprintf("the traffic of %g", share), Extra(share), want)
	}
	near(t, "the share of 5%", Share(0.05), "0.094")
	near(t, "the share of 10%", Share(0.10), "0.176")
	if Extra(0) != 1 {
		t.Errorf("no window costs %v", Extra(0))
	}
	// By the sum over every value that phones can have.
	sum := 0.0
	for value := 3001.0; value <= 3600; value++ {
		sum += 3600 / value
	}
	if got := Extra(600.0 / 3600); math.Abs(got-sum/600) > 2e-4 {
		t.Errorf("%v, counted %v", got, sum/600)
	}
}

// bound returns the named bound.
func bound(t *testing.T, list []Bound, name string) Bound {
	t.Helper()
	for _, b := range list {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bound %q in %v", name, list)
	return Bound{}
}

func TestBounds(t *testing.T) {
	s := worked
	s.Service, s.Concurrency, s.TrafficBudget, s.Deadline, s.MaxWait = 0.4, 50, 0.10, 900, 300
	r := plan(t, s, phones)
	near(t, "concurrency", bound(t, r.AtLeast, "concurrency").Seconds, "400")
	near(t, "floor", bound(t, r.AtMost, "floor").Seconds, "3540")
	near(t, "rounds", bound(t, r.AtMost, "rounds").Seconds, "1800")
	near(t, "traffic", bound(t, r.AtMost, "traffic").Seconds, "634")
	near(t, "deadline", bound(t, r.AtMost, "deadline").Seconds, "899.6")
	near(t, "wait", bound(t, r.AtMost, "wait").Seconds, "600")
	if r.Window != 400 || r.Binding != "concurrency" || r.Limiting != "wait" || !r.Feasible {
		t.Errorf("%+v", r)
	}
	near(t, "requests a day", r.PerDay, fmt.Sprintf("%.0f", 50000*24*Extra(400.0/3600)))

	s.RegistrarMin = 3300
	r = plan(t, s, phones)
	if near(t, "registrar minimum", bound(t, r.AtMost, "registrar minimum").Seconds, "300"); r.Feasible {
		t.Error("a window of 400 s above a registrar's minimum of I - 300 s is feasible")
	}
}

// TestRegistrarMaximum: what a registrar caps is in step again.
func TestRegistrarMaximum(t *testing.T) {
	for max, want := range map[float64]string{1800: "100%", 3287: "100%", 3500: "32%"} {
		s := worked
		s.RegistrarMax = max
		r := plan(t, s, phones)
		if r.Feasible || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], want) || r.Ways[0].Value != max {
			t.Errorf("%g: %+v", max, r)
		}
	}
	s := worked
	s.RegistrarMax = 3600
	if r := plan(t, s, phones); !r.Feasible {
		t.Errorf("%+v", r)
	}
}

// TestInfeasible goes every way out that a plan names and wants it to lead out,
// and one unit less not to.
func TestInfeasible(t *testing.T) {
	for name, change := range map[string]func(*Server, *Group){
		"traffic":  func(s *Server, g *Group) { s.Capacity, s.TrafficBudget = 60, 0.05 },
		"floor":    func(_ *Server, g *Group) { g.Floor = 3500 },
		"deadline": func(s *Server, _ *Group) { s.Deadline = 100 },
		"wait":     func(s *Server, _ *Group) { s.MaxWait = 20 },
		"rounds":   func(s *Server, _ *Group) { s.Capacity = 25 },
		"unit":     func(s *Server, g *Group) { g.Unit, s.Within, s.TrafficBudget = 60, 1, 0.1 },
		"threads":  func(s *Server, _ *Group) { s.Service, s.Concurrency, s.TrafficBudget = 1, 5, 0.1 },
		"short":    func(s *Server, g *Group) { g.Interval, g.Floor = 300, 60 },
	} {
		s, g := worked, phones
		change(&s, &g)
		timer := Timer{Name: "register", Groups: []Group{g}}
		r, err := s.Plan(timer)
		if err != nil {
			t.Fatal(err)
		}
		if r.Feasible || r.Short <= 0 || len(r.Ways) != 3 || r.Limiting == "" {
			t.Errorf("%s: %+v", name, r)
		}
		for _, way := range r.Ways {
			changed, other := s, timer
			way.apply(&changed, &other)
			out, err := changed.Plan(other)
			if err != nil {
				t.Fatal(err)
			}
			// A window is a whole number of units; bounds closer than one leave none.
			if !out.Feasible && out.Short > g.Unit {
				t.Errorf("%s: %s is no way out: %+v", name, way.Text, out)
			}
		}
	}
}

// TestJudge judges windows instead of seeking one.
func TestJudge(t *testing.T) {
	for window, want := range map[float64]bool{100: false, 312: false, 313: true, 1800: true, 1801: false} {
		r, err := worked.Plan(Timer{Name: "register", Groups: []Group{phones}, Window: window})
		if err != nil {
			t.Fatal(err)
		}
		if r.Feasible != want || r.Window != window || (len(r.Ways) == 1) == want {
			t.Errorf("%g: %+v", window, r)
		}
	}
}

// TestRefresh: a phone that renews at half its value uses half of the window.
func TestRefresh(t *testing.T) {
	rule := func(text string) herd.Refresh {
		r, err := herd.ParseRefresh(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for text, want := range map[string]string{"full": "312.46", "50%": "624.92", "90%": "347.18", "-60": "312.46", "50%-75%": "0.00"} {
		g := phones
		g.Refresh = rule(text)
		near(t, text, plan(t, worked, g).AtLeast[1].Seconds, want)
	}
	// Of a mix, those who renew at half come for the second time when the others
	// come for the first: together they are as dense as one group.
	half, full := phones, phones
	half.Phones, full.Phones = 25000, 25000
	half.Refresh = rule("50%")
	r := plan(t, worked, half, full)
	if got := r.AtLeast[1].Seconds; math.Abs(got-312.46) > 0.01 {
		t.Errorf("a mix needs %v", got)
	}
}

// TestClumps: minutes crowd, unless the phones' starts are spread as widely.
func TestClumps(t *testing.T) {
	g := phones
	g.Unit = 60
	for within, want := range map[float64]string{60: "312.46", 30: "624.92", 1: "18747.57"} {
		s := worked
		s.Within = within
		r := plan(t, s, g)
		near(t, fmt.Sprintf("within %g s", within), r.AtLeast[1].Seconds, want)
		if r.Values != math.Floor(r.Window/60) {
			t.Errorf("%v values in %v s", r.Values, r.Window)
		}
	}
}

// TestInstant: the model of even rounds does not hold for a start at one instant,
// and the plan says so.
func TestInstant(t *testing.T) {
	s := worked
	s.Within = 0
	if r := plan(t, s, phones); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "one instant") {
		t.Errorf("%q", r.Warnings)
	}
}

// TestBeside: registrations and subscriptions come to one server.
func TestBeside(t *testing.T) {
	r, err := worked.Plan(Timer{Name: "register", Groups: []Group{phones}, Beside: []Group{phones}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "two timers", r.AtLeast[1].Seconds, "624.92")
	if r.Requests != 100000 || r.Phones != 50000 {
		t.Errorf("%+v", r)
	}
	// Five subscriptions of a phone come as one.
	g := phones
	g.Requests = 5
	near(t, "five at once", plan(t, worked, g).AtLeast[1].Seconds, fmt.Sprintf("%.2f", 50000/Mean(40, 1e-3)))
}

func TestArguments(t *testing.T) {
	for name, change := range map[string]func(*Server, *Group){
		"no headroom": func(s *Server, _ *Group) { s.Background = 200 },
		"epsilon":     func(s *Server, _ *Group) { s.Epsilon = 0.6 },
		"bucket":      func(s *Server, _ *Group) { s.Bucket = 0 },
		"phones":      func(_ *Server, g *Group) { g.Phones = 0 },
		"interval":    func(_ *Server, g *Group) { g.Unit = 7200 },
	} {
		s, g := worked, phones
		change(&s, &g)
		if _, err := s.Plan(Timer{Name: "register", Groups: []Group{g}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhole: a window of the whole interval leaves the shortest value that a phone
// can have, and every number a number.
func TestWhole(t *testing.T) {
	g := phones
	g.Floor = 0
	r, err := worked.Plan(Timer{Name: "register", Groups: []Group{g}, Window: 3600})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(r); err != nil || r.Feasible || math.IsInf(r.Traffic, 0) {
		t.Errorf("%v, %s", err, text)
	}
}

// TestFull: a background that fills the server is an error, and one that does so
// for the whole window alone is null in JSON.
func TestFull(t *testing.T) {
	s := worked
	s.Background, s.BackgroundRandom = 190, true
	if _, err := s.Plan(Timer{Name: "register", Groups: []Group{phones}}); !errors.Is(err, ErrBackground) || !strings.Contains(err.Error(), "capacity of 235 requests/s") {
		t.Error(err)
	}
	s.Background = 159.9
	r := plan(t, s, phones)
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"seconds":null`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestEnumerate counts a fleet by hand and by the rule.
func TestEnumerate(t *testing.T) {
	got := Enumerate([]Duty{{Value: 10, Requests: 1}, {Value: 20, Requests: 2}, {Value: 15, Requests: 1}}, 1, 30)
	// At 20 s the first comes for the second time, at 30 s for the third.
	if got != (Fullest{Requests: 3, At: 20, Buckets: 4}) {
		t.Errorf("%+v", got)
	}
	draws, _ := herd.ParseRefresh("50%-75%")
	if got := Enumerate([]Duty{{Value: 100, Requests: 50, Refresh: draws}}, 1, 100); got != (Fullest{Requests: 2, At: 50, Buckets: 25}) {
		t.Errorf("%+v", got)
	}
	// 50,000 real phones in the window of the worked example.
	timer := spread.Timer{Interval: 3600, Window: 313, Floor: 60, Unit: 1}
	var duties []Duty
	for i := range 50000 {
		duties = append(duties, Duty{Value: float64(timer.For(fmt.Sprintf("001565%06x", i), "register.1").Seconds), Requests: 1})
	}
	got = Enumerate(duties, 1, 3600)
	if got.Buckets != 313 || got.Requests < 180 || got.Requests > 220 {
		t.Errorf("%+v", got)
	}
}

// Phones that look at a clock come together by the minute, whenever they were started:
// no round fades, no window costs traffic, and a day is all the room there is.
func TestDaily(t *testing.T) {
	s := Server{Capacity: 30, Epsilon: 1e-3, Bucket: 1, Within: 30, TrafficBudget: 0.01, MaxWait: 1}
	timer := Timer{Name: "checkin", Groups: []Group{{Phones: 1000, Interval: 86400, Floor: 3600, Unit: 60, Requests: 1, Daily: true}}}
	r, err := s.Plan(timer)
	if err != nil {
		t.Fatal(err)
	}
	// A thousand phones in W/60 minutes are 60,000/W in one second.
	if want := 1000 * 60 / r.Mean; math.Abs(r.AtLeast[1].Seconds-want) > 1 || r.Window != math.Ceil(want/60)*60 || !r.Feasible {
		t.Errorf("%+v, want %v s", r, want)
	}
	if r.Traffic != 1 || r.PerDay != 1000 || len(r.AtMost) != 1 || r.AtMost[0].Name != "day" || r.AtMost[0].Seconds != 86400 {
		t.Errorf("%+v", r)
	}
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1], "whenever they were started") {
		t.Errorf("%q", r.Warnings)
	}
	// Every other day is no more room, and half the requests a day.
	timer.Groups[0].Interval = 2 * 86400
	if other, err := s.Plan(timer); err != nil || other.Window != r.Window || other.PerDay != 500 {
		t.Errorf("%+v, %v", other, err)
	}
	timer.Groups[0].Interval = 90000
	if _, err := s.Plan(timer); err == nil || !strings.Contains(err.Error(), "whole days") {
		t.Error(err)
	}
	// Too many for a day: more days between two times are no way out.
	timer.Groups[0].Interval, timer.Groups[0].Phones = 86400, 1e6
	r, err = s.Plan(timer)
	if err != nil || r.Feasible || r.Binds != "day" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, way := range r.Ways {
		if way.Name == "interval" {
			t.Errorf("%+v", way)
		}
	}
	// Beside phones with an interval their rate is always there.
	mixed := Timer{Name: "checkin", Groups: []Group{{Phones: 100, Interval: 86400, Floor: 3600, Unit: 60, Requests: 1, Daily: true}, {Phones: 1000, Interval: 86400, Floor: 3600, Unit: 60, Requests: 1}}}
	alone := Timer{Name: "checkin", Groups: mixed.Groups[1:]}
	both, err1 := s.Plan(mixed)
	one, err2 := s.Plan(alone)
	if err1 != nil || err2 != nil || both.Rate <= 0 || both.AtLeast[0].Seconds <= one.AtLeast[0].Seconds || both.AtMost[0].Name != "floor" {
		t.Errorf("%+v %+v %v %v", both, one, err1, err2)
	}
}

func TestEnumerateDaily(t *testing.T) {
	f := Enumerate([]Duty{{Value: 7200, Requests: 2, Daily: 86400}, {Value: 7200, Requests: 1, Daily: 172800}, {Value: 0, Requests: 1, Daily: 86400}, {Value: 50400, Requests: 2}}, 1, 2*86400)
	// 02:00 on both days, and midnight three times; the interval comes at 14:00 and at 04:00.
	if f.Requests != 3 || f.At != 7200 || f.Buckets != 8 {
		t.Errorf("%+v", f)
	}
}
