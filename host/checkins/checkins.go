// Package checkins finds out of records of requests how a fleet's phones arrive:
// whether they come as if each came by itself, which came together and why that may
// be, which come too often or no longer, and whose file changes by itself.
//
// It owns the rules for what is a check-in, a cluster, a reboot loop and an alarm.
// It reads no files, keeps nothing of a request beyond its device, and gives the same
// report for the same records.
package checkins

import (
	"cmp"
	"net/netip"
	"time"

	"stagger/host/accesslog"
)

// The rules, in seconds unless they say otherwise.
const (
	// A check-in is several requests: a file follows the one before it within join, and
	// the last the first within whole.
	join  = 20
	whole = 60
	// A phone of some vendors comes after half of what it was told. One that comes
	// after less than early/10 of it does not keep to it, oftenGaps times and in more
	// than half of all cases.
	early     = 4
	oftenGaps = 3
	// A reboot loop is loopGaps gaps in a row of at most loopGap, and early; where the
	// log does not tell what the phone was told, of at most loopUnknown.
	loopGaps    = 4
	loopGap     = 600
	loopUnknown = 180
	// A phone is overdue when it was told to come a tenth and at least grace ago.
	grace = 300
	// A file of which nobody knows what it was made of is unstable when its bytes
	// differ at so many check-ins in a row, or have twice turned to what they were
	// before.
	inRow = 4
	flaps = 2
)

// Options are what the records do not say.
type Options struct {
	// Known are the devices of the fleet, and after how many seconds each was told to
	// come again (0: not known). Nil: no fleet is known.
	Known map[accesslog.MAC]uint32
	// Value is that of devices of which nothing says it, in seconds; 0 is not known.
	Value uint32
	// Since and Until bound the records that count, in nanoseconds since 1970; 0 does
	// not.
	Since, Until int64
	// Zone is that of what is shown, and of what is the full hour; nil is UTC.
	Zone *time.Location
	// Announce, unless nil, is told of every cluster when it is over.
	Announce func(*Cluster)
}

// device is what is kept of a device. Times are seconds since 1970.
type device struct {
	mac              accesslog.MAC
	start, last      uint32 // of the latest check-in: its first and its last request
	value            uint32 // after how many seconds it was told to come again
	checkins, early  uint32
	shortest         uint32 // of its gaps
	run, longest     uint32 // gaps of a loop in a row: now, and the most
	runFrom          uint32
	loopFrom, loopTo uint32
	changes          uint32 // of bytes, in all files
	runChanges       uint32 // of them before the run
	loopChanges      uint32 // of them in the longest run
	cluster          uint32 // the latest that it was in, counted from 1
	files            uint32 // the first of its files, counted from 1
	tenant, vendor   uint16
	hashed           bool
}

// file is what is kept of one file of a device.
type file struct {
	hash, before, documents uint64
	at                      uint32 // when it changed last
	next                    uint32 // of the device's, counted from 1
	kind                    uint16
	// changes are of the bytes; broken those of them with the same documents, flips
	// those back to what was before, row how many in a row and rows the most.
	changes, broken, flips, row, rows uint16
}

// Analysis takes records in the order of time.
type Analysis struct {
	options Options
	names   names
	index   map[accesslog.MAC]uint32 // into devices, counted from 0
	devices []device
	files   []file

	begin, end uint32 // seconds of the first and the last record, within the bounds
	requests   int
	checkins   int
	outside    int // records out of the bounds
	outcomes   map[string]int
	// arrivals are of check-ins, strangers of refused requests of nobody known.
	arrivals, strangers scan
	refused             frequent
	minutes             []minute
	// seconds counts those with so many check-ins; the last element is of more, too.
	seconds [1 << 12]int
}

// New begins an analysis.
func New(o Options) *Analysis {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	a := &Analysis{options: o, index: map[accesslog.MAC]uint32{}, outcomes: map[string]int{}}
	a.names.init()
	a.arrivals.of, a.strangers.of = CheckIns, Refusals
	a.refused.init()
	return a
}

// Add takes one record. Its time is known.
func (a *Analysis) Add(r *accesslog.Record) {
	before, behind := a.options.Since != 0 && r.Time < a.options.Since, a.options.Until != 0 && r.Time >= a.options.Until
	t := r.Time
	switch {
	case before:
		t = a.options.Since
	case behind:
		t = a.options.Until
	}
	at := uint32(t / 1e9)
	if a.end == 0 {
		a.begin = at
	}
	a.end = max(a.end, at)
	if before || behind {
		a.outside++
		return
	}
	n := max(r.Requests, 1)
	a.requests += n
	a.outcomes[outcomeOf(r)] += n
	if r.Requests > 0 {
		// Sums of a minute say nothing of devices.
	} else if !r.OK() {
		a.refuse(r, at)
	} else if r.MAC != 0 {
		a.serve(r, at)
	}
	a.advance(at, false)
}

// Advance is told that it is this time, in seconds since 1970, and no earlier record
// comes: clusters are found although nothing follows them.
func (a *Analysis) Advance(now int64) {
	if a.end != 0 {
		a.end = max(a.end, uint32(now))
		if a.options.Until != 0 {
			a.end = min(a.end, uint32(a.options.Until/1e9))
		}
		a.advance(a.end, true)
	}
}

func (a *Analysis) advance(now uint32, soon bool) {
	a.arrivals.advance(a, now, soon)
	a.strangers.advance(a, now, soon)
}

// refuse takes a request that did not get its file.
func (a *Analysis) refuse(r *accesslog.Record, at uint32) {
	if r.MAC != 0 {
		if _, known := a.index[r.MAC]; known {
			return // phones ask for files that are not there, and show passwords late
		}
	}
	if r.Remote.IsValid() {
		a.refused.add(r.Remote)
	}
	a.strangers.add(event{at: at, mac: r.MAC, remote: r.Remote, tenant: a.names.of(r.Tenant), vendor: a.names.of(r.Vendor)})
}

// serve takes a request that got its file.
func (a *Analysis) serve(r *accesslog.Record, at uint32) {
	i, known := a.index[r.MAC]
	if !known {
		i = uint32(len(a.devices))
		a.index[r.MAC] = i
		a.devices = append(a.devices, device{mac: r.MAC, value: cmp.Or(a.options.Known[r.MAC], a.options.Value)})
	}
	d := &a.devices[i]
	if r.Tenant != "" {
		if tenant := a.names.of(r.Tenant); d.tenant != tenant {
			if d.tenant != 0 {
				a.forget(d)
			}
			d.tenant = tenant
		}
	}
	if r.Vendor != "" {
		d.vendor = a.names.of(r.Vendor)
	}
	if d.checkins == 0 || at > d.last+join || at > d.start+whole {
		a.arrive(d, at)
		a.arrivals.add(event{at: at, device: i + 1, mac: r.MAC, remote: r.Remote, tenant: d.tenant, vendor: d.vendor})
	}
	d.last = at
	if r.Hash != 0 {
		a.compare(d, r, at)
	}
	if r.Checkin != 0 {
		d.value = r.Checkin
	}
}

// arrive begins a check-in.
func (a *Analysis) arrive(d *device, at uint32) {
	a.checkins++
	d.checkins++
	if d.checkins > 1 {
		gap := at - d.start
		if d.shortest == 0 || gap < d.shortest {
			d.shortest = gap
		}
		soon := d.value != 0 && uint64(gap)*10 < uint64(d.value)*early
		if soon {
			d.early++
		}
		if soon && gap <= loopGap || d.value == 0 && gap <= loopUnknown {
			if d.run == 0 {
				d.runFrom, d.runChanges = d.start, d.changes
			}
			d.run++
		} else {
			d.run = 0
		}
	}
	d.start = at
	d.keepRun()
}

// keepRun keeps the run of short gaps if it is the longest of the device.
func (d *device) keepRun() {
	if d.run > 0 && d.run >= d.longest {
		d.longest, d.loopFrom, d.loopTo, d.loopChanges = d.run, d.runFrom, d.start, d.changes-d.runChanges
	}
}

// compare judges the bytes of a file by those that the device got before.
func (a *Analysis) compare(d *device, r *accesslog.Record, at uint32) {
	d.hashed = true
	kind := a.names.of(r.File)
	var f *file
	for i := d.files; i != 0; i = a.files[i-1].next {
		if a.files[i-1].kind == kind {
			f = &a.files[i-1]
			break
		}
	}
	if f == nil {
		a.files = append(a.files, file{kind: kind, next: d.files})
		d.files = uint32(len(a.files))
		f = &a.files[d.files-1]
	}
	switch f.hash {
	case 0:
	case r.Hash:
		f.row = 0
	default:
		bump(&f.changes)
		bump(&f.row)
		f.rows = max(f.rows, f.row)
		f.at = at
		d.changes++
		same := f.documents != 0 && f.documents == r.Documents
		if same {
			bump(&f.broken)
		}
		if f.before == r.Hash {
			bump(&f.flips)
		}
		if f.documents != 0 && r.Documents != 0 && !same {
			f.flips, f.rows, f.row = 0, 0, 0 // it was changed by somebody, and changed back perhaps
		}
		f.before = f.hash
		d.keepRun()
	}
	f.hash, f.documents = r.Hash, r.Documents
}

// bump counts without turning over.
func bump(n *uint16) {
	if *n < 1<<16-1 {
		*n++
	}
}

// forget drops what is known of the files of a device, because it moved to another
// tenant.
func (a *Analysis) forget(d *device) {
	for i := d.files; i != 0; i = a.files[i-1].next {
		f := &a.files[i-1]
		f.hash, f.before, f.documents, f.row = 0, 0, 0, 0
	}
}

// names are words as numbers of two bytes; 0 is no word, and all beyond the last
// number share it.
type names struct {
	numbers map[string]uint16
	words   []string
}

func (n *names) init() { n.numbers, n.words = map[string]uint16{"": 0}, []string{""} }

const manyNames = 1<<16 - 1

func (n *names) of(word string) uint16 {
	if i, ok := n.numbers[word]; ok {
		return i
	}
	if len(n.words) == manyNames {
		n.words = append(n.words, "others")
	}
	if len(n.words) > manyNames {
		return manyNames
	}
	n.words = append(n.words, word)
	n.numbers[word] = uint16(len(n.words) - 1)
	return uint16(len(n.words) - 1)
}

// frequent counts addresses without keeping them all (Misra and Gries): each count is
// too small by at most lost, and exact while there are no more than kept addresses.
type frequent struct {
	counts map[netip.Addr]int
	lost   int
}

const kept = 4096

func (f *frequent) init() { f.counts = map[netip.Addr]int{} }

func (f *frequent) add(a netip.Addr) {
	if _, there := f.counts[a]; there || len(f.counts) < kept {
		f.counts[a]++
		return
	}
	f.lost++
	for other := range f.counts {
		if f.counts[other]--; f.counts[other] == 0 {
			delete(f.counts, other)
		}
	}
}
