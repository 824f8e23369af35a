package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/host/inspect"
	"stagger/host/rollout"
)

// explanation is one timer of one device, every step of it.
type explanation struct {
	MAC      string   `json:"mac"`
	Timer    string   `json:"timer"`
	Key      string   `json:"key"`
	Hash     string   `json:"hash"`
	Slots    uint64   `json:"slots"`
	Offset   uint64   `json:"offset"`
	Value    uint64   `json:"value"`
	Unit     uint64   `json:"unit"`
	Interval uint64   `json:"interval"`
	Window   uint64   `json:"window"`
	Floor    uint64   `json:"floor"`
	Place    string   `json:"place"`
	Limits   []string `json:"limits"`
	// Cohort is the id of the rollout of the device's tenant, and whether the device
	// is in its cohort.
	Cohort string `json:"cohort,omitempty"`
	// At and Clock are the base and the value of a time of the day, as HH:MM.
	At    string `json:"at,omitempty"`
	Clock string `json:"clock,omitempty"`

	min, max uint64
}

// clock is a time of the day as HH:MM.
func clock(seconds uint64) string { return string(spread.AppendClock(nil, seconds)) }

// limits are the words for what shortened a window, and their explanations.
var limits = []struct {
	bit        spread.Limits
	word, text string
}{
	{spread.Floor, "floor", "the floor leaves room for no more"},
	{spread.Minimum, "minimum", "the phone accepts nothing below its minimum"},
	{spread.Unit, "unit", "the phone counts in units, so that the window has fewer values than seconds"},
	{spread.Fixed, "fixed", "one value is left: this timer is not spread"},
	{spread.OneDay, "day", "a time of the day has no more than a day to be in"},
	{spread.Native, "native", "the phone draws the moment itself, at random in the interval"},
}

func explainTimer(mac string, s profile.Spread) explanation {
	place := profile.Places[0]
	if s.Timer.Place == spread.Modulo {
		place = profile.Places[1]
	}
	e := explanation{
		MAC: mac, Timer: s.Name, Key: spread.Key(mac, s.Name), Hash: fmt.Sprintf("%016x", s.Value.Hash),
		Slots: s.Value.Slots, Offset: s.Value.Offset, Value: s.Value.Seconds, Unit: s.Timer.Unit,
		Interval: s.Timer.Interval, Window: s.Timer.Window, Floor: s.Timer.Floor, Place: place,
		Limits: []string{}, min: s.Timer.Min, max: s.Timer.Max,
	}
	if s.Timer.TimeOfDay() {
		e.At, e.Clock = clock(s.Timer.Base), clock(s.Value.Seconds)
	}
	for _, l := range limits {
		if s.Value.Limits&l.bit != 0 {
			e.Limits = append(e.Limits, l.word)
		}
	}
	return e
}

// explainRow prints a step of an explanation.
func explainRow(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "  %-9s %s\n", name, fmt.Sprintf(format, args...))
}

// printCohort explains what the rollout of its tenant means for a device.
func printCohort(w io.Writer, mac string, c profile.Cohort) {
	side := "out of"
	if c.In {
		side = "in"
	}
	fmt.Fprintf(w, "%s rollout %s: %s the cohort\n", mac, c.ID, side)
	explainRow(w, "key", "%s", spread.CohortKey(mac, c.ID))
	explainRow(w, "hash", "%016x (xxHash64 of the key, seed 0)", c.Hash)
	explainRow(w, "place", "%d of %d: the upper half of the hash as a fraction", c.Place, spread.Shares)
	explainRow(w, "share", "%d, which is %s: devices with a place below have the settings of the rollout", c.Share, rollout.Percent(int64(c.Share)))
}

func (e *explanation) print(w io.Writer) {
	switch {
	case e.Clock != "":
		fmt.Fprintf(w, "%s %s: at %s", e.MAC, e.Timer, e.Clock)
	case e.Unit != 1:
		fmt.Fprintf(w, "%s %s: %d seconds, written as %d", e.MAC, e.Timer, e.Value, e.Value/e.Unit)
	default:
		fmt.Fprintf(w, "%s %s: %d seconds", e.MAC, e.Timer, e.Value)
	}
	fmt.Fprintf(w, "\n")
	row := func(name, format string, args ...any) { explainRow(w, name, format, args...) }
	row("key", "%s", e.Key)
	row("hash", "%s (xxHash64 of the key, seed 0)", e.Hash)
	row("interval", "%d s", e.Interval)
	row("window", "%d s", e.Window)
	if e.Clock == "" {
		row("floor", "%d s", e.Floor)
	} else {
		row("at", "%s, the earliest", e.At)
	}
	row("unit", "%d s", e.Unit)
	if e.min != 0 || e.max != 0 {
		upper := "no limit"
		if e.max != 0 {
			upper = fmt.Sprint(e.max * e.Unit)
		}
		row("range", "%d to %s s, the phone's", e.min*e.Unit, upper)
	}
	row("slots", "%d", e.Slots)
	row("place", "%s puts the hash on slot %d", e.Place, e.Offset/e.Unit)
	row("offset", "%d s", e.Offset)
	if e.Clock == "" {
		row("value", "%d s = %d - %d", e.Value, e.Value+e.Offset, e.Offset)
	} else {
		from := (e.Value + spread.Day - e.Offset) % spread.Day
		row("value", "%s, %d s after midnight = (%d + %d) mod %d", e.Clock, e.Value, from, e.Offset, spread.Day)
	}
	for _, l := range limits {
		for _, word := range e.Limits {
			if word == l.word {
				row("limit", "%s: %s", l.word, l.text)
			}
		}
	}
}

func explainCommand(w *world) *cobra.Command {
	var (
		from             sourceFlags
		timer, place, at string
		t                spread.Timer
		asJSON           bool
	)
	c := &cobra.Command{
		Use:   "explain [MAC] (--fleet FILE | --kv wrangler:BINDING --tenant NAME | --timer NAME --interval I --window W --floor F)",
		Short: "show how a device's timers come about",
		Long: `Shows how the value of a timer comes about, step by step, so that it can be checked
by hand: for all timers of a device of a fleet, or for numbers of your own. With a
fleet and no MAC, a table of all its devices. Where the device's tenant has a rollout,
also whether it reaches the device.

--json prints one JSON object a line, one for each timer, with the fields mac timer
key hash slots offset value unit interval window floor place limits; all times are
seconds. A time of the day has "at" and "clock" as well, its base and its value as HH:MM,
and its value is the seconds after midnight. With a rollout there is "cohort", its id
and "in" or "out".`,
		Example: `  stagger explain --fleet fleet.jsonl 001565aabb01
  stagger explain --fleet fleet.jsonl
  stagger explain --kv wrangler:FLEET --tenant demo 001565aabb01
  stagger explain 001565aabbcc --timer register.1 --interval 3600 --window 600 --floor 60 --unit 1 --place jump-1 --json
  stagger explain 001565aabbcc --timer checkin --interval 86400 --window 14400 --unit 60 --at 02:00`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && !from.given() {
				return misuse(errors.New("a MAC, or --fleet, is required"))
			}
			mac := ""
			if len(args) == 1 {
				var err error
				if mac, err = parseMAC(args[0]); err != nil {
					return err
				}
			}
			var devices []*inspect.Device
			if from.given() {
				for _, name := range []string{"timer", "interval", "window", "floor", "unit", "place", "at"} {
					if c.Flags().Changed(name) {
						return misuse(fmt.Errorf("--%s has no meaning with documents, which have the timers", name))
					}
				}
				documents, err := from.open(w)
				if err != nil {
					return err
				}
				macs := []string{mac}
				if mac == "" {
					if macs, err = documents.macs(); err != nil {
						return err
					}
				}
				for _, mac := range macs {
					d, err := documents.find(c.Context(), mac)
					if err != nil {
						return err
					}
					devices = append(devices, d)
				}
				if mac == "" && !asJSON {
					return printTable(w.stdout, devices)
				}
			} else {
				if err := checkTimer(timer, place, &t); err != nil {
					return misuse(err)
				}
				if at != "" {
					if err := timeOfDay(timer, at, &t); err != nil {
						return misuse(err)
					}
				}
				devices = []*inspect.Device{{MAC: mac, Timers: []profile.Spread{{Name: timer, Timer: t, Value: t.For(mac, timer)}}}}
			}
			encoder := json.NewEncoder(w.stdout)
			for _, d := range devices {
				if d.Cohort.ID != "" && !asJSON {
					printCohort(w.stdout, d.MAC, d.Cohort)
					fmt.Fprintln(w.stdout)
				}
				for i, s := range d.Timers {
					e := explainTimer(d.MAC, s)
					e.Cohort = d.Cohort.String()
					if asJSON {
						if err := encoder.Encode(e); err != nil {
							return err
						}
						continue
					}
					if i > 0 {
						fmt.Fprintln(w.stdout)
					}
					e.print(w.stdout)
				}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&timer, "timer", "", "timer: checkin, subscribe, or register. and the line, as in register.1")
	flags.Uint64Var(&t.Interval, "interval", 0, "configured interval in seconds")
	flags.Uint64Var(&t.Window, "window", 0, "window in seconds: how much may be subtracted")
	flags.Uint64Var(&t.Floor, "floor", 0, "floor in seconds: no value is below")
	flags.Uint64Var(&t.Unit, "unit", 1, "what the phone's parameter counts in, in seconds: 1, 60 or 3600")
	flags.StringVar(&place, "place", profile.Places[0], "placement: "+strings.Join(profile.Places, " or "))
	flags.StringVar(&at, "at", "", "the earliest time, as HH:MM, of a check-in at a time of the day")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line, one for each timer")
	from.add(c)
	return c
}

// printTable prints a line for each device: its timers, and what was subtracted.
func printTable(out io.Writer, devices []*inspect.Device) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	last := ""
	if slices.ContainsFunc(devices, func(d *inspect.Device) bool { return d.Cohort.ID != "" }) {
		last = "\tcohort"
	}
	fmt.Fprintln(table, "device\tmodel\tfile\tcheck-in\tregister\tsubscribe"+last)
	for _, d := range devices {
		if last != "" {
			last = "\t" + d.Cohort.String()
		}
		cells := map[string][]string{}
		for _, s := range d.Timers {
			name, _, _ := strings.Cut(s.Name, ".")
			cell := fmt.Sprintf("%d s (-%d)", s.Value.Seconds, s.Value.Offset)
			if s.Timer.TimeOfDay() {
				cell = fmt.Sprintf("%s (+%d)", clock(s.Value.Seconds), s.Value.Offset)
			}
			cells[name] = append(cells[name], cell)
		}
		registers := strings.Join(cells["register"], ", ")
		if registers == "" {
			registers = d.State
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s%s\n", d.MAC, d.Model, d.Config(),
			strings.Join(cells["checkin"], ""), registers, strings.Join(cells["subscribe"], ""), last)
	}
	return table.Flush()
}

func checkTimer(name, place string, t *spread.Timer) error {
	line, isLine := strings.CutPrefix(name, "register.")
	switch {
	case name == "":
		return errors.New("either --fleet, or --timer and --interval, are required")
	case name != "checkin" && name != "subscribe" && !(isLine && isIndex(line)):
		return errors.New("--timer: checkin, subscribe, or register. and the line, as in register.1")
	case t.Unit != 1 && t.Unit != 60 && t.Unit != 3600:
		return errors.New("--unit: 1, 60 or 3600")
	case t.Interval < t.Unit || t.Interval > profile.MaxSeconds:
		return fmt.Errorf("--interval: from one unit to %d seconds", profile.MaxSeconds)
	case t.Window > profile.MaxSeconds || t.Floor > profile.MaxSeconds:
		return fmt.Errorf("--window and --floor: at most %d seconds", profile.MaxSeconds)
	}
	switch place {
	case profile.Places[0]:
		t.Place = spread.Jump
	case profile.Places[1]:
		t.Place = spread.Modulo
	default:
		return errors.New("--place: " + strings.Join(profile.Places, " or "))
	}
	return nil
}

// timeOfDay makes of a timer one at a time of the day.
func timeOfDay(name, at string, t *spread.Timer) error {
	switch {
	case name != "checkin":
		return errors.New("--at: only the check-in can be at a time of the day")
	case record.Clock.Check(at) != "":
		return fmt.Errorf("--at: %q %s", at, record.Clock.Check(at))
	case t.Interval%spread.Day != 0:
		return fmt.Errorf("--interval: whole days of %d seconds with --at", spread.Day)
	}
	read, err := time.Parse("15:04", at)
	if err != nil {
		return fmt.Errorf("--at: %w", err)
	}
	t.Days, t.Base = t.Interval/spread.Day, uint64(read.Hour()*3600+read.Minute()*60)
	return nil
}

func isIndex(s string) bool {
	if s == "" || len(s) > 3 || s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
