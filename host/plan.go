package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/host/fleet"
	"stagger/host/herd"
	"stagger/host/inspect"
	"stagger/host/plan"
	"stagger/vendors"
)

// kinds are the timers by what they ask: registrations of all lines are one.
var kinds = []string{"checkin", "register", "subscribe"}

// kindOf is the kind of a timer: "register" of "register.2".
func kindOf(timer string) string {
	kind, _, _ := strings.Cut(timer, ".")
	return kind
}

// fleetDevices reads every device of a fleet, by tenant and MAC.
func fleetDevices(store *fleet.Store) ([]*inspect.Device, error) {
	var devices []*inspect.Device
	for _, key := range store.Keys() {
		rest, ok := strings.CutPrefix(key, "device:")
		if !ok {
			continue
		}
		tenant, mac, _ := strings.Cut(rest, ":")
		ctx := context.Background()
		tenantDocument, _, _ := store.Get(ctx, fleet.TenantKey(tenant))
		deviceDocument, _, _ := store.Get(ctx, fleet.DeviceKey(tenant, mac))
		d, err := inspect.Read(tenantDocument, deviceDocument)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", mac, err)
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// perKind reads a flag that holds one number for all timers, or one for each, as
// in checkin=86400,register=3600.
func perKind(flag, text string) (map[string]float64, error) {
	numbers := map[string]float64{}
	if text == "" {
		return numbers, nil
	}
	for _, part := range strings.Split(text, ",") {
		kind, digits, named := strings.Cut(part, "=")
		if !named {
			kind, digits = "", part
		}
		n, err := strconv.ParseFloat(digits, 64)
		_, twice := numbers[kind]
		switch {
		case err != nil || !(n >= 0 && n <= profile.MaxSeconds):
			return nil, fmt.Errorf("%s: %q is not a number from 0 to %d", flag, digits, profile.MaxSeconds)
		case named && !slices.Contains(kinds, kind):
			return nil, fmt.Errorf("%s: %q is not a timer: %s", flag, kind, strings.Join(kinds, ", "))
		case twice, !named && strings.Contains(text, ","):
			return nil, fmt.Errorf("%s: one number, or one for each timer as in register=3600,subscribe=1800", flag)
		}
		numbers[kind] = n
	}
	return numbers, nil
}

// of returns the number for a timer.
func of(numbers map[string]float64, kind string, otherwise float64) float64 {
	for _, k := range []string{kind, ""} {
		if n, ok := numbers[k]; ok {
			return n
		}
	}
	return otherwise
}

// refreshFlag says when phones renew: a rule for all, a mix by share, or rules by
// vendor for a fleet.
type refreshFlag struct {
	shares  []refreshShare
	vendors map[string]herd.Refresh
	// packs are what the vendor packs say, by vendor and timer, for where the caller
	// says nothing; given is whether shares are the caller's.
	packs map[string]map[string]herd.Refresh
	given bool
}

type refreshShare struct {
	rule  herd.Refresh
	share float64
}

func parseRefresh(texts []string) (refreshFlag, error) {
	f := refreshFlag{vendors: map[string]herd.Refresh{}, packs: map[string]map[string]herd.Refresh{}}
	descriptors, err := source.Descriptors(vendors.Descriptors)
	if err != nil {
		return f, err
	}
	for _, d := range descriptors {
		f.packs[d.Vendor] = map[string]herd.Refresh{}
		for name, t := range d.Timers {
			if t.Effective == nil {
				continue
			}
			if f.packs[d.Vendor][name], err = herd.ParseRefresh(t.Effective.String()); err != nil {
				return f, fmt.Errorf("%s: %s: %w", d.Vendor, name, err)
			}
		}
	}
	total := 0.0
	for _, text := range texts {
		if vendor, rule, ok := strings.Cut(text, "="); ok {
			r, err := herd.ParseRefresh(rule)
			if err != nil {
				return f, fmt.Errorf("--refresh: %w", err)
			}
			f.vendors[vendor] = r
			continue
		}
		rule, part, ok := strings.Cut(text, ":")
		share := 100.0
		if ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(part, "%"), 64)
			if err != nil || !(n > 0 && n <= 100) || !strings.HasSuffix(part, "%") {
				return f, fmt.Errorf("--refresh: %q is no share of the phones such as 30%%", part)
			}
			share = n
		}
		r, err := herd.ParseRefresh(rule)
		if err != nil {
			return f, fmt.Errorf("--refresh: %w", err)
		}
		total += share
		f.shares = append(f.shares, refreshShare{r, share / 100})
	}
	if len(f.shares) > 0 && math.Abs(total-100) > 1e-6 {
		return f, fmt.Errorf("--refresh: the shares add up to %g%%, not to 100%%", total)
	}
	if f.given = len(f.shares) > 0; !f.given {
		f.shares = []refreshShare{{herd.Refresh{}, 1}}
	}
	return f, nil
}

// of is the rule for a phone of a vendor and a timer. A check-in comes when its
// interval is over, with every vendor.
func (f refreshFlag) of(vendor, kind string) herd.Refresh {
	if kind == "checkin" {
		return herd.Refresh{}
	}
	if r, ok := f.vendors[vendor]; ok {
		return r
	}
	if f.given && len(f.shares) == 1 {
		return f.shares[0].rule
	}
	return f.packs[vendor][kind]
}

// served is how many files a phone fetches at a check-in: its own, and what it has to
// get before them.
func served(d *inspect.Device) float64 {
	n, own := 0, false
	for i := range d.Pack.Files {
		f := &d.Pack.Files[i]
		name := f.Prefix
		if strings.ContainsAny(name, "#*") {
			name = d.Model + path.Ext(name)
		}
		if _, ok := f.Match(name); f.Program != nil || f.Text != "" && ok && !own {
			n++
		}
		own = own || f.Program != nil
	}
	return float64(n)
}

// planned is a plan, and what a fleet really does.
type planned struct {
	*plan.Result
	// Configured is the fullest bucket with the fleet's own windows, Enumerated
	// that with the window of the plan.
	Configured *plan.Fullest `json:"configured,omitempty"`
	Enumerated *plan.Fullest `json:"enumerated,omitempty"`
	// Native is how many devices of the fleet draw the moment themselves and are not
	// among the phones of the plan.
	Native int `json:"native,omitempty"`
}

// timersOf are the timers of a fleet as groups, and each device's own.
type timersOf struct {
	groups map[string][]plan.Group
	spread map[string][]fleetTimer
	// native is how many devices draw the moment of their check-in themselves, which
	// no window changes.
	native int
}

type fleetTimer struct {
	mac string
	profile.Spread
	requests float64
	refresh  herd.Refresh
}

func readTimers(devices []*inspect.Device, requests map[string]float64, refresh refreshFlag) timersOf {
	t := timersOf{groups: map[string][]plan.Group{}, spread: map[string][]fleetTimer{}}
	for _, d := range devices {
		for _, s := range d.Timers {
			kind := kindOf(s.Name)
			if !slices.Contains(kinds, kind) {
				continue
			}
			if s.Timer.Native {
				t.native++
				continue
			}
			each := of(requests, kind, 1)
			if _, ok := requests[kind]; !ok && kind == "checkin" {
				each = served(d)
			}
			rule := refresh.of(d.Pack.Vendor, kind)
			t.spread[kind] = append(t.spread[kind], fleetTimer{d.MAC, s, each, rule})
			g := plan.Group{
				Interval: float64(s.Timer.Interval / s.Timer.Unit * s.Timer.Unit), Unit: float64(s.Timer.Unit), Requests: each, Refresh: rule,
				Floor: float64(max(s.Timer.Floor, s.Timer.Min*s.Timer.Unit)), Daily: s.Timer.TimeOfDay(),
			}
			i := slices.IndexFunc(t.groups[kind], func(have plan.Group) bool { have.Phones = 0; return have == g })
			if i < 0 {
				i = len(t.groups[kind])
				t.groups[kind] = append(t.groups[kind], g)
			}
			t.groups[kind][i].Phones++
		}
	}
	return t
}

// duties are the values of all devices, with their own windows or another one.
func duties(timers []fleetTimer, window float64) []plan.Duty {
	list := make([]plan.Duty, len(timers))
	for i, t := range timers {
		value := t.Value
		if window >= 0 {
			timer := t.Timer
			timer.Window = uint64(window)
			value = timer.For(t.mac, t.Name)
		}
		list[i] = plan.Duty{Value: float64(value.Seconds), Requests: t.requests, Refresh: t.refresh}
		if t.Timer.TimeOfDay() {
			list[i].Daily = float64(t.Timer.Interval)
		}
	}
	return list
}

func longest(groups []plan.Group) float64 {
	most := 0.0
	for _, g := range groups {
		most = max(most, g.Interval)
	}
	return most
}

func planCommand(w *world) *cobra.Command {
	var (
		server                   plan.Server
		fleetFile, budget        string
		intervals, floors, units string
		requests                 string
		timers, refresh          []string
		count, window            uint64
		daily, asJSON            bool
	)
	c := &cobra.Command{
		Use:   "plan (--phones N --interval I | --fleet FILE) --capacity MU",
		Short: "compute how wide the window has to be",
		Long: `Computes how wide the window of a timer has to be, so that phones that start together
do not overrun the server when they come again, and how wide it may be.

From below: what the server's headroom takes on average, what it takes in one bucket
with an accepted chance of overflow (Poisson, exactly), and what it can have at work
at once. From above: the floor, the rounds of phones (from half the interval on they
meet, and the peak grows again), a budget for more traffic, a deadline, a wait. When
these leave no room the plan says infeasible, by how much, and three ways out, each
enough alone; the exit status is 1.

With --fleet the phones, intervals and units are those of the fleet, and the plan
also counts the fullest bucket of the real devices, without any probability.
Registrations and subscriptions come to one server, so each is planned together
with the other.

--refresh says when a phone renews a registration or subscription of I seconds:
full, 50% of it, -60 for 60 seconds before the end, or 50%-75%, drawn each time. A mix
is given by shares, as in 50%:30%,full:70%; in a fleet by vendor, as in yealink=full,
and what "stagger vendors" shows is the default of each.

Check-ins at a time of the day come in one window on every day, whenever the phones were
started, and all that have one minute together: --time-of-day, or a fleet of such phones.

--interval, --floor, --unit and --requests take one number, or one for each timer, as
in checkin=86400,register=3600. All times are seconds, all rates requests a second.`,
		Example: `  stagger plan --phones 50000 --interval 3600 --floor 60 --capacity 250 --background 50
  stagger plan --phones 50000 --interval register=3600,subscribe=1800 --capacity 400 --traffic-budget 10%
  stagger plan --phones 50000 --interval 3600 --capacity 200 --window 600 --json
  stagger plan --fleet fleet.jsonl --timer checkin --capacity 100`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			given := c.Flags().Changed
			if given("fleet") == given("phones") {
				return misuse(errors.New("either --phones and --interval, or --fleet, are required"))
			}
			share, err := parsePercent("--traffic-budget", budget)
			if err != nil {
				return misuse(err)
			}
			server.TrafficBudget = share
			rules, err := parseRefresh(refresh)
			if err != nil {
				return misuse(err)
			}
			var numbers [4]map[string]float64
			for i, f := range []struct{ name, text string }{{"interval", intervals}, {"floor", floors}, {"unit", units}, {"requests", requests}} {
				if fleetFile != "" && i < 3 && given(f.name) {
					return misuse(fmt.Errorf("--%s has no meaning with --fleet, which has the timers", f.name))
				}
				if numbers[i], err = perKind("--"+f.name, f.text); err != nil {
					return misuse(err)
				}
			}
			for _, kind := range timers {
				if !slices.Contains(kinds, kind) {
					return misuse(fmt.Errorf("--timer: %q is not a timer: %s", kind, strings.Join(kinds, ", ")))
				}
			}
			if _, named := numbers[0]["checkin"]; daily && (fleetFile != "" || !named && !slices.Contains(timers, "checkin")) {
				return misuse(errors.New("--time-of-day: is for --timer checkin, without --fleet, which has the timers"))
			}
			groups, real := map[string][]plan.Group{}, map[string][]fleetTimer{}
			native := 0
			if fleetFile != "" {
				store, err := openFleet(w, fleetFile)
				if err != nil {
					return err
				}
				devices, err := fleetDevices(store)
				if err != nil {
					return err
				}
				t := readTimers(devices, numbers[3], rules)
				groups, real, native = t.groups, t.spread, t.native
			} else {
				wanted := timers
				if len(wanted) == 0 {
					for kind := range numbers[0] {
						if kind != "" {
							wanted = append(wanted, kind)
						}
					}
				}
				if len(wanted) == 0 {
					wanted = []string{"register"}
				}
				for _, kind := range wanted {
					for _, r := range rules.shares {
						rule := r.rule
						if kind == "checkin" {
							rule = herd.Refresh{}
						}
						groups[kind] = append(groups[kind], plan.Group{
							Phones: float64(count) * r.share, Interval: of(numbers[0], kind, 0), Floor: of(numbers[1], kind, 0),
							Unit: of(numbers[2], kind, 1), Requests: of(numbers[3], kind, 1), Refresh: rule, Daily: daily && kind == "checkin",
						})
					}
				}
			}
			var plans []planned
			feasible := true
			for _, kind := range kinds {
				if len(groups[kind]) == 0 || len(timers) > 0 && !slices.Contains(timers, kind) {
					continue
				}
				t := plan.Timer{Name: kind, Groups: groups[kind], Window: float64(window)}
				s := server
				beside := map[string]string{"register": "subscribe", "subscribe": "register"}[kind]
				if len(timers) == 0 || slices.Contains(timers, beside) {
					t.Beside = groups[beside]
				}
				if kind != "register" {
					s.RegistrarMin, s.RegistrarMax = 0, 0
				}
				r, err := s.Plan(t)
				if errors.Is(err, plan.ErrBackground) {
					return err
				} else if err != nil {
					return misuse(err)
				}
				p := planned{Result: r}
				if kind == "checkin" {
					p.Native = native
				}
				if len(real[kind]) > 0 {
					own := real[kind]
					if len(t.Beside) > 0 {
						own = slices.Concat(own, real[beside])
					}
					horizon := max(longest(t.Groups), longest(t.Beside))
					configured := plan.Enumerate(duties(own, -1), s.Bucket, horizon)
					chosen := plan.Enumerate(duties(own, r.Window), s.Bucket, horizon)
					p.Configured, p.Enumerated = &configured, &chosen
				}
				feasible = feasible && r.Feasible
				plans = append(plans, p)
			}
			if len(plans) == 0 {
				return errors.New("the fleet has none of these timers")
			}
			if asJSON {
				encoder := json.NewEncoder(w.stdout)
				encoder.SetIndent("", "  ")
				err = encoder.Encode(plans)
			} else {
				err = printPlans(w.stdout, server, plans)
			}
			if err == nil && !feasible {
				err = infeasible(plans)
			}
			return err
		},
	}
	flags := c.Flags()
	flags.Uint64Var(&count, "phones", 0, "phones that can start together")
	flags.StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	flags.StringSliceVar(&timers, "timer", nil, "timers to plan: checkin, register, subscribe (default: those that --interval names, else register; all of a fleet)")
	flags.StringVar(&intervals, "interval", "", "configured interval")
	flags.StringVar(&floors, "floor", "", "floor: no value is below")
	flags.StringVar(&units, "unit", "1", "what the phone's parameter counts in: 1, 60 or 3600")
	flags.StringVar(&requests, "requests", "", "requests that one renewal makes at once (default: 1; the files of a check-in of a fleet)")
	flags.StringSliceVar(&refresh, "refresh", nil, "when phones renew (default: full; in a fleet what the vendor packs say)")
	flags.BoolVar(&daily, "time-of-day", false, "the check-ins come at a time of the day")
	flags.Uint64Var(&window, "window", 0, "a window to judge, instead of seeking one")
	flags.Float64Var(&server.Capacity, "capacity", 0, "requests a second that the server takes")
	flags.Float64Var(&server.Background, "background", 0, "requests a second that come anyway")
	flags.BoolVar(&server.BackgroundRandom, "background-random", false, "the background is random arrivals and not a constant")
	flags.Float64Var(&server.Service, "service", 0, "seconds that a slow request takes (p90 to p95), with --concurrency")
	flags.Float64Var(&server.Concurrency, "concurrency", 0, "requests that the server can have at work beyond the background, with --service")
	flags.Float64Var(&server.Epsilon, "epsilon", 1e-3, "accepted chance that a bucket overflows")
	flags.Float64Var(&server.Bucket, "bucket", 1, "length of a bucket")
	flags.Float64Var(&server.Within, "within", 30, "seconds within which the phones start")
	flags.StringVar(&budget, "traffic-budget", "", "how much more traffic the window may cost, as in 10%")
	flags.Float64Var(&server.Deadline, "deadline", 0, "seconds after the first repeat in which all have come")
	flags.Float64Var(&server.MaxWait, "max-wait", 0, "mean number of seconds by which a renewal may come early")
	flags.Float64Var(&server.RegistrarMin, "registrar-min", 0, "shortest registration that the registrar grants")
	flags.Float64Var(&server.RegistrarMax, "registrar-max", 0, "longest registration that the registrar grants")
	flags.BoolVar(&asJSON, "json", false, "print everything as JSON")
	if err := c.MarkFlagRequired("capacity"); err != nil {
		panic(err)
	}
	return c
}

// parsePercent reads a share such as 10% or 0.1.
func parsePercent(flag, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	digits, hundred := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(digits, 64)
	if hundred {
		n /= 100
	}
	if err != nil || !(n > 0 && n <= 10) {
		return 0, fmt.Errorf("%s: %q is not a share such as 10%%", flag, text)
	}
	return n, nil
}

// infeasible is the error that says which bound binds.
func infeasible(plans []planned) error {
	var errs []error
	for _, p := range plans {
		if p.Feasible {
			continue
		}
		by := ""
		if p.Short > 0 {
			by = fmt.Sprintf(", by %.1f s", p.Short)
		}
		errs = append(errs, fmt.Errorf("%s: infeasible: the bound that binds is %s%s", p.Timer, p.Binds, by))
	}
	return errors.Join(errs...)
}

// printPlans prints plans for people.
func printPlans(out io.Writer, s plan.Server, plans []planned) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(table)
		}
		how := fmt.Sprintf("interval %s s, floor %s s", number(p.Interval), number(p.Floor))
		if p.Daily {
			how = fmt.Sprintf("at a time of the day, every %s s", number(p.Interval))
		}
		fmt.Fprintf(table, "%s: %s phones, %s, unit %s s\n", p.Timer, thousands(p.Phones), how, number(p.Unit))
		line := func(name, value, text string) { fmt.Fprintf(table, "  %s\t%s\t%s\n", name, value, text) }
		if p.Native > 0 {
			line("left out", thousands(float64(p.Native)), "devices, which draw the moment themselves")
		}
		headroom := fmt.Sprintf("requests/s = %s - %s", number(s.Capacity), number(s.Background))
		if s.BackgroundRandom {
			headroom += ", the background random"
		}
		line("headroom H", number(p.Headroom), headroom)
		line("in step M", thousands(p.Requests), "requests")
		bound := func(b plan.Bound, mark string) {
			text := b.Formula
			if b.Note != "" {
				text += "; " + b.Note
			}
			seconds := fmt.Sprintf("%.1f s%s", b.Seconds, mark)
			if math.IsInf(b.Seconds, 1) {
				seconds = "none" + mark
			}
			line("  "+b.Name, seconds, text)
		}
		mark := func(is bool) string {
			if is {
				return " *"
			}
			return ""
		}
		line("at least", "", "")
		for _, b := range p.AtLeast {
			bound(b, mark(b.Name == p.Binding))
			if b.Name == "one bucket" {
				bound(p.Approximate, "")
				bound(p.WholeWindow, "")
			}
		}
		line("at most", "", "")
		for _, b := range p.AtMost {
			bound(b, mark(b.Name == p.Limiting))
		}
		verdict := "feasible"
		if !p.Feasible {
			verdict = "INFEASIBLE"
			if p.Short > 0 {
				verdict += fmt.Sprintf(" by %.1f s", p.Short)
			}
		}
		line("window W", number(p.Window)+" s", fmt.Sprintf("%s; %.1f%% of the interval", verdict, 100*p.Share))
		line("  peak", fmt.Sprintf("%.1f/s", p.Rate), fmt.Sprintf("a bucket overflows with a chance of %.2g, any of the first repeat with %.2g", p.Chance, p.ChanceAny))
		line("  values", thousands(p.Values), fmt.Sprintf("distinct, of %s s", number(p.Unit)))
		line("  traffic", fmt.Sprintf("x %.3f", p.Traffic), fmt.Sprintf("%s requests a day", thousands(math.Round(p.PerDay))))
		if p.Configured != nil {
			fullest := func(name string, f *plan.Fullest) {
				when := number(f.At) + " s after the start, if all start at one instant"
				if p.Daily {
					when = number(f.At) + " s after midnight, if all start then"
				}
				line(name, thousands(f.Requests), "requests in the fullest bucket, "+when)
			}
			fullest("  counted", p.Enumerated)
			fullest("  as it is", p.Configured)
		}
		for _, text := range p.Warnings {
			line("warning", "", text)
		}
		for i, way := range p.Ways {
			line(fmt.Sprintf("way out %d", i+1), "", way.Text)
		}
	}
	return flushTrimmed(out, table, &text)
}

// flushTrimmed writes what a table has in its buffer, without the spaces that it
// puts after a last cell that is empty.
func flushTrimmed(out io.Writer, table *tabwriter.Writer, text *bytes.Buffer) error {
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// number prints a number without an exponent and without zeros at the end.
func number(x float64) string { return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64) }

// thousands prints a number with commas.
func thousands(x float64) string {
	whole, fraction, dot := strings.Cut(number(x), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + fraction
	}
	return whole
}
