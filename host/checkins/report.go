package checkins

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"stagger/host/accesslog"
	"stagger/host/herd"
)

// A Report is what was found.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Requests are those within the bounds; CheckIns those of phones that got a file,
	// with all files of one check-in counted as one, of so many Devices.
	Requests int     `json:"requests"`
	CheckIns int     `json:"check_ins"`
	Devices  int     `json:"devices"`
	Outcomes []Count `json:"outcomes"`
	// Arrivals are check-ins in seconds, in seconds outside of clusters, and in minutes.
	Arrivals []Arrivals `json:"arrivals"`
	// Clusters are the largest, in the order of time, of so many.
	Clusters   []*Cluster `json:"clusters"`
	ClustersOf int        `json:"clusters_found"`
	// Loops and Unstable are alarms. Often come more often than they were told.
	Loops    []Loop     `json:"reboot_loops"`
	Unstable []Changing `json:"unstable"`
	// Suspicious turned to earlier bytes once; Changed counts files that changed as
	// files do.
	Suspicious []Changing `json:"suspicious"`
	Changed    int        `json:"changed_files"`
	Often      []Often    `json:"more_often"`
	Overdue    []Overdue  `json:"overdue"`
	// Unseen are devices of the fleet that did not come, Foreign those that came and are
	// not in it; both only if a fleet is known.
	Unseen  []accesslog.MAC `json:"unseen,omitempty"`
	Foreign int             `json:"not_in_the_fleet,omitempty"`
	// Refused are the addresses with the most requests that were refused.
	Refused []Count `json:"refused"`

	minutes []minute
	seconds []int
	calm    float64 // check-ins a second outside of clusters
	fleet   bool
}

// A Count is how often something was there.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Arrivals are the numbers of check-ins in equal parts of time.
type Arrivals struct {
	// In is what they are numbers of: "second", "second outside of clusters", "minute".
	In    string  `json:"in"`
	Parts int     `json:"parts"`
	Mean  float64 `json:"mean"`
	// Peak is the largest; EvenPeak what the largest of independent arrivals would be.
	Peak       int       `json:"peak"`
	PeakAt     time.Time `json:"peak_at"`
	PeakToMean float64   `json:"peak_to_mean"`
	EvenPeak   float64   `json:"even_peak"`
	// Dispersion is the variance divided by the mean: 1 for independent arrivals, which
	// are with a chance of 99% between Low and High. 0 with too few parts.
	Dispersion float64 `json:"dispersion"`
	Low        float64 `json:"dispersion_low"`
	High       float64 `json:"dispersion_high"`
}

// A Loop is a device that reboots again and again.
type Loop struct {
	Device
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	CheckIns int       `json:"check_ins"`
	// Shortest is the shortest gap of the device in seconds.
	Shortest int `json:"shortest_gap"`
	// Changes is how often the bytes of its files changed meanwhile; Hashed says whether
	// the log tells.
	Changes int  `json:"changes"`
	Hashed  bool `json:"hashed"`
}

// A Device is a phone and what the log says of it. Value is the seconds after which it
// was told to come again, 0 if that is not known.
type Device struct {
	MAC    accesslog.MAC `json:"mac"`
	Tenant string        `json:"tenant,omitempty"`
	Vendor string        `json:"vendor,omitempty"`
	Value  int           `json:"told,omitempty"`
}

// A Changing is a file of a device whose bytes change.
type Changing struct {
	Device
	File string    `json:"file,omitempty"`
	Last time.Time `json:"last"`
	// Changes are all, Same those with the same documents, Back those to the bytes
	// before the last.
	Changes int `json:"changes"`
	Same    int `json:"same_documents"`
	Back    int `json:"back"`
}

// An Often is a device that comes more often than it was told.
type Often struct {
	Device
	CheckIns int `json:"check_ins"`
	Early    int `json:"early"`
	Shortest int `json:"shortest_gap"`
}

// An Overdue is a device that did not come again.
type Overdue struct {
	Device
	Last time.Time `json:"last"`
	// By is the seconds since it should have come.
	By int `json:"by"`
}

// Alarm says whether there is something that must not be.
func (r *Report) Alarm() bool { return len(r.Loops) > 0 || len(r.Unstable) > 0 }

// Devices is the part of the report that is about devices, as of now. Records may
// follow.
func (a *Analysis) Devices() *Report {
	r := &Report{
		From: a.time(a.begin), To: a.time(a.end), Requests: a.requests, CheckIns: a.checkins, Devices: len(a.devices),
		Outcomes: counts(a.outcomes), Clusters: []*Cluster{}, Loops: []Loop{}, Unstable: []Changing{}, Suspicious: []Changing{},
		Often: []Often{}, Overdue: []Overdue{}, fleet: a.options.Known != nil,
	}
	a.judgeDevices(r)
	return r
}

// Report judges what has not been judged yet and says what was found. No record may
// follow.
func (a *Analysis) Report() *Report {
	if a.end != 0 {
		a.arrivals.finish(a, a.end)
		a.strangers.finish(a, a.end)
	}
	r := a.Devices()
	r.minutes, r.seconds = a.minutes, a.seconds[:]
	r.calm = a.arrivals.calm.mean()
	r.Arrivals = []Arrivals{
		a.of("second", 1, &a.arrivals.all),
		a.of("second outside of clusters", 1, &a.arrivals.calm),
		a.of("minute", 60, a.perMinute()),
	}
	clusters := append(slices.Clone(a.arrivals.clusters), a.strangers.clusters...)
	r.Clusters = append(r.Clusters, largest(clusters, maxClusters)...)
	r.ClustersOf = a.arrivals.found + a.strangers.found
	refused := map[string]int{}
	for addr, n := range a.refused.counts {
		if n >= manyRefused {
			refused[addr.String()] = n
		}
	}
	r.Refused = counts(refused)
	return r
}

// manyRefused is how many refused requests of one address are worth to be named.
const manyRefused = 100

// judgeDevices goes through all devices. The lists are in the order of addresses, those
// that are overdue in that of time.
func (a *Analysis) judgeDevices(r *Report) {
	for i := range a.devices {
		d := &a.devices[i]
		about := Device{d.mac, a.names.words[d.tenant], a.names.words[d.vendor], int(d.value)}
		gaps := d.checkins - 1
		switch {
		case d.longest >= loopGaps:
			r.Loops = append(r.Loops, Loop{about, a.time(d.loopFrom), a.time(d.loopTo), int(d.longest) + 1, int(d.shortest), int(d.loopChanges), d.hashed})
		case d.early >= oftenGaps && 2*d.early > gaps:
			r.Often = append(r.Often, Often{about, int(d.checkins), int(d.early), int(d.shortest)})
		}
		if due := uint64(d.start) + uint64(d.value); d.value != 0 && due+max(uint64(d.value)/10, grace) < uint64(a.end) {
			r.Overdue = append(r.Overdue, Overdue{about, a.time(d.last), int(uint64(a.end) - due)})
		}
		if a.options.Known != nil {
			if _, known := a.options.Known[d.mac]; !known {
				r.Foreign++
			}
		}
		a.judgeFiles(r, d, about)
	}
	for mac := range a.options.Known {
		if _, seen := a.index[mac]; !seen {
			r.Unseen = append(r.Unseen, mac)
		}
	}
	slices.Sort(r.Unseen)
	slices.SortFunc(r.Overdue, func(o, p Overdue) int { return cmp.Or(cmp.Compare(p.By, o.By), cmp.Compare(o.MAC, p.MAC)) })
	slices.SortFunc(r.Loops, func(l, m Loop) int { return cmp.Compare(l.MAC, m.MAC) })
	slices.SortFunc(r.Often, func(o, p Often) int { return cmp.Compare(o.MAC, p.MAC) })
	for _, list := range [][]Changing{r.Unstable, r.Suspicious} {
		slices.SortFunc(list, func(c, d Changing) int { return cmp.Or(cmp.Compare(c.MAC, d.MAC), strings.Compare(c.File, d.File)) })
	}
}

func (a *Analysis) judgeFiles(r *Report, d *device, about Device) {
	for i := d.files; i != 0; i = a.files[i-1].next {
		f := &a.files[i-1]
		if f.changes == 0 {
			continue
		}
		c := Changing{about, a.names.words[f.kind], a.time(f.at), int(f.changes), int(f.broken), int(f.flips)}
		switch {
		case f.broken > 0 || f.rows >= inRow || f.flips >= flaps:
			r.Unstable = append(r.Unstable, c)
		case f.flips > 0:
			r.Suspicious = append(r.Suspicious, c)
		default:
			r.Changed++
		}
	}
}

func (a *Analysis) time(at uint32) time.Time { return time.Unix(int64(at), 0).In(a.options.Zone) }

func outcomeOf(r *accesslog.Record) string {
	switch {
	case r.Outcome != "":
		return r.Outcome
	case r.Status != 0:
		return "status " + strconv.Itoa(r.Status)
	}
	return "not said"
}

// counts are in the order of their size.
func counts(m map[string]int) []Count {
	list := make([]Count, 0, len(m))
	for name, n := range m {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(c, d Count) int { return cmp.Or(cmp.Compare(d.Count, c.Count), strings.Compare(c.Name, d.Name)) })
	return list
}

func (m *moments) mean() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

// perMinute are the numbers of the whole minutes.
func (a *Analysis) perMinute() *moments {
	from, to := (a.begin+59)/60, (a.end+1)/60
	m := &moments{}
	if to <= from {
		return m
	}
	for _, minute := range a.minutes {
		if minute.At >= from && minute.At < to {
			m.add(int(minute.Arrivals), 60*minute.At)
		}
	}
	m.n = int(to - from) // and those without arrivals
	return m
}

// The band of the index of dispersion: of independent arrivals, (n-1) times it has the
// chi-square distribution with n-1 degrees of freedom.
const band = 0.99

func (a *Analysis) of(in string, seconds int, m *moments) Arrivals {
	v := Arrivals{In: in, Parts: m.n, Mean: m.mean(), Peak: m.most, PeakAt: a.time(m.mostFrom)}
	if m.most == 0 {
		v.PeakAt = a.time(a.begin)
		return v
	}
	v.PeakToMean = float64(m.most) / v.Mean
	v.EvenPeak = herd.Noise(v.Mean, m.n)
	// With fewer parts, or hardly any arrivals, the band says nothing.
	if free := float64(m.n - 1); free >= 10 && m.sum >= 10 {
		v.Dispersion = max(0, m.sq-m.sum*m.sum/float64(m.n)) / free / v.Mean
		chi := distuv.ChiSquared{K: free}
		v.Low, v.High = chi.Quantile((1-band)/2)/free, chi.Quantile((1+band)/2)/free
		if math.IsNaN(v.Low) || math.IsNaN(v.High) {
			v.Low, v.High = 0, 0
		}
	}
	return v
}
