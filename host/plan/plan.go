// Package plan computes how wide a window has to be.
//
// It owns the bounds of a window, from below (what a server can take when all
// phones started together) and from above (what the interval, the operator and
// the users can bear), and the verdict when they leave no room. It must never
// round a bound to make it fit, never choose a window that breaks one in
// silence, and never read a file or a clock.
//
// The model is the one of the first repeats after an event: phones that started
// together come again after their own value. With values even over a window W,
// round k of M phones is even over k times W. What comes in one bucket of b
// seconds is then Poisson with a mean of M*b/W at most.
package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"stagger/host/herd"
)

// A Group is a number of phones with one timer in common.
type Group struct {
	Phones float64
	// Interval and Floor are seconds; Floor includes the smallest value that the
	// phone accepts. Unit is what the phone counts in, in seconds.
	Interval, Floor, Unit float64
	// Daily says that the phones come at a time of the day, less than the window after
	// one that they have in common, and Interval is the whole days between two times.
	// There is no floor then. An event does not bring such phones together: they
	// are as many at a time on every day.
	Daily bool
	// Requests is how many requests one renewal makes at about the same moment.
	Requests float64
	Refresh  herd.Refresh
}

// ErrBackground is that of a server which is full without any phone.
var ErrBackground = errors.New("the background alone overflows a bucket more often than accepted")

// A Server is what the phones come to, and what may be asked of it.
type Server struct {
	// Capacity and Background are requests a second. BackgroundRandom takes the
	// background for random arrivals instead of a constant.
	Capacity, Background float64
	BackgroundRandom     bool
	// Service is how long a request takes at the slow end (p90 to p95), in
	// seconds, and Concurrency how many more the server can have at work. Either
	// 0 leaves that bound out.
	Service, Concurrency float64
	// Epsilon is the accepted chance that a bucket of Bucket seconds overflows.
	Epsilon, Bucket float64
	// Within is how many seconds it takes until all phones have started.
	Within float64
	// TrafficBudget is the share of more requests that may be paid for the
	// window, Deadline the seconds in which all phones must have come again, and
	// MaxWait the mean shortening that users bear. 0 leaves the bound out.
	TrafficBudget, Deadline, MaxWait float64
	// RegistrarMin and RegistrarMax are the values that the registrar grants at
	// least and at most; 0 is none.
	RegistrarMin, RegistrarMax float64
}

// A Timer is what a window is sought for.
type Timer struct {
	Name   string
	Groups []Group
	// Beside are those that share the server: after the same event they come at
	// the same time, in the same window.
	Beside []Group
	// Window is a window to judge; 0 seeks one.
	Window float64
}

// A Bound is one reason for a window's width.
type Bound struct {
	Name string `json:"name"`
	// Seconds is the window that the bound asks for.
	Seconds float64 `json:"seconds"`
	Formula string  `json:"formula"`
	// Note adds what does not fit a formula.
	Note string `json:"note,omitempty"`
}

// MarshalJSON writes null for a window that is never wide enough.
func (b Bound) MarshalJSON() ([]byte, error) {
	type plain Bound
	if !math.IsInf(b.Seconds, 1) {
		return json.Marshal(plain(b))
	}
	return json.Marshal(struct {
		plain
		Seconds *float64 `json:"seconds"`
	}{plain: plain(b)})
}

// A Way is a way out when no window fits: change Name to Value.
type Way struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Text  string  `json:"text"`

	// apply goes this way, so that a test can see that it leads out.
	apply func(*Server, *Timer)
}

// A Result is a window and every reason for it. All times are seconds, all rates
// requests a second.
type Result struct {
	Timer    string  `json:"timer"`
	Phones   float64 `json:"phones"`
	Requests float64 `json:"requests_in_step"`
	Interval float64 `json:"interval"`
	Floor    float64 `json:"floor"`
	Unit     float64 `json:"unit"`
	// Daily says that the phones, or most of them, come at a time of the day.
	Daily    bool    `json:"time_of_day,omitempty"`
	Headroom float64 `json:"headroom"`

	// AtLeast and AtMost are the bounds. Beside them stand the bound of one
	// bucket by the normal approximation, and the window in which no bucket at
	// all overflows with the accepted chance.
	AtLeast     []Bound `json:"at_least"`
	AtMost      []Bound `json:"at_most"`
	Approximate Bound   `json:"approximate"`
	WholeWindow Bound   `json:"whole_window"`
	// Mean is the largest mean of a bucket, exactly and by approximation, and
	// TrueChance what the approximation really accepts.
	Mean            float64 `json:"mean"`
	MeanApproximate float64 `json:"mean_approximate"`
	TrueChance      float64 `json:"true_chance"`

	// Window is the chosen window or the one that was to be judged, Share its
	// share of the interval, Binding the largest lower bound and Limiting the
	// smallest upper bound.
	Window   float64 `json:"window"`
	Share    float64 `json:"share"`
	Binding  string  `json:"binding"`
	Limiting string  `json:"limiting"`
	Feasible bool    `json:"feasible"`
	// Binds is the bound that makes it infeasible, and Short by how many seconds.
	Binds string  `json:"binds,omitempty"`
	Short float64 `json:"short"`
	// Rate is the highest rate after the event, Chance that a bucket overflows
	// then, and ChanceAny that any does in the first repeat.
	Rate      float64 `json:"rate"`
	Chance    float64 `json:"chance"`
	ChanceAny float64 `json:"chance_any"`
	// Values is how many distinct values the phones share out, Traffic the
	// factor by which requests grow, PerDay the requests a day with it.
	Values   float64  `json:"values"`
	Traffic  float64  `json:"traffic"`
	PerDay   float64  `json:"requests_per_day"`
	Ways     []Way    `json:"ways,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Plan seeks the narrowest window that the server can take, or judges the one
// that the timer names. The error is one of the arguments.
func (s Server) Plan(t Timer) (*Result, error) {
	if err := s.check(t); err != nil {
		return nil, err
	}
	p := newProblem(s, t)
	if p.mean(p.limit, p.Epsilon, Mean) == 0 {
		return nil, fmt.Errorf("%s: %w: no window is wide enough; a capacity of %s requests/s leaves room", t.Name, ErrBackground, format(p.capacity(1)))
	}
	r := p.result()
	p.lower(r)
	p.beside(r)
	p.upper(r)
	p.choose(r)
	return r, nil
}

// largest bounds every rate and time: a sum over a Poisson distribution takes as
// many steps as its deviation is wide.
const largest = 1e8

func (s Server) check(t Timer) error {
	for _, x := range []float64{
		s.Capacity, s.Background, s.Service, s.Concurrency, s.Bucket, s.Within, s.TrafficBudget,
		s.Deadline, s.MaxWait, s.RegistrarMin, s.RegistrarMax, t.Window,
	} {
		if !(x >= 0 && x <= largest) {
			return fmt.Errorf("%s: %g is not a number from 0 to %.0f", t.Name, x, largest)
		}
	}
	switch {
	case len(t.Groups) == 0:
		return fmt.Errorf("%s: no phones", t.Name)
	case !(s.Capacity > s.Background) || s.Background < 0:
		return fmt.Errorf("%s: no headroom: a capacity of %g is not above the background of %g requests/s", t.Name, s.Capacity, s.Background)
	case !(s.Epsilon > 0 && s.Epsilon <= 0.5):
		return fmt.Errorf("%s: epsilon must be above 0 and at most 0.5", t.Name)
	case !(s.Bucket > 0):
		return fmt.Errorf("%s: bucket must be above 0", t.Name)
	}
	for _, g := range slices.Concat(t.Groups, t.Beside) {
		if !(g.Phones > 0 && g.Interval >= g.Unit && g.Unit > 0 && g.Requests > 0 && g.Floor >= 0) {
			return fmt.Errorf("%s: phones, interval, unit and requests must be above 0, and the interval one unit or more", t.Name)
		}
		if g.Daily && math.Mod(g.Interval, day) != 0 {
			return fmt.Errorf("%s: phones that come at a time of the day have whole days of %d s for an interval", t.Name, day)
		}
	}
	return nil
}

// A problem is a server and the phones that come to it.
type problem struct {
	Server
	timer Timer
	own   Group   // the own group with the most phones, for formulas
	all   []Group // own and beside
	// each is the largest number of requests that come as one.
	each float64
	// limit is how many renewals fit into a bucket.
	limit    float64
	headroom float64
}

func newProblem(s Server, t Timer) *problem {
	p := &problem{Server: s, timer: t, all: slices.Concat(t.Groups, t.Beside), headroom: s.Capacity - s.Background}
	p.own = slices.MaxFunc(t.Groups, func(a, b Group) int { return cmp.Compare(a.Phones, b.Phones) })
	for _, g := range p.all {
		p.each = max(p.each, g.Requests)
	}
	p.limit = p.limitAt(s.Capacity)
	return p
}

// floor is the lowest value that a phone of the group is left with.
func (p *problem) floor(g Group) float64 {
	return max(g.Floor, p.RegistrarMin, g.Unit)
}

// day is a day in seconds.
const day = 86400

// room is the widest window of the group.
func (p *problem) room(g Group) float64 {
	if g.Daily {
		return day
	}
	return max(0, g.Interval-p.floor(g))
}

// allDaily says whether every group comes at a time of the day.
func allDaily(groups []Group) bool {
	return !slices.ContainsFunc(groups, func(g Group) bool { return !g.Daily })
}

// limitAt is how many renewals fit into a bucket at this capacity. A renewal of n
// requests is one arrival that takes n places.
func (p *problem) limitAt(capacity float64) float64 {
	free := capacity - p.Background
	if p.BackgroundRandom {
		free = capacity
	}
	// The least that is more than a rounding error below a whole number is one.
	return math.Floor(free*p.Bucket/p.each + 1e-9)
}

// mean is the largest mean of renewals in a bucket so that more than limit come
// with a chance of epsilon.
func (p *problem) mean(limit, epsilon float64, of func(limit, epsilon float64) float64) float64 {
	m := of(limit, epsilon)
	if p.BackgroundRandom {
		m -= p.Background * p.Bucket / p.each
	}
	return max(0, m)
}

// rate turns a mean of renewals in a bucket into requests a second.
func (p *problem) rate(mean float64) float64 { return mean * p.each / p.Bucket }

// cells is by how much values in a coarse unit crowd: phones that start together
// and count in minutes come together, minute by minute, unless their starts are
// spread as widely as the unit.
// Those that look at a clock come together whenever they were started.
func (p *problem) cells(g Group) float64 {
	if g.Daily {
		return max(1, g.Unit/p.Bucket)
	}
	return max(1, g.Unit/max(p.Within, p.Bucket))
}

// peak is the highest expected rate after the event with this window: the sum of
// all rounds of all groups that meet at some moment.
func (p *problem) peak(window float64) float64 {
	type edge struct{ at, rate float64 }
	var edges []edge
	steady, horizon := 0.0, 0.0
	for _, g := range p.all {
		_, high := g.Refresh.Range(g.Interval)
		horizon = max(horizon, 2*high)
	}
	for _, g := range p.all {
		w := min(window, p.room(g))
		load := g.Phones * g.Requests
		if g.Daily {
			// Whenever the event is, it may be just before their time.
			steady += load * p.cells(g) / max(w, p.Bucket)
			continue
		}
		low, _ := g.Refresh.Range(g.Interval - w)
		_, high := g.Refresh.Range(g.Interval)
		if g.Refresh.Draws() {
			// The first two rounds are as dense as one draw; later ones less.
			first, last := g.Refresh.Range(g.Interval - w)
			steady += load / (last - first)
			continue
		}
		rate := load * p.cells(g) / max(high-low, p.Bucket)
		// Beyond some rounds a group is as good as even.
		const rounds = 50
		for k := 1.0; k*low <= horizon && k <= rounds; k++ {
			edges = append(edges, edge{k * low, rate / k}, edge{max(k*high, k*low+p.Bucket), -rate / k})
		}
	}
	// Where one round ends as another begins they do not meet.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rate, b.rate)) })
	sum, top := 0.0, 0.0
	for _, e := range edges {
		sum += e.rate
		top = max(top, sum)
	}
	return top + steady
}

// widest is the window beyond which the peak grows again, because rounds meet.
// For one group it is half the interval.
func (p *problem) widest() float64 {
	if allDaily(p.all) {
		return day
	}
	if len(p.all) == 1 && !p.own.Refresh.Draws() {
		// Where the last of round 1 meets the first of round 2.
		return p.invert(p.own, func(low, high float64) bool { return 2*low >= high })
	}
	best, at := math.Inf(1), 0.0
	for _, w := range p.grid() {
		if peak := p.peak(w); peak < best*(1-1e-9) {
			best, at = peak, w
		}
	}
	return at
}

// invert is the widest window for which holds what is true for narrow ones.
func (p *problem) invert(g Group, holds func(low, high float64) bool) float64 {
	_, high := g.Refresh.Range(g.Interval)
	return bisect(0, g.Interval, func(w float64) bool {
		low, _ := g.Refresh.Range(g.Interval - w)
		return low > 0 && holds(low, high)
	})
}

// bisect returns the largest x of [low, high] for which holds is true, when it is
// true up to some x and false beyond.
func bisect(low, high float64, holds func(float64) bool) float64 {
	if holds(high) {
		return high
	}
	for range 100 {
		middle := low + (high-low)/2
		if holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// grid are windows to try.
func (p *problem) grid() []float64 {
	longest := 0.0
	for _, g := range p.all {
		if g.Daily {
			longest = max(longest, day)
		} else {
			longest = max(longest, g.Interval)
		}
	}
	// Beyond half the interval rounds of one group meet; with several groups it
	// is somewhere near.
	const steps = 300
	windows := make([]float64, 0, steps)
	for i := range steps {
		windows = append(windows, longest*0.75*float64(i+1)/steps)
	}
	return windows
}

// window is the narrowest one with which no rate above the given one is expected.
func (p *problem) window(rate float64) float64 {
	if rate <= 0 {
		return math.Inf(1)
	}
	// All first rounds at once: too wide by nothing for one group, by something
	// for several.
	together, previous := 0.0, 0.0
	for _, g := range p.all {
		first, _ := g.Refresh.Range(g.Interval)
		second, _ := g.Refresh.Range(g.Interval - 1)
		together += g.Phones * g.Requests * p.cells(g) / max(first-second, 1e-9)
	}
	together /= rate
	if len(p.all) == 1 && !p.own.Refresh.Draws() {
		return together
	}
	for _, w := range p.grid() {
		if p.peak(w) > rate {
			previous = w
			continue
		}
		return bisect(previous, w, func(w float64) bool { return p.peak(w) > rate })
	}
	return together
}

func (p *problem) result() *Result {
	r := &Result{
		Timer: p.timer.Name, Interval: p.own.Interval, Floor: p.own.Floor, Unit: p.own.Unit, Daily: p.own.Daily, Headroom: p.headroom,
	}
	for _, g := range p.timer.Groups {
		r.Phones += g.Phones
	}
	for _, g := range p.all {
		r.Requests += g.Phones * g.Requests
	}
	return r
}

// lower are the bounds from below.
func (p *problem) lower(r *Result) {
	m := format(r.Requests)
	r.AtLeast = append(r.AtLeast, Bound{
		Name: "headroom", Seconds: p.window(p.headroom),
		Formula: fmt.Sprintf("M/H = %s/%s", m, format(p.headroom)) + p.stretch(p.window(p.headroom), p.headroom),
	})

	r.Mean = p.mean(p.limit, p.Epsilon, Mean)
	what := fmt.Sprintf("P(N > %s) <= %g", format(p.limit), p.Epsilon)
	random := ""
	if p.BackgroundRandom {
		random = fmt.Sprintf(" beside a random background of %s", format(p.Background))
	}
	each := ""
	if p.each > 1 {
		each = fmt.Sprintf("; %s requests come as one", format(p.each))
	}
	r.AtLeast = append(r.AtLeast, p.bucket(r, "one bucket", r.Mean, fmt.Sprintf("lambda is the largest mean with %s%s, exact%s", what, random, each)))
	if p.Service > 0 && p.Concurrency > 0 {
		rate := p.Concurrency / p.Service
		r.AtLeast = append(r.AtLeast, Bound{
			Name: "concurrency", Seconds: p.window(rate),
			Formula: fmt.Sprintf("M*s/K = %s*%s/%s", m, format(p.Service), format(p.Concurrency)) + p.stretch(p.window(rate), rate),
		})
	}
	if s := p.stretch(r.AtLeast[0].Seconds, p.headroom); s != "" {
		r.Warnings = append(r.Warnings, "the factor"+s+" is that of several groups that meet, of moments of renewal before the end and of coarse units, against one group in seconds")
	}
}

// bucket is the bound of a mean of renewals in one bucket.
func (p *problem) bucket(r *Result, name string, mean float64, note string) Bound {
	window := p.window(p.rate(mean))
	return Bound{
		Name: name, Seconds: window, Note: note,
		Formula: fmt.Sprintf("M*b/lambda = %s*%s/%.5g", format(r.Requests/p.each), format(p.Bucket), mean) + p.stretch(window, p.rate(mean)),
	}
}

// stretch is the factor of a window against that of as many phones in one group
// that renew at the end and count in seconds, where it is another.
func (p *problem) stretch(window, rate float64) string {
	load := 0.0
	for _, g := range p.all {
		load += g.Phones * g.Requests
	}
	factor := window * rate / load
	if math.Abs(factor-1) < 1e-6 || math.IsInf(window, 1) {
		return ""
	}
	return fmt.Sprintf(" * %.3f", factor)
}

// beside are the two bounds that stand beside that of one bucket.
func (p *problem) beside(r *Result) {
	r.MeanApproximate = p.mean(p.limit, p.Epsilon, MeanNormal)
	r.TrueChance = p.chance(p.rate(r.MeanApproximate))
	r.Approximate = p.bucket(r, "approximately", r.MeanApproximate,
		fmt.Sprintf("by the normal approximation, too narrow: it really accepts %.2g, %.1f times as much", r.TrueChance, r.TrueChance/p.Epsilon))
	whole := r.AtLeast[1].Seconds
	mean := r.Mean
	for range 50 {
		mean = p.mean(p.limit, p.Epsilon/max(1, whole/p.Bucket), Mean)
		next := p.window(p.rate(mean))
		if math.IsInf(next, 1) || math.Abs(next-whole) < 1e-9*whole {
			whole = next
			break
		}
		whole = next
	}
	r.WholeWindow = p.bucket(r, "whole window", mean, fmt.Sprintf("that any bucket of the window overflows has a chance of %g", p.Epsilon))
}

// chance is that of a bucket to overflow at this rate of requests.
func (p *problem) chance(rate float64) float64 {
	mean := rate * p.Bucket / p.each
	if p.BackgroundRandom {
		mean += p.Background * p.Bucket / p.each
	}
	return Tail(p.limit, mean)
}

// traffic is the factor by which a window makes requests more.
func (p *problem) traffic(window float64) float64 {
	with, without := 0.0, 0.0
	for _, g := range p.timer.Groups {
		w := min(window, p.room(g))
		low, high := g.Refresh.Range(g.Interval)
		from, to := g.Refresh.Range(g.Interval - w)
		every := (low + high) / 2
		rate := g.Phones * g.Requests / every
		without += rate
		if g.Daily {
			with += rate // nobody comes more often for coming later
			continue
		}
		with += rate * extra((from+to)/2, every)
	}
	return with / without
}

// extra is the mean of high/x for x even over [low, high]. It is not high over
// the mean of x: phones with a short value come more often.
func extra(low, high float64) float64 {
	if high-low < 1e-9*high {
		return 1
	}
	return high * math.Log(high/low) / (high - low)
}

// Extra is the factor by which a window of this share of the interval makes
// requests more, 0 <= share < 1: -ln(1-w)/w.
func Extra(share float64) float64 { return extra(1-share, 1) }

// Share is the widest share of the interval that costs budget more requests.
func Share(budget float64) float64 {
	return bisect(0, 1-1e-12, func(w float64) bool { return Extra(w) <= 1+budget })
}

// upper are the bounds from above.
func (p *problem) upper(r *Result) {
	// Phones that come at a time of the day have no rounds that meet, and none of them
	// comes earlier or more often for a window.
	daily := allDaily(p.timer.Groups)
	room, widest := 0.0, p.own
	for _, g := range p.timer.Groups {
		if p.room(g) > room && (daily || !g.Daily) {
			room, widest = p.room(g), g
		}
	}
	floor := Bound{Name: "floor", Seconds: room, Formula: fmt.Sprintf("I - F = %s - %s", format(widest.Interval), format(p.floor(widest)))}
	if widest.Daily {
		floor = Bound{Name: "day", Seconds: day, Formula: fmt.Sprintf("%d", day), Note: "a time of the day has no more room"}
	} else if p.RegistrarMin > widest.Floor {
		floor.Name = "registrar minimum"
		floor.Note = "the registrar grants no less, so that a wider window would pile phones up on it"
	}
	r.AtMost = append(r.AtMost, floor)
	if !daily {
		rounds := Bound{Name: "rounds", Seconds: p.widest(), Note: "in a wider one rounds meet, and the peak grows again"}
		rounds.Formula = fmt.Sprintf("I/2 = %s/2", format(p.own.Interval))
		if len(p.all) > 1 || p.own.Refresh != (herd.Refresh{}) {
			rounds.Formula = fmt.Sprintf("%.1f%% of %s", 100*rounds.Seconds/p.own.Interval, format(p.own.Interval))
		}
		r.AtMost = append(r.AtMost, rounds)
	}
	if p.TrafficBudget > 0 && !daily {
		w := bisect(0, widest.Interval, func(w float64) bool { return p.traffic(w) <= 1+p.TrafficBudget })
		// A floor above it leaves the budget unused; the bound is the same.
		r.AtMost = append(r.AtMost, Bound{
			Name: "traffic", Seconds: min(w, widest.Interval),
			Formula: fmt.Sprintf("w*I = %.3f*%s, -ln(1-w)/w <= %g", w/widest.Interval, format(widest.Interval), 1+p.TrafficBudget),
		})
	}
	if p.Deadline > 0 {
		r.AtMost = append(r.AtMost, Bound{Name: "deadline", Seconds: p.Deadline - p.Service,
			Formula: fmt.Sprintf("D - s = %s - %s", format(p.Deadline), format(p.Service))})
	}
	if p.MaxWait > 0 && !daily {
		r.AtMost = append(r.AtMost, Bound{Name: "wait", Seconds: 2 * p.MaxWait, Formula: fmt.Sprintf("2*L = 2*%s", format(p.MaxWait))})
	}
}

// choose picks the window and says what it does.
func (p *problem) choose(r *Result) {
	least, most := slices.MaxFunc(r.AtLeast, bySeconds), slices.MinFunc(r.AtMost, bySeconds)
	r.Binding, r.Limiting = least.Name, most.Name
	r.Window = p.timer.Window
	if r.Window == 0 {
		// Up to the next whole unit; down when that unit is above the bound.
		r.Window = math.Ceil(least.Seconds/r.Unit-1e-9) * r.Unit
	}
	r.Feasible = r.Window >= least.Seconds && r.Window <= most.Seconds
	switch {
	case least.Seconds > most.Seconds:
		r.Short, r.Binds = least.Seconds-most.Seconds, most.Name
		r.Window = p.timer.Window
		if r.Window == 0 {
			// What can be had, for the numbers below; the verdict is no.
			r.Window = math.Floor(max(0, most.Seconds)/r.Unit) * r.Unit
		}
	case r.Window < least.Seconds:
		r.Short, r.Binds = least.Seconds-r.Window, least.Name
	case r.Window > most.Seconds:
		r.Short, r.Binds = r.Window-most.Seconds, most.Name
	}
	r.Share = r.Window / r.Interval
	r.Rate = p.peak(r.Window)
	r.Chance = p.chance(r.Rate)
	buckets := max(1, r.Window/p.Bucket)
	r.ChanceAny = -math.Expm1(buckets * math.Log1p(-min(r.Chance, 1-1e-16)))
	r.Values = max(1, math.Floor(min(r.Window, p.room(p.own))/r.Unit))
	r.Traffic = p.traffic(r.Window)
	for _, g := range p.timer.Groups {
		low, high := g.Refresh.Range(g.Interval)
		r.PerDay += g.Phones * g.Requests * 86400 / ((low + high) / 2)
	}
	r.PerDay *= r.Traffic

	p.registrar(r)
	for _, g := range p.timer.Groups {
		if p.room(g) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s phones cannot be spread: their interval of %s s is at the floor", format(g.Phones), format(g.Interval)))
		}
	}
	if r.Daily && r.Unit > p.Bucket {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the phones look at a clock that shows %s s: they come in %s clumps, whenever they were started", format(r.Unit), format(r.Values)))
	} else if r.Unit > max(p.Within, p.Bucket) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the phones count in %s s and start within %s s: they come in %s clumps", format(r.Unit), format(p.Within), format(r.Values)))
	}
	if p.Within < p.Bucket && !r.Daily {
		// Multiples of whole seconds coincide; starts that differ blur that.
		r.Warnings = append(r.Warnings, "phones that start at one instant and count in whole units meet again in later rounds, which can then be higher than the first: simulate it")
	}
	if !r.Feasible {
		p.ways(r, least, most)
	}
}

// registrar judges a window by what the registrar makes of it. One that caps
// gives everybody above its maximum the same value.
func (p *problem) registrar(r *Result) {
	if p.RegistrarMax <= 0 || p.RegistrarMax >= r.Interval {
		return
	}
	share := 1.0
	if low := r.Interval - r.Window; r.Window > 0 && p.RegistrarMax > low {
		share = (r.Interval - p.RegistrarMax) / r.Window
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("the registrar's maximum of %s s is below the interval: %.0f%% of the phones get exactly that, in step; configure an interval of %s s",
		format(p.RegistrarMax), 100*share, format(p.RegistrarMax)))
	r.Feasible, r.Binds = false, "registrar maximum"
}

// ways are three ways out, each enough alone: every one was tried.
func (p *problem) ways(r *Result, least, most Bound) {
	if p.RegistrarMax > 0 && p.RegistrarMax < r.Interval {
		r.Ways = append(r.Ways, Way{Name: "interval", Value: p.RegistrarMax,
			Text: fmt.Sprintf("an interval of %s s, the registrar's maximum", format(p.RegistrarMax))})
	}
	if least.Seconds <= most.Seconds {
		if r.Window < least.Seconds || r.Window > most.Seconds {
			low, high := math.Ceil(least.Seconds/r.Unit)*r.Unit, math.Floor(most.Seconds/r.Unit)*r.Unit
			r.Ways = append(r.Ways, Way{Name: "window", Value: low, Text: fmt.Sprintf("a window from %s to %s s", format(low), format(high))})
		}
		return
	}
	interval := func(s *Server, t *Timer, x float64) { *t = t.lengthened(x / r.Interval) }
	for _, w := range []struct {
		name, text string
		from       float64
		up         bool
		apply      func(s *Server, t *Timer, x float64)
	}{
		{"capacity", "a capacity of %s requests/s", p.Capacity, true, func(s *Server, _ *Timer, x float64) {
			// A server that takes more can also have more at work.
			s.Concurrency *= (x - s.Background) / p.headroom
			s.Capacity = x
		}},
		{"interval", "an interval of %s s", r.Interval, true, interval},
		{"phones", "no more than %s phones that start together", r.Phones, false, func(_ *Server, t *Timer, x float64) { *t = t.thinned(x / r.Phones) }},
		{"deadline", "a deadline of %s s", p.Deadline, true, func(s *Server, _ *Timer, x float64) { s.Deadline = x }},
		{"max-wait", "a mean wait of %s s", p.MaxWait, true, func(s *Server, _ *Timer, x float64) { s.MaxWait = x }},
		{"traffic-budget", "a traffic budget of %s %%", 100 * p.TrafficBudget, true, func(s *Server, _ *Timer, x float64) { s.TrafficBudget = x / 100 }},
	} {
		if len(r.Ways) == 3 {
			break
		}
		if w.from <= 0 {
			continue
		}
		x, ok := search(w.from, w.up, func(x float64) bool {
			s, t := p.Server, p.timer
			w.apply(&s, &t, x)
			return newProblem(s, t).feasible()
		})
		if !ok {
			continue
		}
		way := Way{Name: w.name, Value: x, Text: fmt.Sprintf(w.text, format(x)), apply: func(s *Server, t *Timer) { w.apply(s, t, x) }}
		switch {
		case w.name == "capacity" && p.Service > 0 && p.Concurrency > 0:
			way.Text += fmt.Sprintf(", and a concurrency of %s", format(math.Ceil(p.Concurrency*(x-p.Background)/p.headroom)))
		case w.name == "phones":
			way.Text += fmt.Sprintf(": the fleet in %s parts with power, firmware and profiles of their own", format(math.Ceil(r.Phones/x)))
		}
		r.Ways = append(r.Ways, way)
	}
}

// search returns the whole number nearest to from, above or below it, for which
// good holds, when it holds for everything beyond.
func search(from float64, up bool, good func(float64) bool) (float64, bool) {
	var bad, fine float64
	if up {
		bad, fine = math.Floor(from), math.Ceil(from)+1
		for ; !good(fine); bad, fine = fine, fine*2 {
			if fine > largest {
				return 0, false
			}
		}
	} else {
		bad, fine = math.Ceil(from), 1
		if !good(fine) {
			return 0, false
		}
	}
	for math.Abs(bad-fine) > 1 {
		if middle := math.Floor((bad + fine) / 2); good(middle) {
			fine = middle
		} else {
			bad = middle
		}
	}
	return fine, true
}

// capacity is the least whole capacity that takes this rate.
func (p *problem) capacity(rate float64) float64 {
	capacity, _ := search(p.Capacity, true, func(x float64) bool {
		return p.rate(p.mean(p.limitAt(x), p.Epsilon, Mean)) >= rate
	})
	return capacity
}

// feasible says whether some window satisfies every bound.
func (p *problem) feasible() bool {
	r := p.result()
	p.lower(r)
	p.upper(r)
	return slices.MaxFunc(r.AtLeast, bySeconds).Seconds <= slices.MinFunc(r.AtMost, bySeconds).Seconds
}

// lengthened is the timer with all intervals longer by a factor, in whole units.
func (t Timer) lengthened(factor float64) Timer {
	change := func(groups []Group) []Group {
		groups = slices.Clone(groups)
		for i := range groups {
			// More days between two times change nothing for a day.
			if !groups[i].Daily {
				groups[i].Interval = math.Floor(groups[i].Interval*factor/groups[i].Unit) * groups[i].Unit
			}
		}
		return groups
	}
	t.Groups, t.Beside = change(t.Groups), change(t.Beside)
	return t
}

// thinned is the timer with fewer phones.
func (t Timer) thinned(factor float64) Timer {
	change := func(groups []Group) []Group {
		groups = slices.Clone(groups)
		for i := range groups {
			groups[i].Phones *= factor
		}
		return groups
	}
	t.Groups, t.Beside = change(t.Groups), change(t.Beside)
	return t
}

func bySeconds(a, b Bound) int { return cmp.Compare(a.Seconds, b.Seconds) }

// format prints a number as short as it can be, without an exponent.
func format(x float64) string {
	if math.Abs(x) >= 1000 {
		x = math.Round(x)
	} else {
		x = math.Round(x*1000) / 1000
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
