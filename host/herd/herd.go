// Package herd simulates phones that start together and come again on a timer.
//
// It owns the behaviour of phones in time (starts, clocks, lost requests, moments
// of renewal), the schemes that are compared, and the counts of what arrives. It
// must never compute a value of its own for the scheme of this project (values
// come in, from the rule or from rendered files), never read a clock, and give
// the same counts for the same seed on any number of processors.
//
// There is no queue of events. Phones do not wait for each other, so each is
// followed by itself and its arrivals are counted by the second: memory is that
// of the counts, and time is one step for each arrival.
package herd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Herd is phones that have one timer in common.
type Herd struct {
	// Interval is what is configured, and Values what each phone was told
	// instead, in seconds. Intervals are what is configured for each phone, where
	// that is not one; Interval is then the length of a period.
	Interval  float64
	Values    []float64
	Intervals []float64
	// Daily are the seconds between two check-ins of each phone that comes at a time of
	// the day, whole days, and 0 of each that counts an interval; nil is 0 for all. The
	// value of such a phone is its time in seconds after midnight, and its entry in
	// Intervals the time that all would have. The event is at midnight.
	Daily []float64
	// Window is what values were spread over, for schemes that draw.
	Window float64
	// Rules are the moments of renewal; phone i has rule i modulo their number.
	// None is the end of the value.
	Rules []Refresh
}

// An Event is how the phones start.
type Event struct {
	// Within is how many seconds it takes until all phones of a site have
	// started; 0 is all at one instant.
	Within float64
	// Site is how many phones a site has, 0 for one site; sites come back over
	// Sites seconds.
	Site  int
	Sites float64
}

// Options are what else is simulated.
type Options struct {
	// Periods is how many intervals are simulated, and Seconds, unless 0, how
	// much at most.
	Periods int
	Seconds float64
	// Latency is the mean time of a request on its way, exponential, in seconds.
	Latency float64
	// Skew is how wrong clocks are at most, in parts per million, evenly.
	Skew float64
	// Loss is the share of requests that get lost, and Retry the seconds after
	// which a phone tries again.
	Loss, Retry float64
	// Reboot is how many seconds a phone takes to reboot.
	Reboot float64
	Seed   uint64
	// Workers is how many processors are used; 0 is all. Nothing but the time it
	// takes depends on it.
	Workers int
	// Progress, unless nil, is told from time to time what share is done. It is
	// called from one goroutine at a time.
	Progress func(share float64)
}

// Reference are the options of the design's reference run; a number of periods
// and a seed go with them.
var Reference = Options{Latency: 0.2, Skew: 30, Retry: 30, Reboot: 90}

// A Run is what arrived.
type Run struct {
	Scheme Scheme
	// Interval is the length of a period in seconds.
	Interval float64
	Phones   int
	// Counts are the requests of each second after the event, without those of
	// the start itself; these are Starts.
	Counts, Starts []uint32
	// Requests is the sum of Counts, Reboots how often phones rebooted.
	Requests, Reboots uint64
}

// chunk is how many phones one random stream serves. The chunk and not the
// worker has the stream, so that the result does not depend on workers; it is
// small enough for its state to stay in a processor's cache.
const chunk = 2048

// Run simulates a scheme. It ends early with the error of ctx.
func (h *Herd) Run(ctx context.Context, event Event, scheme Scheme, o Options) (*Run, error) {
	if len(h.Values) == 0 || !(h.Interval > 0) || o.Periods < 1 {
		return nil, errors.New("phones, an interval and one period or more are required")
	}
	if o.Loss < 0 || o.Loss >= 1 || o.Loss > 0 && !(o.Retry > 0) {
		return nil, fmt.Errorf("a loss of %g with a retry after %g s never ends", o.Loss, o.Retry)
	}
	if scheme.Reboot && !(o.Reboot > 0) {
		return nil, errors.New("a reboot must take some time")
	}
	horizon := int(math.Ceil(h.Interval * float64(o.Periods)))
	if o.Seconds > 0 {
		horizon = min(horizon, int(math.Ceil(o.Seconds)))
	}
	starts := int(math.Ceil(event.Within+event.Sites+scheme.BootDelay+60*o.Latency)) + 1
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	chunks := (len(h.Values) + chunk - 1) / chunk
	workers = min(workers, chunks)
	table := latencies(o.Latency)

	var (
		next, done atomic.Int64
		group      sync.WaitGroup
		report     sync.Mutex
		flocks     = make([]*flock, workers)
	)
	for w := range flocks {
		f := &flock{herd: h, event: event, scheme: scheme, options: o,
			counts: make([]uint32, horizon), starts: make([]uint32, starts), latencies: table}
		flocks[w] = f
		group.Go(func() {
			for ctx.Err() == nil {
				c := int(next.Add(1)) - 1
				if c >= chunks {
					return
				}
				f.run(ctx, c)
				if n := done.Add(1); o.Progress != nil {
					report.Lock()
					o.Progress(float64(n) / float64(chunks))
					report.Unlock()
				}
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Run{Scheme: scheme, Interval: h.Interval, Phones: len(h.Values), Counts: flocks[0].counts, Starts: flocks[0].starts}
	for _, f := range flocks {
		r.Reboots += f.reboots
		if f == flocks[0] {
			continue
		}
		for i, n := range f.counts {
			r.Counts[i] += n
		}
		for i, n := range f.starts {
			r.Starts[i] += n
		}
	}
	for _, n := range r.Counts {
		r.Requests += uint64(n)
	}
	return r, nil
}

// A flock is what one worker has: the counts so far and the phones at hand.
type flock struct {
	herd           *Herd
	event          Event
	scheme         Scheme
	options        Options
	counts, starts []uint32
	reboots        uint64
	latencies      *[1 << latencyBits]float32

	// at is when each phone comes next, low and high the range of its
	// period by its own clock, held what a rebooting phone has as its value, and
	// daily whether it comes at a time of the day.
	at, low, high [chunk]float64
	held          [chunk]float64
	daily         [chunk]bool
}

// run follows the phones of one chunk, round by round, so that the seconds that
// are counted in at a time are near each other.
func (f *flock) run(ctx context.Context, c int) {
	h, s, o := f.herd, f.scheme, f.options
	random := rand.New(rand.NewPCG(o.Seed, uint64(c)))
	draws := false
	first := c * chunk
	n := min(chunk, len(h.Values)-first)
	horizon := float64(len(f.counts))
	for i := range n {
		phone := first + i
		value := h.Interval
		switch {
		case s.Spread:
			value = h.Values[phone]
		case len(h.Intervals) > 0:
			value = h.Intervals[phone]
		}
		var rule Refresh
		if len(h.Rules) > 0 {
			rule = h.Rules[phone%len(h.Rules)]
		}
		draws = draws || rule.Draws()
		clock := 1 + (2*random.Float64()-1)*o.Skew*1e-6
		low, high := rule.Range(value)
		f.low[i], f.high[i] = low*clock, high*clock
		f.held[i] = -1
		if f.daily[i] = len(h.Daily) > 0 && h.Daily[phone] > 0; f.daily[i] {
			// Its clock is set by a time server again and again.
			f.low[i], f.high[i] = h.Daily[phone], h.Daily[phone]
		}

		boot := f.event.Within * random.Float64()
		if f.event.Site > 0 {
			boot += f.event.Sites * site(o.Seed, phone/f.event.Site)
		}
		if s.BootDelay > 0 {
			boot += s.BootDelay * random.Float64()
		}
		f.starts[min(int(boot+o.Latency*random.ExpFloat64()), len(f.starts)-1)]++
		f.at[i] = boot
		switch {
		case s.Reboot:
			f.step(random, i)
		case f.daily[i]:
			f.held[i] = 0
			if s.Redraw {
				f.held[i] = math.Floor(h.Window * random.Float64())
			}
			// The next time that its clock shows.
			for f.at[i] = value + f.held[i]; f.at[i] <= boot; {
				f.at[i] += f.low[i]
			}
		case s.FirstDelay:
			f.at[i] += f.high[i] * random.Float64()
		default:
			f.at[i] += f.period(random, i, random.Float64())
		}
	}
	if s.steady() && o.Loss == 0 && !draws {
		f.follow(ctx, random, n)
		return
	}
	for alive := n; alive > 0; {
		if ctx.Err() != nil {
			return
		}
		for i := 0; i < alive; {
			for o.Loss > 0 && random.Float64() < o.Loss {
				f.at[i] += o.Retry
			}
			if f.at[i] >= horizon {
				// The last phone takes this one's place.
				alive--
				f.at[i], f.low[i], f.high[i], f.held[i], f.daily[i] = f.at[alive], f.low[alive], f.high[alive], f.held[alive], f.daily[alive]
				continue
			}
			// One random number does for both: what the latency leaves of it is
			// as fine as a float64.
			bits := random.Uint64()
			f.count(f.at[i] + float64(f.latencies[bits%(1<<latencyBits)]))
			if s.Reboot {
				f.step(random, i)
			} else {
				f.at[i] += f.period(random, i, float64(bits>>latencyBits)/(1<<(64-latencyBits)))
			}
			i++
		}
	}
}

// count counts a request that arrives at a time.
func (f *flock) count(at float64) {
	if at < float64(len(f.counts)) {
		f.counts[int(at)]++
	}
}

// follow is the loop of run for phones whose period never changes, which is what
// a month of a million phones consists of. An arrival takes 16 ns here, on one core
// of a busy Xeon, and 37 ns with a random number and an ExpFloat64 for each: five
// latencies come out of one random number and a table.
func (f *flock) follow(ctx context.Context, random *rand.Rand, n int) {
	counts, latencies := f.counts, f.latencies
	horizon := float64(len(counts))
	at, period := f.at[:n], f.low[:n]
	for len(at) > 0 && ctx.Err() == nil {
		alive := 0
		var bits uint64
		left := 0
		for i, t := range at {
			if left == 0 {
				bits, left = random.Uint64(), 64/latencyBits
			}
			arrival := t + float64(latencies[bits%(1<<latencyBits)])
			bits >>= latencyBits
			left--
			if arrival < horizon {
				counts[int(arrival)]++
			}
			if t += period[i]; t < horizon {
				at[alive], period[alive] = t, period[i]
				alive++
			}
		}
		at, period = at[:alive], period[:alive]
	}
}

// latencyBits is how finely the exponential distribution is cut: into 4096
// values that are equally likely, so that the table stays in the first cache.
const latencyBits = 12

// latencies are the middles of equally likely parts of an exponential
// distribution.
func latencies(mean float64) *[1 << latencyBits]float32 {
	table := new([1 << latencyBits]float32)
	for i := range table {
		table[i] = float32(-mean * math.Log1p(-(float64(i)+0.5)/float64(len(table))))
	}
	return table
}

// period is how long phone i waits this time. drawn is even over [0, 1) and serves
// the first thing that is random.
func (f *flock) period(random *rand.Rand, i int, drawn float64) float64 {
	p := f.low[i]
	if f.high[i] > p {
		p += (f.high[i] - p) * drawn
		drawn = -1
	}
	draw := func() float64 {
		if drawn < 0 {
			return random.Float64()
		}
		d := drawn
		drawn = -1
		return d
	}
	if f.daily[i] {
		// Neither a registrar nor a first delay has a say in what the clock shows.
		if f.scheme.Redraw {
			before := f.held[i]
			f.held[i] = math.Floor(f.herd.Window * draw())
			p += f.held[i] - before
		}
		return p
	}
	if f.scheme.Redraw {
		p -= math.Floor(f.herd.Window * draw())
	}
	if f.scheme.Registrar > 0 {
		p *= 1 - f.scheme.Registrar*draw()
	}
	return p
}

// step is a check-in of a phone that gets another value each time: it is not what
// the phone has, so the phone takes it over, reboots, and checks in.
func (f *flock) step(random *rand.Rand, i int) {
	value := f.herd.Interval - math.Floor(f.herd.Window*random.Float64())
	if value == f.held[i] {
		f.at[i] += value
		return
	}
	f.held[i] = value
	f.reboots++
	// Phones of one kind take about the same time.
	f.at[i] += f.options.Reboot * (0.9 + 0.2*random.Float64())
}

// site is when a site comes back, as a share of the time that all take.
func site(seed uint64, n int) float64 {
	return rand.New(rand.NewPCG(^seed, uint64(n))).Float64()
}
