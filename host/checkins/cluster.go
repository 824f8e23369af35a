package checkins

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"stagger/host/accesslog"
)

// A Share is how much of a cluster has one value, from 0 to 1.
type Share struct {
	Value string  `json:"value"`
	Share float64 `json:"share"`
}

// A Cluster is arrivals that came together and not by chance.
type Cluster struct {
	// Of is what arrived: CheckIns or Refusals.
	Of      string    `json:"of"`
	At      time.Time `json:"at"`
	Seconds int       `json:"seconds"`
	// Arrivals are of so many Devices (MACs), from so many Addresses; Expected is what
	// would have come in this time, Peak the most in one second.
	Arrivals  int     `json:"arrivals"`
	Expected  float64 `json:"expected"`
	Peak      int     `json:"peak"`
	Devices   int     `json:"devices"`
	Addresses int     `json:"addresses,omitempty"`
	// Tenant, Vendor and Block are the most frequent ones; Block is an address, or the
	// network of one: /24, or /48 of IPv6.
	Tenant *Share `json:"tenant,omitempty"`
	Vendor *Share `json:"vendor,omitempty"`
	Block  *Share `json:"block,omitempty"`
	// Earlier is the cluster in which most of these phones were before.
	Earlier *Earlier `json:"earlier,omitempty"`
	// Cause is one of the Causes, and a guess.
	Cause string `json:"cause"`

	perSecond []int // of the first maxShape seconds
	more      bool  // there are more devices than were counted
}

// Earlier is a cluster that the phones of a later one were in.
type Earlier struct {
	At    time.Time `json:"at"`
	Share float64   `json:"share"`
	// After is the seconds from one to the other.
	After int `json:"after"`
}

// Causes are what a cluster probably is, as a program reads it and as a person does.
var Causes = map[string]string{
	"same-phones": "the same phones as before: an interval that is not spread keeps them together",
	"schedule":    "on the full or the half hour: a fixed schedule, of the phones or of who restarts them",
	"one-site":    "one address block: probably a power cut, or its network came back",
	"one-tenant":  "one tenant at many places: probably a NOTIFY check-sync, or a restart from the PBX",
	"one-vendor":  "one vendor at many tenants: probably a firmware",
	"everywhere":  "many places at once: the way to the server, or the server, was away",
	"few-devices": "a few devices again and again",
	"scanner":     "one address block asks for many devices: a scanner",
	"one-device":  "one device that is refused again and again",
	"refused":     "refused at many places: phones without a profile, or scanners",
}

// Limits of a guess.
const (
	most      = 0.8 // what is of "one" has at least this share
	little    = 0.1 // a smaller share is not worth to be named
	together  = 0.5 // so many of the phones were together before
	onTheHour = 5   // seconds around the full or half hour
	maxShape  = 900 // seconds of a cluster that are kept for a picture
)

// gathering is a cluster that may not be over.
type gathering struct {
	id          uint32
	first, last uint32 // seconds with arrivals
	arrivals    int
	peak        int
	devices     int
	macs        map[accesslog.MAC]int // of strangers
	tenants     map[uint16]int
	vendors     map[uint16]int
	addresses   map[netip.Addr]int
	earlier     map[uint32]int
	perSecond   []int
	more        bool
}

// gather takes the events of a second that is in a cluster.
func (s *scan) gather(a *Analysis, at uint32, n int, events []event) {
	if n == 0 {
		return
	}
	if s.open == nil {
		s.starts = append(s.starts, at)
		s.open = &gathering{id: uint32(len(s.starts)), first: at, macs: map[accesslog.MAC]int{}, tenants: map[uint16]int{},
			vendors: map[uint16]int{}, addresses: map[netip.Addr]int{}, earlier: map[uint32]int{}}
	}
	g := s.open
	g.last = at
	g.arrivals += n
	g.peak = max(g.peak, n)
	if i := int(at - g.first); i < maxShape {
		g.perSecond = append(g.perSecond, make([]int, i+1-len(g.perSecond))...)
		g.perSecond[i] = n
	}
	for _, e := range events {
		times := int(e.times)
		g.more = g.more || times > 1
		g.tenants[e.tenant] += times
		g.vendors[e.vendor] += times
		if e.remote.IsValid() {
			count(g.addresses, e.remote, times)
		}
		if e.device == 0 {
			if e.mac != 0 {
				count(g.macs, e.mac, times)
			}
			continue
		}
		if d := &a.devices[e.device-1]; d.cluster != g.id {
			g.devices++
			g.earlier[d.cluster]++
			d.cluster = g.id
		}
	}
}

// close makes a cluster of what was gathered.
func (s *scan) close(a *Analysis) {
	g := s.open
	if s.open = nil; g == nil || g.arrivals < MinCluster {
		return
	}
	c := &Cluster{
		Of: s.of, At: a.time(g.first), Seconds: int(g.last-g.first) + 1, Arrivals: g.arrivals, Peak: g.peak,
		Devices: g.devices + len(g.macs), Addresses: len(g.addresses), perSecond: g.perSecond, more: g.more,
	}
	c.Expected = s.usual * float64(c.Seconds)
	c.Tenant, c.Vendor = a.share(g.tenants, g.arrivals), a.share(g.vendors, g.arrivals)
	c.Block = block24(g.addresses)
	delete(g.earlier, 0)
	if id, n := top(g.earlier); id != 0 && float64(n) >= together*float64(g.devices) {
		start := s.starts[id-1]
		c.Earlier = &Earlier{At: a.time(start), Share: float64(n) / float64(g.devices), After: int(g.first - start)}
	}
	c.Cause = c.cause()
	s.found++
	if s.clusters = append(s.clusters, c); len(s.clusters) > 2*maxClusters {
		s.clusters = largest(s.clusters, maxClusters)
	}
	if a.options.Announce != nil {
		a.options.Announce(c)
	}
}

// maxClusters is how many clusters are kept.
const maxClusters = 1000

// largest are the n largest clusters, in the order of time.
func largest(clusters []*Cluster, n int) []*Cluster {
	list := slices.Clone(clusters)
	slices.SortStableFunc(list, func(c, d *Cluster) int { return cmp.Compare(d.Arrivals, c.Arrivals) })
	list = list[:min(n, len(list))]
	slices.SortStableFunc(list, func(c, d *Cluster) int { return cmp.Or(c.At.Compare(d.At), strings.Compare(c.Of, d.Of)) })
	return list
}

func (c *Cluster) cause() string {
	has := func(s *Share) bool { return s != nil && s.Share >= most }
	if c.Of == Refusals {
		switch {
		case c.Devices == 1:
			return "one-device"
		case has(c.Block):
			return "scanner"
		}
		return "refused"
	}
	second := c.At.Unix() % 1800
	if _, offset := c.At.Zone(); offset%1800 != 0 {
		second = (c.At.Unix() + int64(offset)) % 1800
	}
	switch {
	case 2*c.Devices < c.Arrivals:
		return "few-devices"
	case c.Earlier != nil:
		return "same-phones"
	case second <= onTheHour || second >= 1800-onTheHour:
		return "schedule"
	case has(c.Block):
		return "one-site"
	case has(c.Tenant):
		return "one-tenant"
	case has(c.Vendor):
		return "one-vendor"
	}
	return "everywhere"
}

// String is the cluster for people, in two or three lines.
func (c *Cluster) String() string {
	who := "phones"
	if c.Of == Refusals {
		who = "refused requests"
	} else if c.Devices != c.Arrivals {
		who = CheckIns
	}
	s := fmt.Sprintf("%s %s within %d s at %s", number(c.Arrivals), who, c.Seconds, clock(c.At))
	if c.Devices != c.Arrivals {
		s += ", of " + number(c.Devices) + " devices"
	}
	if c.more {
		s += " or more"
	}
	var parts []string
	for _, p := range []struct {
		name  string
		share *Share
	}{{"tenant ", c.Tenant}, {"", c.Vendor}, {"", c.Block}} {
		if p.share != nil && p.share.Share >= little {
			parts = append(parts, fmt.Sprintf("%s%s %s", p.name, p.share.Value, percent(p.share.Share)))
		}
	}
	if c.Addresses > 1 {
		parts = append(parts, number(c.Addresses)+" addresses")
	}
	parts = append(parts, number(c.Peak)+" in the fullest second", "usual: "+few(c.Expected))
	s += "\n  " + strings.Join(parts, ", ")
	if e := c.Earlier; e != nil {
		s += fmt.Sprintf("\n  %s of them were together at %s, %s s earlier", percent(e.Share), clock(e.At), number(e.After))
	}
	return s + "\n  " + Causes[c.Cause]
}

// share is the most frequent word, unless most say none.
func (a *Analysis) share(counts map[uint16]int, of int) *Share {
	word, n := top(counts)
	if word == 0 {
		return nil
	}
	return &Share{a.names.words[word], float64(n) / float64(of)}
}

// top is the key with the largest count, the smaller one of two.
func top[K cmp.Ordered](counts map[K]int) (key K, n int) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > n {
			key, n = k, counts[k]
		}
	}
	return key, n
}

// count adds to a count, unless there are too many different ones already.
func count[K comparable](counts map[K]int, key K, n int) {
	if _, there := counts[key]; there || len(counts) < maxPlaces {
		counts[key] += n
	}
}

// block24 is the network that most arrivals came from, or the address if they came from
// one.
func block24(addresses map[netip.Addr]int) *Share {
	if len(addresses) == 0 {
		return nil
	}
	blocks, sum := map[string]int{}, 0
	for addr, n := range addresses {
		bits := 24
		if addr.Is6() {
			bits = 48
		}
		prefix, err := addr.Prefix(bits)
		if err != nil {
			continue
		}
		blocks[prefix.String()] += n
		sum += n
	}
	block, n := top(blocks)
	prefix := netip.MustParsePrefix(block)
	inside := 0
	var only netip.Addr
	for addr := range addresses {
		if prefix.Contains(addr) {
			inside++
			only = addr
		}
	}
	if inside == 1 {
		block = only.String()
	}
	return &Share{block, float64(n) / float64(sum)}
}
