// Package admission decides who is served now and when the others come again.
//
// It owns a token bucket at the rate that a server can take, a calendar of slots
// that are handed out to those who are refused, and the fair shares of tenants. A
// constant Retry-After would bring everybody back together; a slot brings them
// back at a rate. The package must never read a clock: times come in, as seconds
// from any moment on, and never go back.
package admission

import (
	"math"
	"sync"
)

// A Bucket lets Rate requests a second through, and Depth at once after a pause.
// It is full at first.
type Bucket struct {
	Rate, Depth float64
	spent, last float64
}

// Take takes a token at a time, if there is one.
func (b *Bucket) Take(now float64) bool {
	if b.Free(now) < 1-1e-9 {
		return false
	}
	b.spent, b.last = b.Depth-b.Free(now)+1, max(b.last, now)
	return true
}

// Free is how many tokens there are at a time. One is there as soon as it is
// whole, rounding aside.
func (b *Bucket) Free(now float64) float64 {
	return b.Depth - max(0, b.spent-max(0, now-b.last)*b.Rate)
}

// Horizon is the longest time in seconds for which a slot is handed out. A backlog
// that is longer is spread over all of it a second time.
const Horizon = 4 * 3600

// A Calendar hands out seconds to come again in, Rate of them to a second. Lanes
// are those who have a fair share each: in a second in which n lanes have slots,
// each may have one n-th. A lane that comes late gets its share of seconds that
// are full already; those who then come in vain are put at the end of their own
// lane. A calendar is not safe for concurrent use.
type Calendar struct {
	rate float64
	// present is how many lanes have slots in a second, by second modulo its
	// length; now is the second before which everything is gone.
	present [Horizon + 2]uint16
	now     int
	lanes   map[int]*lane
}

type lane struct {
	used [Horizon + 2]uint16
	// next is the first second that may have room, over how many slots were
	// handed out beyond the horizon.
	next, over int
}

// NewCalendar returns an empty calendar.
func NewCalendar(rate float64) *Calendar { return &Calendar{rate: rate, lanes: map[int]*lane{}} }

// advance forgets what is over.
func (c *Calendar) advance(now float64) {
	to := int(math.Floor(now))
	if to <= c.now {
		return
	}
	for second := max(c.now, to-len(c.present)); second < to; second++ {
		i := second % len(c.present)
		c.present[i] = 0
		for _, l := range c.lanes {
			l.used[i] = 0
		}
	}
	c.now = to
	for k, l := range c.lanes {
		if l.next < c.now {
			delete(c.lanes, k) // it has no slot any more
		}
	}
}

// Reserve returns after how many whole seconds, at least one, somebody of a lane
// who is refused now comes again. Retry-After knows no parts of a second, so a slot
// is a whole second of this clock: whenever in the present second one is refused,
// one comes within the other, which does not get more than its number.
func (c *Calendar) Reserve(now float64, number int) int {
	c.advance(now)
	l := c.lanes[number]
	if l == nil {
		l = new(lane)
		c.lanes[number] = l
	}
	first := int(math.Ceil(now + 1 - 1e-9))
	second := max(l.next, first)
	for ; second < first+Horizon; second++ {
		i := second % len(c.present)
		others := float64(c.present[i])
		if l.used[i] == 0 {
			others++
		}
		if float64(l.used[i]) < quota(second, c.rate/others) {
			break
		}
	}
	l.next = second
	if second >= first+Horizon {
		l.next--
		second = first + l.over%Horizon
		l.over++
	}
	i := second % len(c.present)
	if l.used[i] == 0 {
		c.present[i]++
	}
	if l.used[i] < math.MaxUint16 {
		l.used[i]++
	}
	return int(math.Ceil(float64(second) - now - 1e-9))
}

// quota is how many slots a second has, for rates that are no whole number and for
// those below one.
func quota(second int, rate float64) float64 {
	return math.Floor(float64(second)*rate+1e-9) - math.Floor(float64(second-1)*rate+1e-9)
}

// lanesAt is how many lanes have slots in the present second.
func (c *Calendar) lanesAt(now float64) int {
	c.advance(now)
	return int(c.present[c.now%len(c.present)])
}

// has says whether a lane has slots in the present second.
func (c *Calendar) has(number int) bool {
	l := c.lanes[number]
	return l != nil && l.used[c.now%len(c.present)] > 0
}

// Queue is how many seconds ahead the furthest slot is.
func (c *Calendar) Queue(now float64) int {
	c.advance(now)
	last := c.now
	for _, l := range c.lanes {
		last = max(last, l.next)
	}
	return last - c.now
}

// Lanes is how many fair shares a gate tells apart.
const Lanes = 64

// A Gate lets phones in at a rate and sends the others away until their slot. It
// is safe for concurrent use.
type Gate struct {
	mu       sync.Mutex
	bucket   Bucket
	shares   [Lanes]Bucket
	calendar *Calendar
	// passes are the phones that were let in, by their key, until when and for how
	// many requests more; entries are in the order in which they end.
	passes  map[uint64]pass
	entries []entry
}

type pass struct {
	until float64
	left  int
}

type entry struct {
	phone uint64
	until float64
}

// A check-in is some files: who was let in for one gets the others, or a phone
// would have half of its configuration and come again for all of it.
const (
	passSeconds  = 30
	passRequests = 15
)

// NewGate lets rate phones a second in, and depth at once after a pause, at least
// one. Slots are handed out at the rate slots, which leaves room for phones that
// were not refused.
func NewGate(rate, depth, slots float64) *Gate {
	return &Gate{
		bucket: Bucket{Rate: rate, Depth: max(1, depth)}, calendar: NewCalendar(slots), passes: map[uint64]pass{},
	}
}

// Admit says whether a phone is let in at a time (0), or after how many seconds it
// should come again. Who it belongs to is a number too: owners share fairly, those
// whose numbers agree modulo Lanes as one. That needs no list of owners, and tells
// nobody who is on it.
func (g *Gate) Admit(now float64, phone, owner uint64) (after int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.entries) > 0 && g.entries[0].until <= now {
		if p, ok := g.passes[g.entries[0].phone]; ok && p.until <= now {
			delete(g.passes, g.entries[0].phone)
		}
		g.entries = g.entries[1:]
	}
	if p, ok := g.passes[phone]; ok && p.left > 0 && now < p.until {
		p.left--
		g.passes[phone] = p
		return 0
	}
	number := int(owner % Lanes)
	if !g.take(now, number) {
		return g.calendar.Reserve(now, number)
	}
	g.passes[phone] = pass{now + passSeconds, passRequests}
	g.entries = append(g.entries, entry{phone, now + passSeconds})
	return 0
}

// take takes a token, unless others have slots now and this lane has had its
// share. While half of the bucket is free nobody is held to a share.
func (g *Gate) take(now float64, number int) bool {
	lanes := g.calendar.lanesAt(now)
	if !g.calendar.has(number) {
		lanes++
	}
	if free := g.bucket.Free(now); lanes > 1 && free < g.bucket.Depth/2 {
		share := &g.shares[number]
		share.Rate, share.Depth = g.bucket.Rate/float64(lanes), max(1, g.bucket.Depth/float64(lanes))
		if free < 1 || !share.Take(now) {
			return false
		}
	}
	return g.bucket.Take(now)
}

// State is how many tokens are free and how many seconds ahead slots are taken.
func (g *Gate) State(now float64) (free float64, queue int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bucket.Free(now), g.calendar.Queue(now)
}
