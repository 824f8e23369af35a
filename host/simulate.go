package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/host/herd"
	"stagger/host/rendered"
	"stagger/host/report"
)

// simulation is what a simulation is of: the phones, and how they are described.
type simulation struct {
	herd   herd.Herd
	timer  string
	unit   float64
	linear bool
	// source says where the values come from, absent how many devices of a fleet have
	// no such timer, daily how many come at a time of the day, and native how many draw
	// the moment themselves and are not simulated.
	source                string
	absent, daily, native int
}

// outcome is the JSON of one scheme.
type outcome struct {
	Scheme string `json:"scheme"`
	// Peaks are the requests of the fullest second around each repeat,
	// PeriodPeaks those of each whole period after the event.
	Peaks       []uint32 `json:"peaks"`
	PeriodPeaks []uint32 `json:"period_peaks"`
	StartPeak   uint32   `json:"start_peak"`
	Seconds     int      `json:"seconds"`
	Requests    uint64   `json:"requests"`
	Mean        float64  `json:"mean"`
	// Noise is the peak that an even load of this mean has over one interval.
	Noise   float64 `json:"noise"`
	PerDay  float64 `json:"requests_per_day"`
	Reboots float64 `json:"reboots_per_phone_and_day"`
}

func outcomeOf(r *herd.Run) outcome {
	o := outcome{
		Scheme: r.Scheme.Name, StartPeak: slices.Max(r.Starts), Seconds: len(r.Counts), Requests: r.Requests,
		Mean: r.Mean(), PerDay: float64(r.Requests) * 86400 / float64(len(r.Counts)), Peaks: []uint32{}, PeriodPeaks: []uint32{},
	}
	o.Noise = herd.Noise(o.Mean, int(r.Interval))
	if r.Scheme.Reboot {
		o.Reboots = report.Reboots(r)
	}
	for k := 1; k <= r.Periods(); k++ {
		o.PeriodPeaks = append(o.PeriodPeaks, r.Peak(k))
		if k < r.Periods() {
			o.Peaks = append(o.Peaks, r.RoundPeak(k))
		}
	}
	return o
}

// spreadTimer reads the flags of one spread timer.
type spreadTimer struct {
	spread.Timer
	name, place string
}

func (t *spreadTimer) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&t.name, "timer", "register", "timer: checkin, register or subscribe")
	flags.Uint64Var(&t.Interval, "interval", 3600, "configured interval in seconds")
	flags.Uint64Var(&t.Window, "window", 600, "window in seconds: how much may be subtracted")
	flags.Uint64Var(&t.Floor, "floor", 60, "floor in seconds: no value is below")
	flags.Uint64Var(&t.Unit, "unit", 1, "what the phones count in, in seconds: 1, 60 or 3600")
	flags.StringVar(&t.place, "place", profile.Places[0], "placement: "+strings.Join(profile.Places, " or "))
}

// key is the timer's name in the hash: of registrations, that of the first line.
func (t *spreadTimer) key() string {
	if t.name == "register" {
		return "register.1"
	}
	return t.name
}

// synthetic is a herd of phones with the addresses of one vendor, in sequence.
func (t *spreadTimer) synthetic(phones uint64, prefix string, rules []refreshShare) (*simulation, error) {
	if !slices.Contains(kinds, t.name) {
		return nil, fmt.Errorf("--timer: %q is not a timer: %s", t.name, strings.Join(kinds, ", "))
	}
	if err := checkTimer(t.key(), t.place, &t.Timer); err != nil {
		return nil, err
	}
	if !record.IsMAC(prefix + "000000") {
		return nil, fmt.Errorf("--prefix: %q is not six hexadecimal digits in lower case", prefix)
	}
	if phones == 0 || phones > 1<<24 {
		return nil, fmt.Errorf("--phones: from 1 to %d", 1<<24)
	}
	s := &simulation{timer: t.name, unit: float64(t.Unit), linear: true, source: "the rule, addresses in sequence from " + prefix + "000000"}
	// The window that is left of the configured one above the floor.
	window := t.For(prefix+"000000", t.key()).Slots * t.Unit
	s.herd = herd.Herd{Interval: float64(t.Interval / t.Unit * t.Unit), Window: float64(window), Values: make([]float64, phones)}
	for i := range s.herd.Values {
		s.herd.Values[i] = float64(t.For(fmt.Sprintf("%s%06x", prefix, i), t.key()).Seconds)
	}
	// Of a hundred phones in sequence every rule has its share.
	for _, r := range rules {
		for range int(math.Round(100 * r.share)) {
			s.herd.Rules = append(s.herd.Rules, r.rule)
		}
	}
	if len(rules) == 1 {
		s.herd.Rules = s.herd.Rules[:1]
	}
	s.linear = len(s.herd.Rules) == 1 && s.herd.Rules[0] == herd.Refresh{}
	return s, nil
}

// ofFleet is the herd that a fleet is. With a reader, values come out of the
// rendered files.
func ofFleet(ctx context.Context, w *world, file, kind string, refresh refreshFlag, reader *rendered.Reader) (*simulation, error) {
	if !slices.Contains(kinds, kind) {
		return nil, misuse(fmt.Errorf("--timer: %q is not a timer: %s", kind, strings.Join(kinds, ", ")))
	}
	store, err := openFleet(w, file)
	if err != nil {
		return nil, err
	}
	devices, err := fleetDevices(store)
	if err != nil {
		return nil, err
	}
	s := &simulation{timer: kind, linear: true, source: "the rule, for the devices of the fleet"}
	if reader != nil {
		s.source = "the rendered files of the fleet"
		reader.Store = store
	}
	intervals, windows, units := map[float64]int{}, map[float64]int{}, map[float64]int{}
	show, clear := w.progress()
	defer clear()
	for i, d := range devices {
		for _, t := range d.Timers {
			if kindOf(t.Name) != kind {
				continue
			}
			if t.Timer.Native {
				s.native++
				continue
			}
			value := t.Value.Seconds
			if reader != nil {
				show("reading files", float64(i)/float64(len(devices)))
				value, err = reader.Value(ctx, d, t)
				if errors.Is(err, rendered.ErrAbsent) {
					s.absent++
					continue
				} else if err != nil {
					return nil, err
				}
			}
			interval := t.Timer.Interval / t.Timer.Unit * t.Timer.Unit
			s.herd.Values = append(s.herd.Values, float64(value))
			if t.Timer.TimeOfDay() {
				s.herd.Intervals = append(s.herd.Intervals, float64(t.Timer.Base))
				s.herd.Daily = append(s.herd.Daily, float64(interval))
				s.daily++
			} else {
				s.herd.Intervals = append(s.herd.Intervals, float64(interval))
				s.herd.Daily = append(s.herd.Daily, 0)
			}
			rule := refresh.of(d.Pack.Vendor, kind)
			s.herd.Rules = append(s.herd.Rules, rule)
			s.linear = s.linear && rule == herd.Refresh{} && !t.Timer.TimeOfDay()
			intervals[float64(interval)]++
			windows[float64(t.Value.Slots*t.Timer.Unit)]++
			units[float64(t.Timer.Unit)]++
		}
	}
	if len(s.herd.Values) == 0 {
		return nil, fmt.Errorf("%s: no device has a timer %s", file, kind)
	}
	s.herd.Interval, s.herd.Window, s.unit = usual(intervals), usual(windows), usual(units)
	s.linear = s.linear && len(intervals) == 1 && len(windows) == 1
	return s, nil
}

// usual is the number that is there most often, the larger of two.
func usual(counts map[float64]int) float64 {
	best, most := 0.0, 0
	for x, n := range counts {
		if n > most || n == most && x > best {
			best, most = x, n
		}
	}
	return best
}

func simulateCommand(w *world) *cobra.Command {
	var (
		timer                              spreadTimer
		event                              herd.Event
		core                               engineFlags
		keys                               keyFlags
		phones                             uint64
		prefix, fleetFile, htmlFile, svgIn string
		refresh, schemes                   []string
		fromRendered, asJSON               bool
		o                                  = herd.Reference
	)
	c := &cobra.Command{
		Use:   "simulate (--phones N | --fleet FILE) [--scheme NAME]...",
		Short: "simulate a herd of phones after an event, with pictures",
		Long: `Simulates phones that start together and come again on a timer, with each scheme that
is named, and prints the requests of the fullest second around each repeat. Schemes
are words joined by "+":

` + herd.Schemes() + `
The phones are synthetic ones with addresses in sequence, or those of a fleet with
their own intervals. --from-rendered takes each phone's interval out of its rendered
file, through the core as at the edge, instead of from the rule.

--html writes one page with plots, which needs nothing from a network; --svg the
picture of before and after. The same seed gives the same numbers, on any number of
processors. --refresh is that of "stagger plan". All times are seconds.`,
		Example: `  stagger simulate --phones 100000
  stagger simulate --phones 100000 --window 360 --scheme fixed,spread,spread+first-delay --html herd.html
  stagger simulate --fleet fleet.jsonl --timer checkin --from-rendered --json
  stagger simulate --phones 1000000 --periods 720 --scheme spread`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			given := c.Flags().Changed
			if given("fleet") == given("phones") {
				return misuse(errors.New("either --phones or --fleet is required"))
			}
			rules, err := parseRefresh(refresh)
			if err != nil {
				return misuse(err)
			}
			var parsed []herd.Scheme
			for _, text := range schemes {
				s, err := herd.ParseScheme(text)
				if err != nil {
					return misuse(fmt.Errorf("--scheme: %w", err))
				}
				parsed = append(parsed, s)
			}
			switch {
			case o.Periods < 1 || o.Periods > 10000:
				return misuse(errors.New("--periods: from 1 to 10000"))
			case !(o.Latency >= 0 && o.Skew >= 0 && o.Skew <= 1e5 && event.Within >= 0 && event.Sites >= 0 && event.Site >= 0):
				return misuse(errors.New("--latency, --skew, --within, --site and --sites: no number below 0, and a skew of 100000 ppm at most"))
			case !(o.Loss >= 0 && o.Loss <= 0.9 && o.Retry > 0 && o.Retry <= 86400 && o.Reboot >= 1 && o.Reboot <= 86400):
				return misuse(errors.New("--loss from 0 to 0.9, --retry above 0 and --reboot from 1, both to a day"))
			case o.Latency > 3600 || event.Within > 86400 || event.Sites > 7*86400:
				return misuse(errors.New("--latency is at most an hour, --within a day, --sites a week"))
			}
			var s *simulation
			if fleetFile == "" {
				if fromRendered {
					return misuse(errors.New("--from-rendered needs --fleet"))
				}
				if s, err = timer.synthetic(phones, prefix, rules.shares); err != nil {
					return misuse(err)
				}
			} else {
				for _, name := range []string{"interval", "window", "floor", "unit", "place", "prefix"} {
					if given(name) {
						return misuse(fmt.Errorf("--%s has no meaning with --fleet, which has the timers", name))
					}
				}
				var reader *rendered.Reader
				if fromRendered {
					secrets, err := keys.read(w)
					if err != nil {
						return err
					}
					machine, err := core.open(c.Context(), w)
					if err != nil {
						return err
					}
					defer machine.Close(context.Background())
					reader = &rendered.Reader{Core: machine, Keys: secrets}
				}
				if s, err = ofFleet(c.Context(), w, fleetFile, timer.name, rules, reader); err != nil {
					return err
				}
			}
			runs, err := simulateAll(c.Context(), w, s, event, parsed, o)
			if err != nil {
				return err
			}
			page := pageOf(s, event, o, runs)
			if htmlFile != "" {
				if err := writeFile(htmlFile, page.WritePage); err != nil {
					return err
				}
			}
			if svgIn != "" {
				if err := writeFile(svgIn, func(out io.Writer) error { return page.BeforeAfter().WriteTo(out, true) }); err != nil {
					return err
				}
			}
			if asJSON {
				return printOutcomes(w.stdout, s, event, o, runs)
			}
			return printRuns(w.stdout, page)
		},
	}
	flags := c.Flags()
	flags.Uint64Var(&phones, "phones", 0, "phones of a synthetic herd")
	flags.StringVar(&prefix, "prefix", "001565", "first six digits of the addresses of a synthetic herd")
	flags.StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	timer.add(c)
	flags.BoolVar(&fromRendered, "from-rendered", false, "take the intervals out of the rendered files of the fleet")
	flags.StringSliceVar(&schemes, "scheme", []string{"fixed", "spread", "spread+first-delay", "registrar", "reboot"}, "schemes to compare")
	flags.StringSliceVar(&refresh, "refresh", nil, "when phones renew (default: full; in a fleet what the vendor packs say)")
	flags.Float64Var(&event.Within, "within", 30, "seconds within which the phones of a site start; 0 is one instant")
	flags.IntVar(&event.Site, "site", 0, "phones of a site (default: all phones are one)")
	flags.Float64Var(&event.Sites, "sites", 600, "seconds within which the sites come back, with --site")
	flags.IntVar(&o.Periods, "periods", 51, "intervals to simulate")
	flags.Float64Var(&o.Latency, "latency", o.Latency, "mean time of a request on its way, exponential")
	flags.Float64Var(&o.Skew, "skew", o.Skew, "how wrong the phones' clocks are at most, in ppm")
	flags.Float64Var(&o.Loss, "loss", 0, "share of requests that are lost")
	flags.Float64Var(&o.Retry, "retry", o.Retry, "seconds after which a lost request is tried again")
	flags.Float64Var(&o.Reboot, "reboot", o.Reboot, "seconds that a phone takes to reboot")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of what is random")
	flags.StringVar(&htmlFile, "html", "", "write a page with plots to this file")
	flags.StringVar(&svgIn, "svg", "", "write the picture of before and after to this file")
	flags.BoolVar(&asJSON, "json", false, "print every peak of every scheme as JSON")
	core.add(c)
	keys.add(c)
	return c
}

// rebootCycles is how many reboots are enough to see that they do not end.
const rebootCycles = 40

func simulateAll(ctx context.Context, w *world, s *simulation, event herd.Event, schemes []herd.Scheme, o herd.Options) ([]*herd.Run, error) {
	show, clear := w.progress()
	defer clear()
	if event.Site == 0 {
		event.Sites = 0
	}
	var runs []*herd.Run
	for i, scheme := range schemes {
		o := o
		o.Progress = func(share float64) { show(scheme.Name, (float64(i)+share)/float64(len(schemes))) }
		if scheme.Reboot {
			o.Seconds = max(3600, rebootCycles*o.Reboot)
		}
		run, err := s.herd.Run(ctx, event, scheme, o)
		if err != nil {
			return nil, fmt.Errorf("scheme %s: %w", scheme.Name, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// shownRepeats are the columns of the table.
func shownRepeats(periods int) []int {
	var list []int
	for _, k := range []int{1, 2, 5, 10, 50, 100, 500, 1000, 5000} {
		if k < periods {
			list = append(list, k)
		}
	}
	return list
}

// pageOf describes runs for people.
func pageOf(s *simulation, event herd.Event, o herd.Options, runs []*herd.Run) *report.Report {
	phones := float64(len(s.herd.Values))
	number := func(x float64, unit string) string { return strings.TrimSpace(thousands(x) + " " + unit) }
	start := "at one instant"
	if event.Within > 0 {
		start = "within " + number(event.Within, "s")
	}
	if event.Site > 0 {
		start += fmt.Sprintf(", by sites of %s over %s", thousands(float64(event.Site)), number(event.Sites, "s"))
	}
	r := &report.Report{
		Title: fmt.Sprintf("%s phones start together: %s", thousands(phones), map[string]string{
			"checkin": "the check-in", "register": "the registration", "subscribe": "the subscription"}[s.timer]),
		Facts: [][2]string{
			{"phones", thousands(phones)}, {"interval I", number(s.herd.Interval, "s")}, {"window W", number(s.herd.Window, "s")},
			{"unit", number(s.unit, "s")}, {"start", start}, {"latency", number(o.Latency, "s") + ", exponential"},
			{"clocks", "±" + number(o.Skew, "ppm")}, {"lost requests", number(100*o.Loss, "%")}, {"values from", s.source},
			{"simulated", fmt.Sprintf("%d intervals, seed %d", o.Periods, o.Seed)},
		},
		Runs: runs, Interval: s.herd.Interval, Window: s.herd.Window, Values: s.herd.Values, Unit: s.unit, Linear: s.linear && s.herd.Window > s.unit && s.herd.Window < s.herd.Interval,
	}
	if s.daily > 0 {
		r.Facts = append(r.Facts, [2]string{"by the clock", thousands(float64(s.daily)) + " devices, at a time of the day; the start is at midnight"})
	}
	if s.native > 0 {
		r.Facts = append(r.Facts, [2]string{"left out", thousands(float64(s.native)) + " devices, which draw the moment themselves"})
	}
	if s.absent > 0 {
		r.Facts = append(r.Facts, [2]string{"without it", thousands(float64(s.absent)) + " devices, whose file has no such timer"})
	}
	periods := 0
	for _, run := range runs {
		periods = max(periods, run.Periods())
	}
	repeats := shownRepeats(periods)
	head := []string{"scheme"}
	for i, k := range repeats {
		name := fmt.Sprint(k)
		if i == 0 {
			name = "repeat " + name
		}
		head = append(head, name)
	}
	r.Table = [][]string{append(head, "mean/s", "a day", "reboots")}
	row := func(name string, cell func(k int) string, rest ...string) {
		cells := []string{name}
		for _, k := range repeats {
			cells = append(cells, cell(k))
		}
		r.Table = append(r.Table, append(cells, rest...))
	}
	for _, run := range runs {
		out := outcomeOf(run)
		reboots := "0"
		if run.Scheme.Reboot {
			reboots = thousands(math.Round(out.Reboots))
		}
		row(run.Scheme.Name, func(k int) string {
			if k > len(out.Peaks) {
				return "-"
			}
			return thousands(float64(out.Peaks[k-1]))
		}, rate(out.Mean), thousands(math.Round(out.PerDay)), reboots)
	}
	if w := s.herd.Window / s.herd.Interval; s.linear && s.herd.Window > s.unit && w < 1 {
		row("M/(kW)", func(k int) string {
			if float64(k) > 1/w-1 {
				return "-" // rounds meet
			}
			return thousands(math.Round(phones / (float64(k) * s.herd.Window)))
		}, rate(phones/s.herd.Interval*herd.LongRun(w)), "", "")
	}
	mean := phones / s.herd.Interval
	row("an even load", func(int) string { return thousands(math.Round(herd.Noise(mean, int(s.herd.Interval)))) }, rate(mean), thousands(math.Round(mean*86400)), "0")
	return r
}

// rate prints requests a second.
func rate(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2f", x)
	}
	return thousands(math.Round(x*10) / 10)
}

func printRuns(out io.Writer, r *report.Report) error {
	var text bytes.Buffer
	fmt.Fprintln(&text, r.Title)
	for _, fact := range r.Facts {
		fmt.Fprintf(&text, "  %-14s %s\n", fact[0], fact[1])
	}
	fmt.Fprintf(&text, "\nrequests in the fullest second around each repeat of the interval, the mean, requests a\nday, and reboots of a phone a day:\n\n")
	// Numbers are to the right, names to the left.
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	longest := 0
	for _, row := range r.Table {
		longest = max(longest, len(row[0]))
	}
	for _, row := range r.Table {
		fmt.Fprintf(table, "%-*s\t%s\t\n", longest, row[0], strings.Join(row[1:], "\t"))
	}
	return flushTrimmed(out, table, &text)
}

func printOutcomes(out io.Writer, s *simulation, event herd.Event, o herd.Options, runs []*herd.Run) error {
	result := struct {
		Timer    string    `json:"timer"`
		Phones   int       `json:"phones"`
		Absent   int       `json:"phones_without"`
		Native   int       `json:"phones_native,omitempty"`
		Daily    int       `json:"phones_at_a_time_of_day,omitempty"`
		Interval float64   `json:"interval"`
		Window   float64   `json:"window"`
		Unit     float64   `json:"unit"`
		Values   string    `json:"values_from"`
		Distinct int       `json:"distinct_values"`
		Within   float64   `json:"within"`
		Latency  float64   `json:"latency"`
		Skew     float64   `json:"skew_ppm"`
		Loss     float64   `json:"loss"`
		Seed     uint64    `json:"seed"`
		Even     float64   `json:"even_peak"`
		Settles  int       `json:"settles_after,omitempty"`
		Schemes  []outcome `json:"schemes"`
	}{
		Timer: s.timer, Phones: len(s.herd.Values), Absent: s.absent, Native: s.native, Daily: s.daily, Interval: s.herd.Interval, Window: s.herd.Window, Unit: s.unit,
		Values: s.source, Within: event.Within, Latency: o.Latency, Skew: o.Skew, Loss: o.Loss, Seed: o.Seed,
		Even: herd.Noise(float64(len(s.herd.Values))/s.herd.Interval, int(s.herd.Interval)),
	}
	result.Distinct = len(slices.Compact(slices.Sorted(slices.Values(s.herd.Values))))
	if w := s.herd.Window / s.herd.Interval; s.linear && s.herd.Window > s.unit && w < 1 {
		result.Settles = herd.Settled(w, 0.1)
	}
	for _, run := range runs {
		result.Schemes = append(result.Schemes, outcomeOf(run))
	}
	return json.NewEncoder(out).Encode(result)
}

// writeFile writes a file whole: what was there before stays if it cannot.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
