package drain

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// reference is the example of the design.
var reference = Queue{Backlog: 50000, Headroom: 200, Retry: 30, Slots: 160, Seed: 1}

func compare(t *testing.T, q Queue) map[string]Result {
	t.Helper()
	list, err := q.Compare()
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]Result{}
	for _, r := range list {
		results[r.Strategy] = r
	}
	if len(results) != 5 {
		t.Fatalf("%v", results)
	}
	return results
}

// TestReference has the numbers of the design. They follow from counting: with a
// constant Retry-After 200 of those who are left are served every 30 s.
func TestReference(t *testing.T) {
	r := compare(t, reference)
	if c := r["constant"]; fmt.Sprintf("%.1f", c.Attempts) != "125.5" || c.Last != 7470 || c.Peak != 49800 || !c.Drained {
		t.Errorf("%+v", c)
	}
	// 313 s by a running number that starts in the middle of the first second.
	if s := r["slots"]; fmt.Sprintf("%.1f", s.Attempts) != "2.0" || s.Last < 312 || s.Last > 313 || s.Peak > 162 || !s.Drained {
		t.Errorf("%+v", s)
	}
	// All at once, every second: as fast as can be, at any price.
	if b := r["token bucket"]; b.Last != 249 || b.Peak != 49800 || math.Abs(b.Attempts-125.5) > 1e-9 {
		t.Errorf("%+v", b)
	}
	// Random in 30 s keeps the server busy, and asks it as often as a constant.
	if x := r["random"]; x.Last < 249 || x.Last > 290 || x.Attempts < 8 || x.Attempts > 12 {
		t.Errorf("%+v", x)
	}
	// A back-off has few attempts and a long end.
	if f := r["rfc5626"]; f.Attempts < 2 || f.Attempts > 8 || f.Last < 500 || f.Last > 4000 || f.Peak < 200 {
		t.Errorf("%+v", f)
	}
	if shortest, err := reference.Shortest(); shortest != 250 || err != nil {
		t.Error(shortest, err)
	}
}

// TestArrivals: new phones make it longer, by the formula.
func TestArrivals(t *testing.T) {
	q := reference
	q.Arrivals, q.Slots = 30, 160-30
	shortest, err := q.Shortest()
	if err != nil || math.Abs(shortest-50000.0/170) > 1e-9 {
		t.Error(shortest, err)
	}
	for name, r := range compare(t, q) {
		if !r.Drained || float64(r.Last) < shortest-2 {
			t.Errorf("%s: %+v in less than %v", name, r, shortest)
		}
	}
	r := compare(t, q)
	if s := r["slots"]; s.Peak > 130+30+3 || s.Attempts > 2 || math.Abs(float64(s.Last)-50000.0/130) > 3 {
		t.Errorf("%+v", s)
	}
	if b := r["token bucket"]; math.Abs(float64(b.Last)-shortest) > 3 {
		t.Errorf("%+v, want %v s", b, shortest)
	}
	q.Arrivals = 200
	if _, err := q.Compare(); !errors.Is(err, ErrNever) {
		t.Error(err)
	}
	// It would drain, and not in the time that is looked at.
	q.Arrivals, q.Horizon = 0, 100
	if c := compare(t, q)["constant"]; c.Drained || c.Last != 100 {
		t.Errorf("%+v", c)
	}
}

func TestBurst(t *testing.T) {
	// What a server can take at once after a pause serves a constant's bursts.
	q := reference
	q.Burst = 6000
	if c := compare(t, q)["constant"]; c.Last > 9*30 || c.Attempts > 6 {
		t.Errorf("%+v", c)
	}
	// A small backlog is served at once.
	q = reference
	q.Backlog = 200
	for name, r := range compare(t, q) {
		if r.Attempts != 1 || r.Last != 0 || r.Peak != 0 || r.Half != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestArguments(t *testing.T) {
	for name, change := range map[string]func(*Queue){
		"backlog":  func(q *Queue) { q.Backlog = 0 },
		"headroom": func(q *Queue) { q.Headroom = 0 },
		"retry":    func(q *Queue) { q.Retry = 0 },
		"slots":    func(q *Queue) { q.Slots = 0 },
		"arrivals": func(q *Queue) { q.Arrivals = -1 },
	} {
		q := reference
		change(&q)
		if _, err := q.Compare(); err == nil || errors.Is(err, ErrNever) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
