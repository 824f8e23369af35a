package checkins

import (
	"math"
	"net/netip"
	"slices"

	"stagger/host/accesslog"
	"stagger/host/plan"
)

// What a cluster is of.
const (
	CheckIns = "check-ins"
	Refusals = "refusals"
)

// The scan statistic. A window of some seconds is part of a cluster when it has at
// least k arrivals, where k is the smallest number, and no less than MinCluster, with
//
//	rate * P(N >= k-1) <= FalseAlarms / 86400 / len(windows),  N ~ Poisson(rate * seconds)
//
// The left side is how many windows a second end with an arrival that has k-1 others in
// the seconds before it, when arrivals are independent and come at this rate (the
// formula of Campbell and Mecke). So the arrivals of a fleet that is well spread show
// FalseAlarms clusters a day, or fewer: windows that overlap make one cluster.
//
// The rate is that of the hour before and of what follows until now, without the
// seconds that are in clusters, and two standard errors more: a rate that is known
// badly raises no alarm.
const (
	FalseAlarms = 0.001 // a day
	MinCluster  = 10
)

// windows are the lengths in seconds: of a firmware that acts on the second, of phones
// that get their power back together, of phones that take their time to boot. A longer
// one is looked at without the seconds that a shorter one has found already.
var windows = []int{1, 5, 20, 60}

const (
	longestWindow = 60
	// block is how many seconds are judged at a time, and step how many at least when
	// somebody waits for an answer.
	block = 600
	step  = 10
	// history is how far back the rate is looked for, in seconds.
	history = 3600
	// apart is how many quiet seconds separate two clusters.
	apart = 30
	// maxPlaces bounds what is counted one by one in a cluster of strangers.
	maxPlaces = 100000
)

// event is one arrival.
type event struct {
	at     uint32
	device uint32 // counted from 1; 0 is none
	mac    accesslog.MAC
	remote netip.Addr
	tenant uint16
	vendor uint16
	// times is how many arrivals it stands for, 1 or more.
	times uint32
}

// span is how many arrivals there were outside of clusters, from some second on.
type span struct {
	from, seconds uint32
	arrivals      int
}

// scan looks for clusters in one kind of arrivals.
type scan struct {
	of     string
	from   uint32 // the first second that is not settled
	events []event
	past   []span // of the last hour
	open   *gathering
	// usual is the rate outside of clusters when it was judged last, a second.
	usual float64
	// calm are the seconds outside of clusters, all those with them.
	calm, all moments
	clusters  []*Cluster // the largest
	found     int        // and of how many
	starts    []uint32   // when each began, also those that are not kept
	// inSecond counts the events of the last second.
	inSecond int

	// For one call.
	counts []int
	marked []bool
	needs  map[int]int
}

// manyRefusals is how many refused requests of a second are kept one by one. A scanner
// sends more; phones are as many as they are.
const manyRefusals = 1000

// add takes an event that is not before the last one.
func (s *scan) add(e event) {
	e.times = 1
	// What is settled already can only be of a clock that was said to be later.
	e.at = max(e.at, s.from)
	if last := len(s.events) - 1; last < 0 || s.events[last].at != e.at {
		s.inSecond = 0
	} else if s.inSecond++; s.of == Refusals && s.inSecond >= manyRefusals {
		s.events[last].times++
		return
	}
	s.events = append(s.events, e)
}

// advance judges what can be judged at this time: all of it but for the last seconds,
// in which a window may still be growing.
func (s *scan) advance(a *Analysis, now uint32, soon bool) {
	least := uint32(block)
	if soon {
		least = step
	}
	if s.from == 0 {
		s.from = a.begin
	}
	for now >= s.from+least+longestWindow {
		to := min(now, s.from+block+longestWindow)
		s.judge(a, to)
		s.settle(a, to-longestWindow)
	}
}

// finish judges and settles everything up to a second, inclusive.
func (s *scan) finish(a *Analysis, last uint32) {
	s.advance(a, last, false)
	s.judge(a, last+1)
	s.settle(a, last+1)
	s.close(a)
}

// judge marks the seconds from s.from to to that are in clusters.
func (s *scan) judge(a *Analysis, to uint32) {
	if s.of == Refusals {
		// Phones that got their file since then are no strangers: they ask for files
		// that are not there as well.
		s.events = slices.DeleteFunc(s.events, func(e event) bool {
			_, known := a.index[e.mac]
			return known
		})
	}
	n := int(to - s.from)
	s.counts, s.marked = append(s.counts[:0], make([]int, n)...), append(s.marked[:0], make([]bool, n)...)
	arrivals := 0
	for _, e := range s.events {
		if e.at >= to {
			break
		}
		s.counts[e.at-s.from] += int(e.times)
		arrivals += int(e.times)
	}
	if arrivals < MinCluster {
		return
	}
	past, pastSeconds := 0, 0
	for _, p := range s.past {
		if p.from+history >= s.from {
			past, pastSeconds = past+p.arrivals, pastSeconds+int(p.seconds)
		}
	}
	// What is in a cluster does not count as usual; without it the rate is lower, and
	// more may be a cluster.
	for {
		calm, seconds := past, pastSeconds
		for i, c := range s.counts {
			if !s.marked[i] {
				calm, seconds = calm+c, seconds+1
			}
		}
		// Or too little is left to say what is usual.
		if seconds < longestWindow {
			return
		}
		s.usual = float64(calm) / float64(seconds)
		if !s.mark(upper(calm) / float64(seconds)) {
			return
		}
	}
}

// upper is a count of arrivals and two standard errors more, also where none was seen.
func upper(n int) float64 { return float64(n+1) + 2*math.Sqrt(float64(n+1)) }

// mark marks the windows that have more than is likely at this rate, and says whether
// there are any that were not marked yet.
func (s *scan) mark(rate float64) (more bool) {
	s.needs = map[int]int{}
	for _, w := range windows {
		count, seconds := 0, 0 // of the window, without what is marked
		for i := range s.counts {
			if !s.marked[i] {
				count, seconds = count+s.counts[i], seconds+1
			}
			if old := i - w; old >= 0 && !s.marked[old] {
				count, seconds = count-s.counts[old], seconds-1
			}
			// Nothing below three standard deviations is ever enough, and most is.
			mean := rate * float64(seconds)
			if count < MinCluster || float64(count) < mean+3*math.Sqrt(mean) || count < s.need(rate, seconds) {
				continue
			}
			for j := max(0, i-w+1); j <= i; j++ {
				s.marked[j] = true
			}
			count, seconds, more = 0, 0, true
		}
	}
	return more
}

// need is how many arrivals in so many seconds make a cluster.
func (s *scan) need(rate float64, seconds int) int {
	k, ok := s.needs[seconds]
	if !ok {
		k = needed(rate, seconds)
		s.needs[seconds] = k
	}
	return k
}

func needed(rate float64, seconds int) int {
	allowed := FalseAlarms / 86400 / float64(len(windows)) / rate
	mean := rate * float64(seconds)
	likely := func(k int) bool { return plan.Tail(float64(k-2), mean) > allowed }
	low := MinCluster
	if !likely(low) {
		return low
	}
	high := 2 * low
	for likely(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; likely(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// settle takes the seconds up to to as they were judged, for good.
func (s *scan) settle(a *Analysis, to uint32) {
	calm := span{from: s.from}
	next := 0
	for at := s.from; at < to; at++ {
		n, marked := s.counts[at-s.from], s.marked[at-s.from]
		s.all.add(n, at)
		if s.of == CheckIns {
			a.second(at, n)
		}
		first := next
		for next < len(s.events) && s.events[next].at == at {
			next++
		}
		if marked {
			s.gather(a, at, n, s.events[first:next])
		} else {
			s.calm.add(n, at)
			calm.seconds++
			calm.arrivals += n
			if s.open != nil && at > s.open.last+apart {
				s.close(a)
			}
		}
	}
	s.events = append(s.events[:0], s.events[next:]...)
	s.from = to
	s.past = append(s.past, calm)
	for s.past[0].from+history < s.from {
		s.past = s.past[1:]
	}
}

// moments are those of the numbers of arrivals in equal parts of time.
type moments struct {
	n        int
	sum, sq  float64
	most     int
	mostFrom uint32
}

func (m *moments) add(count int, from uint32) {
	m.n++
	m.sum += float64(count)
	m.sq += float64(count) * float64(count)
	if count > m.most {
		m.most, m.mostFrom = count, from
	}
}

// A minute is what arrived in one minute that had arrivals.
type minute struct {
	// At is in minutes since 1970; Peak the most in one second.
	At            uint32
	Arrivals, Top uint32
}

// second takes the check-ins of one second.
func (a *Analysis) second(at uint32, n int) {
	a.seconds[min(n, len(a.seconds)-1)]++
	if n == 0 {
		return
	}
	if last := len(a.minutes) - 1; last < 0 || a.minutes[last].At != at/60 {
		a.minutes = append(a.minutes, minute{At: at / 60})
	}
	m := &a.minutes[len(a.minutes)-1]
	m.Arrivals += uint32(n)
	m.Top = max(m.Top, uint32(n))
}
