package checkins

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"stagger/host/accesslog"
)

// midnight is when the logs of these tests begin.
var midnight = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// made is a log that is made up. Times are in seconds after midnight.
type made struct {
	records []accesslog.Record
	random  *rand.Rand
}

func newLog(seed uint64) *made { return &made{random: rand.New(rand.NewPCG(seed, 1))} }

// request is what a phone is seen with, unless a test says otherwise.
var request = accesslog.Record{Tenant: "acme", Vendor: "yealink", File: "config", Outcome: "ok", Checkin: 86400}

func address(a, b, c, d int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(a), byte(b), byte(c), byte(d)})
}

func (m *made) add(at float64, mac int, r accesslog.Record) {
	r.Time = midnight.UnixNano() + int64(at*1e9)
	r.MAC = accesslog.MAC(0x001565_000000 + mac)
	if !r.Remote.IsValid() {
		r.Remote = address(198, 18, mac, mac>>8) // neighbours are in different networks
	}
	m.records = append(m.records, r)
}

// independent adds check-ins of phones from one number on, each at a time of its own.
func (m *made) independent(n, from int, seconds float64) {
	for i := range n {
		m.add(m.random.Float64()*seconds, from+i, request)
	}
}

// analysis has taken all records.
func (m *made) analysis(o Options) *Analysis {
	slices.SortStableFunc(m.records, func(r, s accesslog.Record) int { return cmp.Compare(r.Time, s.Time) })
	a := New(o)
	for i := range m.records {
		a.Add(&m.records[i])
	}
	return a
}

func (m *made) report() *Report { return m.analysis(Options{}).Report() }

// TestIndependent wants no cluster, and the dispersion of independent arrivals, from a
// fleet that is well spread.
func TestIndependent(t *testing.T) {
	outside := 0
	for seed := range uint64(12) {
		m := newLog(seed)
		m.independent([]int{500, 8000, 40000}[seed%3], 0, 6*3600)
		r := m.report()
		if len(r.Clusters) != 0 || r.ClustersOf != 0 || r.Alarm() {
			t.Errorf("seed %d: %v", seed, r.Clusters)
		}
		for _, v := range r.Arrivals {
			if v.Dispersion < v.Low || v.Dispersion > v.High {
				outside++
			}
			if v.Low < 0.8 || v.Low >= 1 || v.High <= 1 || v.High > 1.25 || v.EvenPeak < v.Mean || v.Dispersion < 0.8 || v.Dispersion > 1.25 {
				t.Errorf("seed %d: %+v", seed, v)
			}
		}
	}
	// Of 36, one in a hundred is outside on average.
	if outside > 2 {
		t.Errorf("%d of 36 are outside of their band", outside)
	}
}

// TestNeeded holds the smallest cluster to the rule.
func TestNeeded(t *testing.T) {
	for _, rate := range []float64{1e-4, 0.01, 0.5, 3, 100, 2000} {
		for _, w := range windows {
			k := needed(rate, w)
			if chance := falseWindows(rate, w, k); chance > FalseAlarms/86400/4 {
				t.Errorf("rate %g, window %d: %d arrivals by chance %g times a second", rate, w, k, chance)
			}
			if mean := rate * float64(w); float64(k) < mean+3*math.Sqrt(mean) {
				t.Errorf("rate %g, window %d: %d are within three standard deviations", rate, w, k)
			}
			if k > MinCluster && falseWindows(rate, w, k-1) <= FalseAlarms/86400/4 {
				t.Errorf("rate %g, window %d: %d would do", rate, w, k-1)
			}
		}
	}
}

// falseWindows is the left side of the rule, added up term by term.
func falseWindows(rate float64, seconds, k int) float64 {
	n := distuv.Poisson{Lambda: rate * float64(seconds)}
	sum := 0.0
	for i := k - 1; i < k+2000; i++ {
		sum += n.Prob(float64(i))
	}
	return rate * sum
}

// TestRule counts windows in independent arrivals that are looked through second by
// second, beside the number that the rule says there are: it bounds them, and closely.
func TestRule(t *testing.T) {
	const rate, seconds, k, days = 2.0, 5, 22, 20
	random := rand.New(rand.NewPCG(7, 7))
	found, last := 0, 0
	counts := make([]int, days*86400)
	for at := random.ExpFloat64() / rate; int(at) < len(counts); at += random.ExpFloat64() / rate {
		counts[int(at)]++
	}
	for i := seconds; i < len(counts); i++ {
		sum := 0
		for _, n := range counts[i-seconds+1 : i+1] {
			sum += n
		}
		if sum >= k && i-last > seconds {
			found++
			last = i
		}
	}
	expected := falseWindows(rate, seconds, k) * float64(len(counts))
	if float64(found) > expected || float64(found) < expected/20 || found == 0 {
		t.Errorf("%d windows, at most %.1f are expected", found, expected)
	}
}

// cut adds phones that come within some seconds, from some number on.
func (m *made) cut(at, within float64, n, from int, change func(i int, r *accesslog.Record)) {
	for i := range n {
		r := request
		change(i, &r)
		when := at + m.random.Float64()*within
		if i == 0 {
			when = at
		}
		m.add(when, from+i, r)
	}
}

func nothing(int, *accesslog.Record) {}

// site is one network with some phones of another vendor.
func site(i int, r *accesslog.Record) {
	r.Remote = address(203, 0, 113, i%200)
	if i%50 == 0 {
		r.Vendor = "poly"
	}
}

// TestPowerCut wants a planted cluster with everything about it.
func TestPowerCut(t *testing.T) {
	m := newLog(1)
	m.independent(40000, 0, 86400)
	at := 9*3600 + 14*60 + 3.0
	m.cut(at, 4.9, 1204, 100000, site)
	r := m.report()
	if len(r.Clusters) != 1 {
		t.Fatalf("%v", r.Clusters)
	}
	c := r.Clusters[0]
	want := "phones within 5 s at 2026-11-30 09:14:03\n  tenant acme 100%, yealink 98%, 203.0.113.0/24 100%,"
	if got := c.String(); !strings.Contains(got, want) || c.Cause != "one-site" {
		t.Errorf("%s\nwant %s", got, want)
	}
	if c.Arrivals < 1204 || c.Arrivals > 1210 || c.Devices != c.Arrivals || c.Addresses < 200 || c.Peak < 200 || c.Expected < 1 || c.Expected > 4 || c.Earlier != nil {
		t.Errorf("%+v", c)
	}
	for i, v := range r.Arrivals {
		inside := v.Dispersion >= v.Low && v.Dispersion <= v.High
		if inside != (i == 1) {
			t.Errorf("%+v", v)
		}
	}
	if v := r.Arrivals[0]; v.Peak != c.Peak || v.PeakAt.Before(c.At) || v.PeakAt.After(c.At.Add(5*time.Second)) {
		t.Errorf("%+v", v)
	}
}

// TestCauses has one cluster for each guess.
func TestCauses(t *testing.T) {
	refused := func(i int, r *accesslog.Record) {
		*r = accesslog.Record{Outcome: "token", Vendor: "curl", Remote: address(192, 0, 2, i%4), Status: 404}
	}
	for want, plant := range map[string]func(m *made){
		"one-site":   func(m *made) { m.cut(10000, 5, 60, 100000, site) },
		"schedule":   func(m *made) { m.cut(10798, 5, 60, 100000, nothing) },
		"one-tenant": func(m *made) { m.cut(10000, 5, 60, 100000, nothing) },
		"one-vendor": func(m *made) {
			m.cut(10000, 5, 60, 100000, func(i int, r *accesslog.Record) { r.Tenant = fmt.Sprint("t", i%9) })
		},
		"everywhere": func(m *made) {
			m.cut(10000, 5, 60, 100000, func(i int, r *accesslog.Record) {
				r.Tenant = fmt.Sprint("t", i%9)
				r.Vendor = fmt.Sprint("v", i%3)
			})
		},
		"few-devices": func(m *made) {
			for i := range 1500 {
				m.add(10000+float64(i)*0.8, 100000+i%50, request)
			}
		},
		"scanner": func(m *made) { m.cut(10000, 5, 60, 100000, refused) },
		"one-device": func(m *made) {
			for i := range 60 {
				m.add(10000+float64(i)/10, 100000, accesslog.Record{Status: 404})
			}
		},
		"refused": func(m *made) {
			m.cut(10000, 5, 60, 100000, func(_ int, r *accesslog.Record) { r.Outcome = "token" })
		},
	} {
		m := newLog(3)
		m.independent(3000, 0, 8*3600)
		plant(m)
		r := m.report()
		if len(r.Clusters) != 1 || r.Clusters[0].Cause != want || Causes[want] == "" {
			t.Errorf("%s: %v", want, r.Clusters)
		}
	}
}

// TestSamePhones has phones with one interval, and such with one of their own.
func TestSamePhones(t *testing.T) {
	m := newLog(4)
	m.independent(20000, 0, 6*3600)
	for round := range 4 {
		m.cut(4000+float64(round)*3600, 20, 500, 100000, func(_ int, r *accesslog.Record) { r.Checkin = 3600 })
	}
	r := m.report()
	if len(r.Clusters) != 4 || r.Clusters[0].Cause == "same-phones" {
		t.Fatalf("%v", r.Clusters)
	}
	for _, c := range r.Clusters[1:] {
		if c.Cause != "same-phones" || c.Earlier.After < 3598 || c.Earlier.After > 3602 || c.Earlier.Share < 0.9 || !strings.Contains(c.String(), "of them were together at 2026-11-30") {
			t.Errorf("%v", c)
		}
	}
	// The same phones, spread: one in six seconds more.
	m = newLog(5)
	m.independent(20000, 0, 6*3600)
	m.cut(4000, 20, 500, 100000, nothing)
	m.cut(7000, 3000, 500, 100000, nothing)
	if r := m.report(); len(r.Clusters) != 1 {
		t.Errorf("%v", r.Clusters)
	}
}

// TestLongCluster has a log that begins with a cluster, a cluster that is longer than a
// block, and one at the end.
func TestLongCluster(t *testing.T) {
	m := newLog(6)
	m.cut(0, 5, 300, 100000, nothing)
	m.independent(1000, 0, 7200)
	m.cut(3000, 1500, 30000, 200000, nothing)
	m.cut(7195, 5, 300, 300000, nothing)
	r := m.report()
	if len(r.Clusters) != 3 || r.Clusters[0].Seconds > 6 || r.Clusters[1].Seconds < 1480 || r.Clusters[1].Arrivals < 29900 || r.Clusters[2].Arrivals < 299 {
		t.Errorf("%v", r.Clusters)
	}
	// Nothing says what is usual.
	m = newLog(6)
	m.cut(0, 5, 300, 100000, nothing)
	if r := m.report(); len(r.Clusters) != 0 || r.CheckIns != 300 {
		t.Errorf("%v", r.Clusters)
	}
}

// TestCheckIns counts what is one check-in.
func TestCheckIns(t *testing.T) {
	for name, c := range map[string]struct {
		times []float64
		want  int
	}{
		"three files":       {[]float64{0, 0.2, 3}, 1},
		"tried again":       {[]float64{0, 20, 40, 60}, 1},
		"for ever":          {[]float64{0, 20, 40, 60, 80}, 2},
		"twice":             {[]float64{0, 21}, 2},
		"a minute and more": {[]float64{0, 61, 122}, 3},
	} {
		m := newLog(0)
		for _, at := range c.times {
			m.add(at, 1, request)
		}
		m.add(1, 1, accesslog.Record{Outcome: "not-served"})
		r := m.report()
		if r.CheckIns != c.want || r.Devices != 1 || r.Requests != len(c.times)+1 {
			t.Errorf("%s: %d check-ins", name, r.CheckIns)
		}
	}
}

// TestLoops has phones that come too often, and such that do not.
func TestLoops(t *testing.T) {
	hashes := func(list ...uint64) func(int) uint64 { return func(i int) uint64 { return list[i%len(list)] } }
	for name, c := range map[string]struct {
		gap   float64
		times int
		told  uint32
		hash  func(int) uint64
		loop  string
		often bool
	}{
		"a loop":             {90, 6, 86400, hashes(7), "6 check-ins from 2026-11-30 00:16:40 to 2026-11-30 00:24:10, 90 s apart at least; the bytes did not change", false},
		"other bytes":        {90, 6, 86400, hashes(1, 2, 3, 4, 5, 6), "the bytes changed 5 times", false},
		"no hash":            {90, 5, 86400, hashes(0), "5 check-ins from 2026-11-30 00:16:40 to 2026-11-30 00:22:40, 90 s apart at least; the log does not tell", false},
		"not often enough":   {90, 4, 86400, hashes(7), "", true},
		"twice":              {90, 2, 86400, hashes(7), "", false},
		"slowly":             {3000, 6, 86400, hashes(7), "", true},
		"as told":            {90, 6, 100, hashes(7), "", false},
		"half of it":         {45, 6, 90, hashes(7), "", false},
		"not told":           {170, 6, 0, hashes(7), "6 check-ins", false},
		"not told, and slow": {200, 6, 0, hashes(7), "", false},
	} {
		m := newLog(0)
		for i := range c.times {
			r := request
			r.Checkin, r.Hash, r.Documents = c.told, c.hash(i), uint64(i+1)
			m.add(1000+float64(i)*c.gap, 1, r)
			r.File = "boot"
			if r.Hash != 0 {
				r.Hash = 9
			}
			m.add(1000.1+float64(i)*c.gap, 1, r)
		}
		r := m.report()
		if (len(r.Loops) == 1) != (c.loop != "") || len(r.Loops) == 1 && !strings.Contains(r.Loops[0].String(), c.loop) || (len(r.Often) == 1) != c.often {
			t.Errorf("%s: %v %v", name, r.Loops, r.Often)
		}
		if r.Alarm() != (c.loop != "") {
			t.Errorf("%s: %v %v", name, r.Loops, r.Unstable)
		}
	}
}

// TestStability judges the bytes that a phone got at one check-in after the other, each
// "hash/documents".
func TestStability(t *testing.T) {
	for sequence, want := range map[string]string{
		"1/5 1/5 1/5":                 "",
		"1/5 2/6 2/6":                 "changed",
		"1/5 2/6 1/5":                 "changed",
		"1/5 2/6 1/5 2/6 1/5 2/6":     "changed",
		"1/5 1/6 1/5":                 "",
		"1/5 2/5":                     "unstable 001565000001  acme  yealink  told 86,400 s  config  1 changes, the last at 2026-11-30 01:00:00, 1 with the same documents",
		"1/5 2/5 1/5":                 "unstable 001565000001  acme  yealink  told 86,400 s  config  2 changes, the last at 2026-11-30 02:00:00, 2 with the same documents, 1 back to earlier bytes",
		"1/5 2/6 3/6":                 "unstable",
		"1/0 2/0":                     "changed",
		"1/0 2/0 3/0 4/0":             "changed",
		"1/0 2/0 3/0 4/0 5/0":         "unstable",
		"1/0 2/0 3/0 3/0 4/0 5/0 6/0": "changed",
		"1/0 2/0 1/0":                 "suspicious 001565000001  acme  yealink  told 86,400 s  config  2 changes, the last at 2026-11-30 02:00:00, 1 back to earlier bytes",
		"1/0 2/0 1/0 2/0":             "unstable",
		"1/0 2/5":                     "changed",
		"1/0 1/0 0/0 1/0":             "",
	} {
		m := newLog(0)
		for i, step := range strings.Fields(sequence) {
			r := request
			if _, err := fmt.Sscanf(step, "%d/%d", &r.Hash, &r.Documents); err != nil {
				t.Fatal(err)
			}
			m.add(float64(i)*3600, 1, r)
			r.File, r.Hash = "boot", 8
			m.add(float64(i)*3600+1, 1, r)
			m.add(float64(i)*3600+2, 2, r)
		}
		r := m.report()
		got := strings.Repeat("changed", r.Changed)
		for _, c := range r.Unstable {
			got += "unstable " + c.String()
		}
		for _, c := range r.Suspicious {
			got += "suspicious " + c.String()
		}
		if got != want && (!strings.HasPrefix(got, want+" ") || strings.Contains(want, " ") || want == "") || r.Alarm() != strings.HasPrefix(want, "unstable") {
			t.Errorf("%s: %s, want %s", sequence, got, want)
		}
	}
	// Another tenant has other bytes.
	m := newLog(0)
	for i, tenant := range []string{"acme", "demo", "acme", "demo"} {
		r := request
		r.Tenant, r.Hash = tenant, uint64(1+i%2)
		m.add(float64(i)*3600, 1, r)
	}
	if r := m.report(); r.Changed+len(r.Unstable)+len(r.Suspicious) != 0 {
		t.Errorf("%v %v", r.Unstable, r.Suspicious)
	}
}

func TestOverdue(t *testing.T) {
	m := newLog(0)
	for i, told := range []uint32{3600, 36000, 0, 36001, 60} {
		r := request
		r.Checkin = told
		m.add(float64(i), i, r)
	}
	m.add(39603, 9, request) // 36000 and a tenth after the second, and two seconds
	m.add(39603, 4, request)
	o := Options{Known: map[accesslog.MAC]uint32{0x001565_000002: 7200, 0x001565_00000a: 60, 0x001565_000001: 1}}
	r := m.analysis(o).Report()
	got := ""
	for _, v := range r.Overdue {
		got += v.String() + "\n"
	}
	want := `001565000000  acme  yealink  told 3,600 s  seen last at 2026-11-30 00:00:00, overdue by 10 h
001565000002  acme  yealink  told 7,200 s  seen last at 2026-11-30 00:00:02, overdue by 9 h
001565000001  acme  yealink  told 36,000 s  seen last at 2026-11-30 00:00:01, overdue by 60 min
`
	if got != want {
		t.Errorf("%s", got)
	}
	if len(r.Unseen) != 1 || r.Unseen[0].String() != "00156500000a" || r.Foreign != 4 {
		t.Errorf("%v, %d", r.Unseen, r.Foreign)
	}
	// What nothing says is what the caller says.
	r = m.analysis(Options{Value: 600}).Report()
	if len(r.Overdue) != 3 || r.Overdue[0].Value != 600 {
		t.Errorf("%v", r.Overdue)
	}
}

func TestBounds(t *testing.T) {
	m := newLog(0)
	for i := range 10 {
		m.add(float64(i)*1000, i, request)
	}
	second := func(n int64) int64 { return midnight.UnixNano() + n*1e9 }
	r := m.analysis(Options{Since: second(1500), Until: second(5000)}).Report()
	if r.Requests != 3 || r.Devices != 3 || clock(r.From) != "2026-11-30 00:25:00" || clock(r.To) != "2026-11-30 01:23:20" {
		t.Errorf("%+v", r)
	}
	if r = m.analysis(Options{Since: second(100000)}).Report(); r.Requests != 0 || len(r.Clusters) != 0 {
		t.Errorf("%+v", r)
	}
	if r = New(Options{}).Report(); r.Requests != 0 {
		t.Errorf("%+v", r)
	}
}

// TestScanners has what is refused.
func TestScanners(t *testing.T) {
	m := newLog(2)
	m.independent(2000, 0, 7200)
	// Phones ask for files that are not there, first of all.
	for i := range 2000 {
		r := m.records[i]
		r.Time -= 1e9
		r.Outcome = "not-served"
		m.records = append(m.records, r)
	}
	for i := range 30000 {
		m.add(3000+float64(i)/3000, 1<<20+i, accesslog.Record{Status: 404, Remote: address(192, 0, 2, 7)})
	}
	for i := range 99 {
		m.add(float64(i)*70, 0, accesslog.Record{Status: 404, Remote: address(192, 0, 2, 8)})
	}
	r := m.report()
	if fmt.Sprint(r.Refused) != "[{192.0.2.7 30000}]" || len(r.Clusters) != 1 || r.Devices != 2000 {
		t.Errorf("%v %v", r.Refused, r.Clusters)
	}
	c := r.Clusters[0]
	if c.Of != Refusals || c.Arrivals < 30000 || c.Arrivals > 30010 || !strings.Contains(c.String(), "devices or more") || c.Cause != "scanner" || c.Block.Value != "192.0.2.7" || c.Devices < 9000 {
		t.Errorf("%+v", c)
	}
	// A few addresses among very many.
	var f frequent
	f.init()
	for i := range 300000 {
		f.add(address(10, i>>16, i>>8, i))
		if i%100 == 0 {
			f.add(address(192, 0, 2, 1))
		}
	}
	if n := f.counts[address(192, 0, 2, 1)]; n < 3000-f.lost || n > 3000 || len(f.counts) > kept {
		t.Errorf("%d counted, %d lost, %d addresses", n, f.lost, len(f.counts))
	}
}

// story is a log with something of everything.
func story() *made {
	m := newLog(11)
	m.independent(24000, 0, 86400)
	m.cut(9*3600+14*60+3, 4.9, 1204, 100000, site)
	for _, hour := range []float64{12, 13} {
		m.cut(hour*3600, 4, 150, 200000, func(_ int, r *accesslog.Record) { r.Tenant, r.Vendor, r.Checkin = "demo", "snom", 3600 })
	}
	for i := range 9 {
		r := request
		r.Hash, r.Documents = uint64(i+1), 1
		m.add(40000+float64(i)*95, 300000, r)
		r.Hash = 1
		m.add(50000+float64(i)*62, 300001, r)
	}
	for i := range 3 {
		r := request
		r.Checkin, r.Hash = 7200, uint64(1+i%2)
		m.add(60000+float64(i)*7150, 300002, r)
	}
	for i := range 4 {
		m.add(float64(i)*9000, 300003, request)
	}
	m.cut(70000, 60, 5000, 1<<20, func(i int, r *accesslog.Record) {
		*r = accesslog.Record{Status: 404, Outcome: "token", Vendor: "python", Remote: address(192, 0, 2, 99)}
	})
	return m
}

// TestGolden holds the report for people to a file. With GOLDEN=write it writes it.
func TestGolden(t *testing.T) {
	known := map[accesslog.MAC]uint32{0xc074ad000001: 3600, 0x001565_000000: 86400}
	var b strings.Builder
	r := story().analysis(Options{Known: known}).Report()
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/report.txt"
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("not as in %s:\n%s", file, b.String())
	}
	var again strings.Builder
	if err := story().analysis(Options{Known: known}).Report().WriteText(&again); err != nil || again.String() != b.String() {
		t.Error("two reports of one log differ")
	}
}

// TestAnnounce wants clusters while records come, and each once.
func TestAnnounce(t *testing.T) {
	m := story()
	slices.SortStableFunc(m.records, func(r, s accesslog.Record) int { return cmp.Compare(r.Time, s.Time) })
	var announced []*Cluster
	latest := uint32(0)
	a := New(Options{Announce: func(c *Cluster) { announced = append(announced, c) }})
	for i := range m.records {
		a.Add(&m.records[i])
		if at := uint32(m.records[i].Time / 1e9); at >= latest+7 {
			latest = at
			before := len(announced)
			a.Advance(int64(at))
			for _, c := range announced[before:] {
				if delay := int64(at) - c.At.Unix() - int64(c.Seconds); delay > longestWindow+apart+step+14 {
					t.Errorf("%v\nis announced after %d s", c, delay)
				}
			}
		}
	}
	r := a.Report()
	if len(announced) != len(r.Clusters) || len(announced) < 4 {
		t.Errorf("%d announced, %d reported", len(announced), len(r.Clusters))
	}
}
