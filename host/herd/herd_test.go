package herd

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"stagger/edge/spread"
)

// fleet is n phones of one vendor's prefix in sequence, the worst real case.
func fleet(n int, interval, window uint64) *Herd {
	timer := spread.Timer{Interval: interval, Window: window, Floor: 60, Unit: 1}
	h := &Herd{Interval: float64(interval), Window: float64(window), Values: make([]float64, n)}
	for i := range h.Values {
		h.Values[i] = float64(timer.For(fmt.Sprintf("001565%06x", i), "register.1").Seconds)
	}
	return h
}

func run(t *testing.T, h *Herd, e Event, scheme string, o Options) *Run {
	t.Helper()
	s, err := ParseScheme(scheme)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Run(t.Context(), e, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// within wants got to be want, give or take a share of it.
func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s is %v, want %v +-%.0f%%", what, got, want, 100*share)
	}
}

// TestReference has the reference run of the design: 100,000 phones that boot
// within 30 s, latency 0.2 s, clocks +-30 ppm, an interval of an hour. The largest
// of hundreds of random counts scatters by 10% from seed to seed.
func TestReference(t *testing.T) {
	periods := []int{1, 2, 5, 10, 50}
	for _, test := range []struct {
		window uint64
		scheme string
		want   []float64
		seed   uint64
	}{
		{360, "spread", []float64{320, 278, 85, 76, 72}, 1},
		{612, "spread", []float64{199, 179, 78, 66, 67}, 1},
		{612, "spread+first-delay", []float64{50, 50, 54, 49, 54}, 1},
	} {
		o := Reference
		o.Periods, o.Seed = 50, test.seed
		r := run(t, fleet(100000, 3600, test.window), Event{Within: 30}, test.scheme, o)
		for i, k := range periods {
			within(t, fmt.Sprintf("%s, window %d: the peak of period %d", test.scheme, test.window, k), float64(r.Peak(k)), test.want[i], 0.15)
		}
	}
	// A fixed interval: every round is the first one.
	o := Reference
	o.Periods, o.Seed = 51, 1
	r := run(t, fleet(100000, 3600, 0), Event{Within: 30}, "fixed", o)
	for _, k := range periods {
		within(t, fmt.Sprintf("fixed: the peak of round %d", k), float64(r.RoundPeak(k)), 3432, 0.03)
	}
	within(t, "the start", float64(slices.Max(r.Starts)), 3432, 0.03)
}

// TestTheory holds rounds to M/(kW) and the noise of random arrivals, and the
// long-run rate to its formula.
func TestTheory(t *testing.T) {
	const phones, interval = 100000.0, 3600.0
	for _, window := range []uint64{360, 612} {
		o := Reference
		o.Periods, o.Seed = 120, 2
		r := run(t, fleet(phones, interval, window), Event{Within: 30}, "spread", o)
		w := float64(window) / interval
		for k := 1; k <= 4 && float64(k)*w < 0.5; k++ {
			mean := phones / (float64(k) * float64(window))
			got := float64(r.RoundPeak(k))
			if floor := Noise(mean, k*int(window)); got < mean || got > 1.1*floor || got < 0.85*floor {
				t.Errorf("window %d: round %d peaks at %v, mean %v, with noise %v", window, k, got, mean, floor)
			}
		}
		within(t, "the long-run rate", r.Mean(), phones/interval*LongRun(w), 0.005)
	}
	within(t, "the peak of an even spread", Noise(27.8, 3600), 48, 0.03)
}

// TestSettled has the periods after which the peak is within 10% of its mean.
func TestSettled(t *testing.T) {
	for w, want := range map[float64]int{0.10: 74, 0.17: 45, 0.50: 4} {
		if got := Settled(w, 0.1); got != want {
			t.Errorf("w=%g settles after %d periods, want %d", w, got, want)
		}
	}
	if got := Density(1, 0.1); math.Abs(got-10) > 1e-12 {
		t.Errorf("the first repeat has a density of %v", got)
	}
	for _, w := range []float64{0.1, 0.17, 0.4} {
		if got := Density(100000, w); math.Abs(got/LongRun(w)-1) > 1e-3 {
			t.Errorf("w=%g: after long %v, want %v", w, got, LongRun(w))
		}
		// Below one half the first repeat is the worst.
		for k := 2; k < 50; k++ {
			if Density(k, w) >= Density(1, w) {
				t.Errorf("w=%g: period %d is worse than the first", w, k)
			}
		}
	}
}

// TestHalf: from half the interval on the second round begins before the first is
// over, and a wider window makes the first repeat worse.
func TestHalf(t *testing.T) {
	o := Reference
	o.Periods, o.Seed = 2, 1
	var peaks []float64
	for _, window := range []uint64{1700, 2100} {
		peaks = append(peaks, float64(run(t, fleet(200000, 3600, window), Event{Within: 30}, "spread", o).RoundPeak(1)))
	}
	if peaks[1] < 1.1*peaks[0] {
		t.Errorf("a window of 1700 s peaks at %v, one of 2100 s at %v", peaks[0], peaks[1])
	}
}

// TestInstant: phones that start at one instant stay in the cells of their values,
// and cells of several rounds meet.
func TestInstant(t *testing.T) {
	r := run(t, fleet(100000, 3600, 1500), Event{}, "spread", Options{Periods: 7, Seed: 1})
	if first, fifth := r.RoundPeak(1), r.RoundPeak(5); fifth <= first {
		t.Errorf("the first repeat peaks at %d, the fifth at %d", first, fifth)
	}
}

// TestReboot: a random value at every check-in is a reboot at every check-in.
func TestReboot(t *testing.T) {
	o := Reference
	o.Periods, o.Seed = 3, 1
	h := fleet(2000, 3600, 600)
	r := run(t, h, Event{Within: 30}, "reboot", o)
	// Once in 600 times it draws the same value again and has an hour of peace.
	cycle := 90*599.0/600 + 3300/600.0
	within(t, "the requests of a phone", float64(r.Requests)/2000, 3*3600/cycle, 0.02)
	within(t, "the reboots of a phone", float64(r.Reboots)/2000, 3*3600/90, 0.08)
	if redraw := run(t, h, Event{Within: 30}, "redraw", o); redraw.Reboots != 0 || r.Requests < 30*redraw.Requests {
		t.Errorf("%d requests with reboots, %d without", r.Requests, redraw.Requests)
	}
}

// TestWorkers: the counts depend on the seed and on nothing else.
func TestWorkers(t *testing.T) {
	h := fleet(5000, 3600, 600)
	h.Rules = []Refresh{{}, {from: 0.5, to: 0.75}}
	e := Event{Within: 5, Site: 100, Sites: 60}
	for _, scheme := range []string{"spread", "spread+registrar", "reboot", "first-delay+boot-delay"} {
		o := Options{Periods: 4, Latency: 0.2, Skew: 30, Loss: 0.1, Retry: 30, Reboot: 90, Seed: 7, Workers: 1}
		one := run(t, h, e, scheme, o)
		o.Workers = 3
		if three := run(t, h, e, scheme, o); !slices.Equal(one.Counts, three.Counts) || !slices.Equal(one.Starts, three.Starts) || one.Reboots != three.Reboots {
			t.Errorf("%s: one worker counts other than three", scheme)
		}
		o.Seed = 8
		if other := run(t, h, e, scheme, o); slices.Equal(one.Counts, other.Counts) {
			t.Errorf("%s: another seed counts the same", scheme)
		}
		sum := 0
		for _, n := range one.Starts {
			sum += int(n)
		}
		if sum != 5000 {
			t.Errorf("%s: %d starts", scheme, sum)
		}
	}
}

// TestExact follows a few phones without any noise.
func TestExact(t *testing.T) {
	counts := func(h *Herd, scheme string, o Options) map[int]uint32 {
		got := map[int]uint32{}
		for at, n := range run(t, h, Event{}, scheme, o).Counts {
			if n > 0 {
				got[at] = n
			}
		}
		return got
	}
	want := func(what string, got map[int]uint32, want string) {
		t.Helper()
		if s := fmt.Sprint(got); s != want {
			t.Errorf("%s: %s, want %s", what, s, want)
		}
	}
	h := &Herd{Interval: 100, Values: []float64{100, 90, 80}}
	want("fixed", counts(h, "fixed", Options{Periods: 3}), "map[100:3 200:3]")
	want("spread", counts(h, "spread", Options{Periods: 3}), "map[80:1 90:1 100:1 160:1 180:1 200:1 240:1 270:1]")
	half, _ := ParseRefresh("50%")
	h.Rules = []Refresh{half}
	want("half", counts(h, "fixed", Options{Periods: 2}), "map[50:3 100:3 150:3]")
	before, _ := ParseRefresh("-15")
	h.Rules = []Refresh{before}
	want("15 s before the end", counts(h, "spread", Options{Periods: 1}), "map[65:1 75:1 85:1]")
}

// TestPieces has what options and schemes do, each by itself.
func TestPieces(t *testing.T) {
	const phones = 20000
	h := fleet(phones, 3600, 600)
	quiet := Options{Periods: 3, Seed: 3}
	loss := quiet
	loss.Loss, loss.Retry = 0.2, 30
	r := run(t, h, Event{}, "fixed", loss)
	within(t, "who was not lost", float64(r.Counts[3600]), phones*0.8, 0.02)
	within(t, "who tried again", float64(r.Counts[3630]), phones*0.8*0.2, 0.04)

	r = run(t, h, Event{}, "boot-delay=120", quiet)
	within(t, "a start over 120 s", float64(slices.Max(r.Starts)), phones/120.0, 0.35)
	within(t, "its repeat", float64(r.RoundPeak(1)), phones/120.0, 0.35)

	r = run(t, h, Event{}, "registrar=10%", quiet)
	within(t, "the registrar's spread", float64(r.RoundPeak(1)), Noise(phones/360.0, 360), 0.15)
	within(t, "the registrar's second round", float64(r.RoundPeak(2)), Noise(phones/360.0, 360), 0.25)

	// Sites come back over ten minutes, and so they come again.
	r = run(t, h, Event{Within: 10, Site: 200, Sites: 600}, "fixed", quiet)
	if peak := r.RoundPeak(1); peak > 200*10/5 || peak != slices.Max(r.Starts) && math.Abs(float64(peak)-float64(slices.Max(r.Starts))) > 20 {
		t.Errorf("the first round peaks at %d, the start at %d", peak, slices.Max(r.Starts))
	}

	skewed := quiet
	skewed.Skew = 1000
	r = run(t, h, Event{}, "fixed", skewed)
	within(t, "the second round of clocks that are 0.1% wrong", float64(r.RoundPeak(2)), phones/14.4, 0.2)
}

func TestErrors(t *testing.T) {
	h := fleet(10, 3600, 600)
	for _, test := range []struct {
		herd   *Herd
		scheme Scheme
		o      Options
	}{
		{&Herd{Interval: 3600}, Scheme{}, Options{Periods: 1}},
		{h, Scheme{}, Options{}},
		{h, Scheme{}, Options{Periods: 1, Loss: 1}},
		{h, Scheme{}, Options{Periods: 1, Loss: 0.5}},
		{h, Scheme{Reboot: true}, Options{Periods: 1}},
	} {
		if _, err := test.herd.Run(t.Context(), Event{}, test.scheme, test.o); err == nil {
			t.Errorf("%+v", test.o)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Run(ctx, Event{}, Scheme{}, Options{Periods: 10}); err != context.Canceled {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"full", "50%", "-60", "50%-75%", "90%"} {
		if r, err := ParseRefresh(text); err != nil || r.String() != text {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "half", "0%", "101%", "-0", "-x", "75%-50%", "50%-", "-60%", "1e2%"} {
		if r, err := ParseRefresh(text); err == nil {
			t.Errorf("%q is %v", text, r)
		}
	}
	// Never before the half of the value.
	r, _ := ParseRefresh("-60")
	if low, high := r.Range(100); low != 50 || high != 50 || r.Draws() {
		t.Errorf("%v, %v", low, high)
	}
	for _, text := range []string{"fixed", "spread", "spread+first-delay", "registrar=17%", "spread+registrar", "boot-delay=30+fixed", "reboot+boot-delay", "redraw"} {
		if _, err := ParseScheme(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"", "spred", "spread+spread", "fixed+spread", "redraw+spread", "reboot+spread", "registrar=x", "registrar=95%", "boot-delay=0", "spread=3"} {
		if s, err := ParseScheme(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	if Schemes() == "" {
		t.Error("no schemes")
	}
}

// Phones that look at a clock come at their time on every day, whenever and however they
// were started, and neither a first delay nor a registrar moves them.
func TestDaily(t *testing.T) {
	h := Herd{Interval: 86400, Window: 600, Values: make([]float64, 300), Intervals: make([]float64, 300), Daily: make([]float64, 300)}
	for i := range h.Values {
		h.Values[i], h.Intervals[i], h.Daily[i] = 7200+float64(i%10)*60, 7200, 86400
	}
	for _, c := range []struct {
		scheme string
		at     []int
		each   uint32
	}{
		{"fixed", []int{7200}, 300},
		{"fixed+registrar", []int{7200}, 300},
		{"spread", []int{7200, 7260, 7740}, 30},
		{"spread+first-delay", []int{7200, 7260, 7740}, 30},
	} {
		s, err := ParseScheme(c.scheme)
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.Run(t.Context(), Event{Within: 30}, s, Options{Periods: 3, Seed: 1, Skew: 30, Retry: 30})
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests != 900 {
			t.Errorf("%s: %d requests", c.scheme, r.Requests)
		}
		for day := range 3 {
			for _, at := range c.at {
				if n := r.Counts[day*86400+at]; n != c.each {
					t.Errorf("%s: %d phones on day %d at %d", c.scheme, n, day, at)
				}
			}
		}
	}
	// Drawn anew each day: in the window, and not where they were.
	s, err := ParseScheme("redraw")
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Run(t.Context(), Event{}, s, Options{Periods: 3, Seed: 1, Retry: 30})
	if err != nil {
		t.Fatal(err)
	}
	for at, n := range r.Counts {
		if n > 0 && (at%86400 < 7200 || at%86400 >= 7800) {
			t.Errorf("%d phones at %d", n, at)
		}
	}
	if r.Requests != 900 || slices.Max(r.Counts) > 10 {
		t.Errorf("%d requests, %d in one second", r.Requests, slices.Max(r.Counts))
	}
	// A phone whose time is over when it starts waits for the next day.
	h = Herd{Interval: 86400, Values: []float64{10}, Intervals: []float64{10}, Daily: []float64{86400}}
	if r, err = h.Run(t.Context(), Event{Site: 1, Sites: 7200}, Scheme{Spread: true}, Options{Periods: 2, Seed: 1, Retry: 30}); err != nil || r.Requests != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
