package admission

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBucket(t *testing.T) {
	b := Bucket{Rate: 10, Depth: 5}
	take := func(now float64) int {
		n := 0
		for b.Take(now) {
			n++
		}
		return n
	}
	// Full at first, and one tenth of a second makes one token; a pause makes no
	// more than the depth.
	for _, test := range []struct {
		now  float64
		want int
	}{{0, 5}, {0, 0}, {0.05, 0}, {0.1, 1}, {0.3, 2}, {100, 5}, {100.1, 1}, {99, 0}, {100.2, 1}} {
		if got := take(test.now); got != test.want {
			t.Errorf("at %g: %d, want %d", test.now, got, test.want)
		}
	}
	if got := b.Free(100.4); got < 1.9 || got > 2.1 {
		t.Errorf("%v are free", got)
	}
	// Exactly at the rate nobody is refused, for long.
	b = Bucket{Rate: 7, Depth: 1}
	for i := range 100000 {
		if !b.Take(float64(i) / 7) {
			t.Fatalf("number %d is refused", i)
		}
	}
}

func TestCalendar(t *testing.T) {
	c := NewCalendar(2)
	for i, want := range []int{1, 1, 2, 2, 3, 3} {
		if got := c.Reserve(0, 0); got != want {
			t.Errorf("slot %d: %d s, want %d", i, got, want)
		}
	}
	// Another lane has half of seconds that are full, and then as much as there is.
	for i, want := range []int{1, 2, 3, 4, 4, 5} {
		if got := c.Reserve(0, 1); got != want {
			t.Errorf("slot %d of the second lane: %d s, want %d", i, got, want)
		}
	}
	if got := c.Queue(1); got != 4 {
		t.Errorf("%v s are taken", got)
	}
	// What was not taken is gone, and a slot is a whole second.
	if got := c.Reserve(50.5, 0); got != 2 {
		t.Errorf("%d s", got)
	}
	// A rate below one a second.
	c = NewCalendar(0.25)
	for i, want := range []int{4, 8, 12} {
		if got := c.Reserve(0, 0); got != want {
			t.Errorf("slot %d: %d s, want %d", i, got, want)
		}
	}
}

// TestReservedRate: whoever comes when told to, no second sees more than the rate
// and two.
func TestReservedRate(t *testing.T) {
	for _, rate := range []float64{160, 160.0207, 3.3, 0.7} {
		c := NewCalendar(rate)
		counts := map[int]int{}
		for i := range int(rate * 3000) {
			// They are refused over ten seconds.
			now := 10 * float64(i) / (rate * 3000)
			counts[int(now+float64(c.Reserve(now, 0))+1e-9)]++
		}
		for second, n := range counts {
			if float64(n) > rate+2 {
				t.Errorf("at %g/s second %d gets %d", rate, second, n)
			}
		}
	}
}

// TestHorizon: a backlog that is too long comes within the horizon, evenly.
func TestHorizon(t *testing.T) {
	c := NewCalendar(1)
	counts := map[int]int{}
	for range 3 * Horizon {
		after := c.Reserve(0, 0)
		if after < 1 || after > Horizon {
			t.Fatalf("%d s", after)
		}
		counts[after]++
	}
	for second, n := range counts {
		if n < 2 || n > 4 {
			t.Errorf("second %d gets %d", second, n)
		}
	}
	// A long pause clears everything.
	if got := c.Reserve(1e6, 0); got != 1 {
		t.Errorf("%d s", got)
	}
}

// clients lets phones come at a gate, each when told to, until all are in, and
// returns when the last phone of each owner got in and how often phones came.
func clients(t *testing.T, g *Gate, backlog []int) (last []int, attempts float64, peak int) {
	t.Helper()
	type phone struct{ id, owner int }
	due := map[int][]phone{}
	total := 0
	// Owners come mixed: a phone of each in turn.
	for i := 0; ; i++ {
		any := false
		for owner, n := range backlog {
			if i < n {
				due[0] = append(due[0], phone{total, owner})
				total++
				any = true
			}
		}
		if !any {
			break
		}
	}
	last = make([]int, len(backlog))
	requests := 0
	for now, in := 0, 0; in < total; now++ {
		if now > 1e5 {
			t.Fatalf("%d of %d are in", in, total)
		}
		if now > 0 {
			peak = max(peak, len(due[now]))
		}
		for _, p := range due[now] {
			requests++
			if after := g.Admit(float64(now), uint64(p.id), uint64(p.owner)); after > 0 {
				due[now+after] = append(due[now+after], p)
				continue
			}
			in++
			last[p.owner] = now
		}
		delete(due, now)
	}
	return last, float64(requests) / float64(total), peak
}

// TestDrain has the numbers of the design: 50,000 phones at 200 a second with slots
// at 160 come twice, never more than 162 a second, and are in after 313 s.
func TestDrain(t *testing.T) {
	last, attempts, peak := clients(t, NewGate(200, 200, 160), []int{50000})
	if last[0] < 311 || last[0] > 314 || math.Abs(attempts-2) > 0.01 || peak > 162 {
		t.Errorf("after %d s, %.3f attempts, peak %d", last[0], attempts, peak)
	}
}

// TestFair: an owner with few phones does not wait for one with many, and the
// other loses nothing by it.
func TestFair(t *testing.T) {
	last, attempts, peak := clients(t, NewGate(200, 200, 160), []int{40000, 1000, 500})
	if last[0] > 275 || last[1] > 25 || last[2] > 15 || attempts > 2.3 || peak > 420 {
		t.Errorf("after %v s, %.3f attempts, peak %d", last, attempts, peak)
	}
	many := make([]int, 20)
	for i := range many {
		many[i] = 1000
	}
	last, attempts, _ = clients(t, NewGate(200, 200, 160), many)
	for owner, at := range last {
		if at > 150 {
			t.Errorf("owner %d of 20 with 1,000 phones each waits %d s", owner, at)
		}
	}
	if attempts > 3 {
		t.Errorf("%.3f attempts", attempts)
	}
}

// TestBelowTheRate: nobody is refused as long as fewer come than the rate, by
// chance now and then more in a second.
func TestBelowTheRate(t *testing.T) {
	g := NewGate(200, 200, 160)
	random := rand.New(rand.NewPCG(1, 1))
	now := 0.0
	for i := range 200000 {
		now += random.ExpFloat64() / 170
		if after := g.Admit(now, uint64(i), uint64(i%7)); after != 0 {
			t.Fatalf("phone %d is refused", i)
		}
	}
	if len(g.passes) > 170*passSeconds*2 || len(g.entries) > 170*passSeconds*2 {
		t.Errorf("%d passes, %d entries", len(g.passes), len(g.entries))
	}
	if free, queue := g.State(now + 10); free != 200 || queue != 0 {
		t.Errorf("%v free, queue %d", free, queue)
	}
}

// TestPass: who was let in gets the rest of its files, and not without end.
func TestPass(t *testing.T) {
	g := NewGate(1, 1, 1)
	if g.Admit(0, 7, 0) != 0 || g.Admit(0, 8, 0) == 0 {
		t.Fatal("the bucket has not one token")
	}
	for i := range passRequests {
		if g.Admit(0.1, 7, 0) != 0 {
			t.Fatalf("file %d is refused", i+2)
		}
	}
	if g.Admit(0.1, 7, 0) == 0 {
		t.Error("a pass has no end")
	}
	g = NewGate(1, 1, 1)
	if g.Admit(0, 7, 0) != 0 || g.Admit(passSeconds-1, 8, 0) != 0 || g.Admit(passSeconds, 7, 0) != 0 || len(g.passes) != 2 {
		t.Error("a pass ends too late or too early")
	}
}
