package accesslog

import (
	"io"
	"math"
	"slices"
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
// line when a request ends and not when it begins, and what several send to one place
// arrives there a flush at a time.
type Order struct {
	// Lag is how much older than the newest a record may be.
	Lag time.Duration
	// Late counts those that were older, and were left out.
	Late int

	records []Record
	free    []int32 // places in records
	heap    []turn  // the earliest is the first, and no turn is before its parent's
	number  uint32
	newest  int64
	given   int64
}

// turn is the place of a record among those that wait.
type turn struct {
	at     int64
	number uint32 // of two of one time the first comes first
	record int32
}

func (t turn) before(u turn) bool {
	return t.at < u.at || t.at == u.at && int32(t.number-u.number) < 0
}

// maxWaiting bounds how many records wait; with more, the lag shrinks.
const maxWaiting = 1 << 18

// Add takes a record and returns those whose turn it is by calling emit.
func (o *Order) Add(r *Record, emit func(*Record)) {
	if r.Time < o.given {
		o.Late++
		return
	}
	var place int32
	if n := len(o.free); n > 0 {
		place, o.free = o.free[n-1], o.free[:n-1]
		o.records[place] = *r
	} else {
		place = int32(len(o.records))
		o.records = append(o.records, *r)
	}
	o.number++
	t := turn{r.Time, o.number, place}
	i := len(o.heap)
	for o.heap = append(o.heap, t); i > 0 && t.before(o.heap[(i-1)/2]); i = (i - 1) / 2 {
		o.heap[i] = o.heap[(i-1)/2]
	}
	o.heap[i] = t
	o.newest = max(o.newest, r.Time)
	o.release(o.newest-int64(o.Lag), emit)
	for len(o.heap) > maxWaiting {
		o.give(emit)
	}
}

// Release emits the records that are old enough now, when none may follow for a while,
// and says up to which second since 1970 that is.
func (o *Order) Release(now time.Time, emit func(*Record)) int64 {
	until := now.UnixNano() - int64(o.Lag)
	o.release(until, emit)
	return until / 1e9
}

// Flush emits all that are left.
func (o *Order) Flush(emit func(*Record)) { o.release(math.MaxInt64, emit) }

func (o *Order) release(until int64, emit func(*Record)) {
	for len(o.heap) > 0 && o.heap[0].at <= until {
		o.give(emit)
	}
}

func (o *Order) give(emit func(*Record)) {
	first := o.heap[0]
	n := len(o.heap) - 1
	last := o.heap[n]
	o.heap = o.heap[:n]
	for i := 0; n > 0; {
		child := 2*i + 1
		if child+1 < n && o.heap[child+1].before(o.heap[child]) {
			child++
		}
		if child >= n || !o.heap[child].before(last) {
			o.heap[i] = last
			break
		}
		o.heap[i] = o.heap[child]
		i = child
	}
	o.given = first.at
	emit(&o.records[first.record])
	o.free = append(o.free, first.record)
}
