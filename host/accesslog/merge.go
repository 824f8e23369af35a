package accesslog

import (
	"io"
	"math"
	"slices"
	"sort"
	"time"
)

// Merged is the records of several logs in the order of time. Each log must be in order
// itself, but for what Order mends.
type Merged struct {
	sources []*Source
	heads   []*Record
}

// Merge puts logs together.
func Merge(sources ...*Source) *Merged {
	return &Merged{sources: slices.Clone(sources), heads: make([]*Record, len(sources))}
}

// Next returns the earliest record that is next in any log, or io.EOF. It is good until
// the next call.
func (m *Merged) Next() (*Record, error) {
	earliest := -1
	for i := 0; i < len(m.sources); i++ {
		if m.heads[i] == nil {
			head, err := m.sources[i].Next()
			if err == io.EOF {
				m.sources, m.heads = slices.Delete(m.sources, i, i+1), slices.Delete(m.heads, i, i+1)
				i--
				continue
			} else if err != nil {
				return nil, err
			}
			m.heads[i] = head
		}
		if earliest < 0 || m.heads[i].Time < m.heads[earliest].Time {
			earliest = i
		}
	}
	if earliest < 0 {
		return nil, io.EOF
	}
	r := m.heads[earliest]
	m.heads[earliest] = nil
	return r, nil
}

// Order puts records into the order of time that are nearly in it: a server writes a
// line when a request ends, and not when it begins.
type Order struct {
	// Late counts the records that came too late to be put in order. They are left out.
	Late int

	waiting []Record // in order, from next on
	next    int
	newest  int64
	given   int64
}

const (
	// lag is how much older than the newest a record may be, in nanoseconds.
	lag = 5e9
	// maxWaiting bounds how many records wait; with more, lag shrinks.
	maxWaiting = 1 << 16
)

// Add takes a record and returns those whose turn it is by calling emit.
func (o *Order) Add(r *Record, emit func(*Record)) {
	if r.Time < o.given {
		o.Late++
		return
	}
	at := len(o.waiting)
	if o.next < at && r.Time < o.waiting[at-1].Time {
		at = o.next + sort.Search(at-o.next, func(i int) bool { return o.waiting[o.next+i].Time > r.Time })
	}
	o.waiting = slices.Insert(o.waiting, at, *r)
	o.newest = max(o.newest, r.Time)
	o.release(o.newest-lag, emit)
	for len(o.waiting)-o.next > maxWaiting {
		o.give(emit)
	}
}

// Release emits the records that are old enough now, when none may follow for a while,
// and says up to which second since 1970 that is.
func (o *Order) Release(now time.Time, emit func(*Record)) int64 {
	until := now.UnixNano() - lag
	o.release(until, emit)
	return until / 1e9
}

// Flush emits all that are left.
func (o *Order) Flush(emit func(*Record)) { o.release(math.MaxInt64, emit) }

func (o *Order) release(until int64, emit func(*Record)) {
	for o.next < len(o.waiting) && o.waiting[o.next].Time <= until {
		o.give(emit)
	}
}

func (o *Order) give(emit func(*Record)) {
	r := &o.waiting[o.next]
	o.given = r.Time
	emit(r)
	if o.next++; o.next == len(o.waiting) || o.next >= 4096 && o.next > len(o.waiting)/2 {
		o.waiting = append(o.waiting[:0], o.waiting[o.next:]...)
		o.next = 0
	}
}
