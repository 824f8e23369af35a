package diff

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Herd is phones that reboot, each at its next check-in. When that is nobody knows:
// at a moment within its own check-in value, each as likely. So a phone whose value is V
// seconds reboots with a rate of 1/V until V is over. A phone that checks in at a time of
// the day reboots at that time.
type Herd struct {
	groups map[checkin]group
}

// A checkin is when a phone checks in: every so many seconds, or so many seconds after
// midnight.
type checkin struct {
	seconds uint64
	daily   bool
}

type group struct{ devices, lines, lamps int }

const day = 86400

// readCheckin reads what the record of a request says: seconds, or HH:MM. What it does
// not say is taken for a day.
func readCheckin(text string) checkin {
	hours, minutes, daily := strings.Cut(text, ":")
	n, err := strconv.ParseUint(hours, 10, 32)
	if daily {
		m, wrong := strconv.ParseUint(minutes, 10, 32)
		n, err = (n*60+m)%(24*60)*60, cmp.Or(err, wrong)
	}
	if err != nil || n == 0 && !daily {
		return checkin{seconds: day}
	}
	return checkin{n, daily}
}

func newHerd() Herd { return Herd{map[checkin]group{}} }

func (h *Herd) add(c checkin, lines, lamps int) {
	if c == (checkin{}) {
		c.seconds = day
	}
	h.groups[c] = h.groups[c].with(group{1, lines, lamps})
}

func (g group) with(other group) group {
	return group{g.devices + other.devices, g.lines + other.lines, g.lamps + other.lamps}
}

// With is two herds as one.
func (h Herd) With(other Herd) Herd {
	sum := newHerd()
	for _, from := range []Herd{h, other} {
		for c, g := range from.groups {
			sum.groups[c] = sum.groups[c].with(g)
		}
	}
	return sum
}

// A Load is what a herd does to the servers when all of it meets the change at its next
// check-in.
type Load struct {
	Devices int `json:"devices"`
	// Reboots are those of each hour after the change is there, on average; as though it
	// came at midnight, for phones with a time of the day.
	Reboots []float64 `json:"reboots_per_hour"`
	// Peak is the most of them, if the change comes at the worst time of the day.
	Peak float64 `json:"peak_per_hour"`
	// Registers and Subscribes are the requests that follow: one for each line, and one
	// for each lamp. The rates are the highest: those at the beginning, and with them
	// those of the fullest minute of phones with a time of the day.
	Registers     int     `json:"registers"`
	Subscribes    int     `json:"subscribes"`
	RegisterRate  float64 `json:"registers_per_second"`
	SubscribeRate float64 `json:"subscribes_per_second"`
	// Seconds is how long it takes until the last phone has met the change.
	Seconds uint64 `json:"seconds"`
}

// Load enumerates the herd.
func (h Herd) Load() Load {
	l := Load{Reboots: []float64{}}
	hour := func(i int) *float64 {
		for i >= len(l.Reboots) {
			l.Reboots = append(l.Reboots, 0)
		}
		return &l.Reboots[i]
	}
	// clock has the phones with a time of the day by its hour, fullest those of the minute
	// with the most requests.
	var clock [24]int
	var fullest group
	spread := 0.0 // the first hour of the others
	// In order: sums of floats depend on it.
	order := func(a, b checkin) int { return cmp.Compare(a.seconds, b.seconds) }
	for _, c := range slices.SortedFunc(maps.Keys(h.groups), order) {
		g := h.groups[c]
		l.Devices += g.devices
		l.Registers += g.lines
		l.Subscribes += g.lamps
		if c.daily {
			l.Seconds = max(l.Seconds, day)
			clock[c.seconds/3600] += g.devices
			*hour(int(c.seconds / 3600)) += float64(g.devices)
			if g.lines+g.lamps > fullest.lines+fullest.lamps {
				fullest = g
			}
			continue
		}
		v := c.seconds
		l.Seconds = max(l.Seconds, v)
		l.RegisterRate += float64(g.lines) / float64(v)
		l.SubscribeRate += float64(g.lamps) / float64(v)
		for i := uint64(0); i*3600 < v; i++ {
			*hour(int(i)) += float64(g.devices) * float64(min(v-i*3600, 3600)) / float64(v)
		}
		spread += float64(g.devices) * float64(min(v, 3600)) / float64(v)
	}
	l.Peak = spread + float64(slices.Max(clock[:]))
	l.RegisterRate += float64(fullest.lines) / 60
	l.SubscribeRate += float64(fullest.lamps) / 60
	return l
}

// A Step is what share of the devices may have a change at once.
type Step struct {
	// Headroom is in requests a second, and Rate what all devices at once would make of
	// them.
	Headroom float64 `json:"headroom"`
	Rate     float64 `json:"rate"`
	Safety   float64 `json:"safety"`
	Share    float64 `json:"share"`
	Steps    int     `json:"steps"`
	// Seconds is how long all steps take, each as long as the longest check-in.
	Seconds uint64 `json:"seconds"`
}

// Step works out the step that a headroom allows. Phones that reboot come at their own
// check-ins, so a share of them makes that share of the rate: it is
// H*I/(M*(1+n)*safety) of M phones with one check-in I and n lamps a line, summed up over
// those that there are.
func (l *Load) Step(headroom, safety float64) Step {
	s := Step{Headroom: headroom, Rate: l.RegisterRate + l.SubscribeRate, Safety: safety, Share: 1, Steps: 1}
	if s.Rate > 0 {
		s.Share = min(1, headroom/(s.Rate*safety))
		s.Steps = int(math.Ceil(1/s.Share - 1e-9))
	}
	s.Seconds = uint64(s.Steps) * l.Seconds
	return s
}
