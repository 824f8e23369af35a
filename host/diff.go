package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"stagger/host/diff"
	"stagger/host/fleet"
	"stagger/host/report"
	"stagger/vendors"
)

// failOn are the words of --fail-on, and whether a comparison is a finding by them.
var failOn = map[string]func(*diff.Counts) bool{
	"change": func(c *diff.Counts) bool { return c.Changed() > 0 },
	"reboot": func(c *diff.Counts) bool { return c[diff.Reboot] > 0 },
	"unverified": func(c *diff.Counts) bool {
		return c[diff.Reboot]+c[diff.Unverified]+c[diff.CutOff]+c[diff.Refused]+c[diff.Removed] > 0
	},
}

// comparison is a report with everything that is worked out from it, ready for printing.
type comparison struct {
	*diff.Report
	old, new         string
	reboots, atWorst diff.Load
	// step is nil without a capacity.
	step *diff.Step
}

// diffFlags are those of the commands that compare.
type diffFlags struct {
	show                         int
	capacity, background, safety float64
	html                         string
}

func (f *diffFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&f.show, "show", 3, "how many of the devices that change to print in full")
	flags.Float64Var(&f.capacity, "capacity", 0, "what the registrar takes, in requests a second")
	flags.Float64Var(&f.background, "background", 0, "requests a second that come anyway")
	flags.Float64Var(&f.safety, "safety", 2, "by how much the step stays below the headroom")
	flags.StringVar(&f.html, "html", "", "write a page with everything to this file")
}

func (f *diffFlags) check(c *cobra.Command) error {
	headroom := f.capacity - f.background
	switch {
	case f.show < 0:
		return errors.New("--show: no number below 0")
	case !(f.safety >= 1 && f.safety <= 1000):
		return errors.New("--safety: from 1 to 1000")
	case c.Flags().Changed("capacity") && !(f.background >= 0 && headroom > 0 && headroom <= 1e8):
		return errors.New("--capacity and --background: a capacity above the background, and neither below 0")
	case c.Flags().Changed("background") && !c.Flags().Changed("capacity"):
		return errors.New("--background needs --capacity")
	}
	return nil
}

// compare compares, and writes the page if there is to be one. Of the options the sides,
// SameCore and Keys are set; old and new are the names of the sides.
func (w *world) compare(ctx context.Context, f *diffFlags, o diff.Options, old, new string) (*comparison, error) {
	packs, err := descriptors(nil)
	if err != nil {
		return nil, err
	}
	o.Descriptors, o.Packs, o.Show = packs, vendors.Packs, f.show
	progress, clear := w.progress()
	o.Progress = func(share float64) { progress("comparing", share) }
	found, err := diff.Run(ctx, o)
	clear()
	if err != nil {
		return nil, err
	}
	result := &comparison{Report: found, old: old, new: new, reboots: found.Reboots.Load(), atWorst: found.Reboots.With(found.Unverified).Load()}
	if f.capacity > 0 {
		step := result.atWorst.Step(f.capacity-f.background, f.safety)
		result.step = &step
	}
	if f.html != "" {
		if err := writeFile(f.html, result.page().Write); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func diffCommand(w *world) *cobra.Command {
	var (
		core             engineFlags
		keys             keyFlags
		how              diffFlags
		oldWasm, newWasm string
		fail             string
		asJSON           bool
	)
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "say what a change does to every phone, before any phone sees it",
		Long: `Renders the files of every device of two fleet files, and says what differs, parameter
by parameter: how many devices change, for which of them that is a reboot, and what
their reboots make the servers do. --old-wasm and --new-wasm name the module of a
side, so that OLD and NEW can be the same file and the templates what has changed.

  unchanged   gets the same bytes
  live        takes the change without a reboot
  unverified  nobody knows: the vendor's pack has no source for what this parameter does
  reboot      a parameter changes that the pack names as one that reboots the phone
  cut-off     its URL is not good any more, or it lacks a password that is asked for now:
              it keeps what it has until somebody gives it another URL
  refused     got files and gets none: its document is refused now, or disabled
  accepted, added, removed

A phone meets the change at its next check-in, at a moment that is even within the
check-in value of OLD. A reboot registers every line and subscribes every lamp again, once
each. With --capacity it says what share of the devices may have the change at once.

Secrets are never printed. Numbers of lines and keys are a "*" in the table; the first
devices are printed in full. Exit status 1 when anything changes, or what --fail-on says:
change, reboot, or unverified (reboots, what may be one, and devices without files).
--json prints one object.`,
		Example: `  stagger diff fleet.jsonl new.jsonl --capacity 250 --background 50
  stagger diff fleet.jsonl fleet.jsonl --old-wasm edge-1.wasm --new-wasm edge-2.wasm --html change.html
  stagger diff fleet.jsonl new.jsonl --fail-on reboot --show 0`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case args[0] == "-" && args[1] == "-":
				return misuse(errors.New("OLD and NEW cannot both be standard input"))
			case failOn[fail] == nil:
				return misuse(fmt.Errorf("--fail-on: %s", strings.Join(slices.Sorted(maps.Keys(failOn)), ", ")))
			}
			if err := how.check(c); err != nil {
				return misuse(err)
			}
			secrets, err := keys.read(w)
			if err != nil {
				return err
			}
			o := diff.Options{Keys: secrets}
			old, new := core.with(oldWasm), core.with(newWasm)
			if o.SameCore, err = old.same(w, new); err != nil {
				return err
			}
			if o.Old.Core, err = old.open(c.Context(), w); err != nil {
				return err
			}
			defer o.Old.Core.Close(context.Background())
			if o.New.Core = o.Old.Core; !o.SameCore {
				if o.New.Core, err = new.open(c.Context(), w); err != nil {
					return err
				}
				defer o.New.Core.Close(context.Background())
			}
			progress, clear := w.progress()
			progress("reading", 0)
			done, err := w.readSides(args, keys, &o)
			clear()
			defer done()
			if err != nil {
				return err
			}
			result, err := w.compare(c.Context(), &how, o, args[0], args[1])
			if err != nil {
				return err
			}
			print := result.print
			if asJSON {
				print = result.printJSON
			}
			if err := print(w.stdout); err != nil {
				return err
			}
			if failOn[fail](&result.Total) {
				return errors.New(result.summary())
			}
			fmt.Fprintln(w.stderr, result.summary())
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&oldWasm, "old-wasm", "", "module of the old side (default: that of --wasm and --engine)")
	flags.StringVar(&newWasm, "new-wasm", "", "module of the new side (default: that of --wasm and --engine)")
	flags.StringVar(&fail, "fail-on", "change", "what makes the exit status 1: change, reboot or unverified")
	flags.BoolVar(&asJSON, "json", false, "print everything as one JSON object")
	how.add(c)
	core.add(c)
	keys.add(c)
	return c
}

// with is the choice of another module, if one is named.
func (f engineFlags) with(wasm string) engineFlags {
	if wasm != "" {
		f.engine, f.wasm = "wazero", wasm
	}
	return f
}

// same says whether two choices are the same code: modules of the same bytes.
func (f engineFlags) same(w *world, other engineFlags) (bool, error) {
	if f == other {
		return true, nil
	}
	if f.engine != other.engine || f.wasm == "" || other.wasm == "" {
		return false, nil
	}
	a, err := os.ReadFile(f.wasm)
	if err != nil {
		return false, fmt.Errorf("read the module: %w", err)
	}
	b, err := os.ReadFile(other.wasm)
	if err != nil {
		return false, fmt.Errorf("read the module: %w", err)
	}
	return bytes.Equal(a, b), nil
}

// readSides reads both fleet files at the same time. done closes them.
func (w *world) readSides(files []string, keys keyFlags, o *diff.Options) (done func(), err error) {
	closers := []func(){}
	done = func() {
		for _, f := range closers {
			f()
		}
	}
	sides := []*diff.Side{&o.Old, &o.New}
	errs := make([]error, len(sides))
	var wait sync.WaitGroup
	for i, file := range files {
		name, r, close, err := w.seekable(file)
		if err != nil {
			wait.Wait()
			return done, err
		}
		closers = append(closers, close)
		wait.Go(func() {
			unseal := unsealer{w: w, keys: keys}
			sides[i].Fleet, errs[i] = fleet.Reader{Unseal: unseal.text}.Index(name, r)
		})
	}
	wait.Wait()
	return done, errors.Join(errs...)
}

func (c *comparison) summary() string {
	t := &c.Total
	return fmt.Sprintf("%d of %d devices change: %d live, %d unverified, %d reboot, %d in another way", t.Changed(), t.All(),
		t[diff.Live], t[diff.Unverified], t[diff.Reboot], t.Changed()-t[diff.Live]-t[diff.Unverified]-t[diff.Reboot])
}

// shownEffects are the columns of the table: what happens to phones always, and the
// others where they do.
func (c *comparison) shownEffects() (list []diff.Effect) {
	for _, e := range diff.Effects() {
		if e <= diff.Reboot || c.Total[e] > 0 {
			list = append(list, e)
		}
	}
	return list
}

// counts is the table of devices by vendor.
func (c *comparison) counts() [][]string {
	shown := c.shownEffects()
	head := []string{"vendor", "devices"}
	for _, e := range shown {
		head = append(head, e.String())
	}
	table := [][]string{head}
	row := func(name string, counts *diff.Counts) {
		cells := []string{name, thousands(float64(counts.All()))}
		for _, e := range shown {
			cells = append(cells, thousands(float64(counts[e])))
		}
		table = append(table, cells)
	}
	for _, vendor := range slices.Sorted(maps.Keys(c.Vendors)) {
		name := vendor
		if name == "" {
			name = "(none)"
		}
		row(name, c.Vendors[vendor])
	}
	row("all", &c.Total)
	return table
}

// layoutOnly stands for a change that is none of a parameter.
const layoutOnly = "(order, comments or blanks)"

// parameters is the table of what changes.
func (c *comparison) parameters() [][]string {
	table := [][]string{{"vendor", "effect", "file", "parameter", "devices", "values", "the first"}}
	for _, p := range c.Parameters {
		name := p.Name
		if name == "" {
			name = layoutOnly
		}
		table = append(table, []string{
			p.Vendor, p.Effect.String(), p.File, name, thousands(float64(p.Devices)), thousands(float64(p.Changed + p.Added + p.Removed)), arrow(p.Example, 32),
		})
	}
	return table
}

// arrow is a change in one line, with values of this many characters at most; 0 is no
// limit.
func arrow(c diff.Change, longest int) string {
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		value := *s
		if longest > 0 && utf8.RuneCountInString(value) > longest {
			value = string([]rune(value)[:longest-3]) + "..."
		}
		if value == diff.Hidden {
			return value
		}
		return strconv.Quote(value)
	}
	if c.Old == nil && c.New == nil {
		return ""
	}
	return text(c.Old) + " -> " + text(c.New)
}

// notes is the table of what is no parameter.
func (c *comparison) notes() [][]string {
	table := [][]string{{"devices", "the first", "note"}}
	for _, n := range c.Notes {
		table = append(table, []string{thousands(float64(n.Devices)), n.First, n.Text})
	}
	return table
}

// loads is the table of what follows from reboots.
func (c *comparison) loads() [][]string {
	table := [][]string{{"", "devices", "fullest hour", "REGISTER", "a second", "SUBSCRIBE", "a second", "done after"}}
	row := func(name string, l diff.Load) {
		table = append(table, []string{
			name, thousands(float64(l.Devices)), thousands(rounded(l.Peak)), thousands(float64(l.Registers)), rate(l.RegisterRate),
			thousands(float64(l.Subscribes)), rate(l.SubscribeRate), hours(l.Seconds),
		})
	}
	row("reboot", c.reboots)
	row("and unverified", c.atWorst)
	return table
}

// rounded is a mean that is worth no more than one digit behind the point.
func rounded(x float64) float64 { return math.Round(x*10) / 10 }

func hours(seconds uint64) string { return number(rounded(float64(seconds)/3600)) + " h" }

// stepText says what step the capacity allows; R are the requests a second that all of
// the phones make.
func (c *comparison) stepText() string {
	s := c.step
	if s.Steps == 1 {
		return fmt.Sprintf("all devices at once: R*safety = %s*%s is within the headroom H = %s", rate(s.Rate), number(s.Safety), number(s.Headroom))
	}
	return fmt.Sprintf("%s of the devices at once: H/(R*safety) = %s/(%s*%s); %s steps, each until the last check-in is over, take %s",
		number(math.Floor(s.Share*10000)/100)+"%", number(s.Headroom), rate(s.Rate), number(s.Safety), thousands(float64(s.Steps)), hours(s.Seconds))
}

const (
	loadText  = "Each phone meets the change at its next check-in, at a moment that is even within its own value. A reboot registers every line and subscribes every lamp again."
	countText = "Devices by what happens to them."
)

// deviceText is a device in full.
func deviceText(d *diff.Device) (head string, table [][]string) {
	head = fmt.Sprintf("%s, %s %s of %s: %s", d.MAC, d.Vendor, d.Model, d.Tenant, d.Effect)
	for _, note := range d.Notes {
		head += "; " + note
	}
	for _, change := range d.Changes {
		name := change.Path
		if name == "" {
			name = layoutOnly
		}
		table = append(table, []string{change.File, name, change.Effect.String(), arrow(change, 0)})
	}
	return head, table
}

// print prints the comparison for people.
func (c *comparison) print(out io.Writer) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	rows := func(list [][]string) {
		for _, cells := range list {
			fmt.Fprintln(table, "  "+strings.Join(cells, "\t"))
		}
		// Columns of one table are not those of the next.
		table.Flush()
	}
	fmt.Fprintln(table, "devices")
	rows(c.counts())
	if len(c.Notes) > 0 {
		fmt.Fprintln(table, "\nnotes")
		rows(c.notes())
	}
	if len(c.Parameters) > 0 {
		fmt.Fprintln(table, "\nparameters")
		rows(c.parameters())
	}
	if c.atWorst.Devices > 0 {
		fmt.Fprintln(table, "\nreboots, each at the next check-in of its phone")
		rows(c.loads())
	}
	if c.step != nil {
		fmt.Fprintf(table, "\nstep\n  %s\n", c.stepText())
	}
	for i := range c.First {
		head, list := deviceText(&c.First[i])
		fmt.Fprintf(table, "\n%s\n", head)
		rows(list)
	}
	return flushTrimmed(out, table, &text)
}

// printJSON prints one object.
func (c *comparison) printJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// MarshalJSON writes one object.
func (c *comparison) MarshalJSON() ([]byte, error) {
	counts := func(counts *diff.Counts) map[string]int {
		m := map[string]int{"devices": counts.All()}
		for _, e := range diff.Effects() {
			m[e.String()] = counts[e]
		}
		return m
	}
	byVendor := map[string]map[string]int{}
	for vendor, n := range c.Vendors {
		byVendor[vendor] = counts(n)
	}
	return json.Marshal(struct {
		Old        string                    `json:"old"`
		New        string                    `json:"new"`
		Total      map[string]int            `json:"total"`
		Vendors    map[string]map[string]int `json:"vendors"`
		Notes      []diff.Note               `json:"notes"`
		Parameters []diff.Parameter          `json:"parameters"`
		Reboots    diff.Load                 `json:"reboots"`
		AtWorst    diff.Load                 `json:"reboots_and_unverified"`
		Step       *diff.Step                `json:"step,omitempty"`
		First      []diff.Device             `json:"first"`
	}{
		c.old, c.new, counts(&c.Total), byVendor, append([]diff.Note{}, c.Notes...), append([]diff.Parameter{}, c.Parameters...),
		c.reboots, c.atWorst, c.step, append([]diff.Device{}, c.First...),
	})
}

// page is the comparison as a page.
func (c *comparison) page() *report.Page {
	p := &report.Page{
		Title: c.summary(),
		Facts: [][2]string{{"before", c.old}, {"after", c.new}},
	}
	p.Sections = append(p.Sections, report.Section{Heading: "Devices", Text: countText, Table: c.counts()})
	if len(c.Notes) > 0 {
		p.Sections = append(p.Sections, report.Section{Heading: "Notes", Text: "What is no parameter of a file.", Table: c.notes()})
	}
	if c.atWorst.Devices > 0 || c.step != nil {
		s := report.Section{Heading: "Reboots", Text: loadText, Figure: report.RebootsPerHour(c.reboots, c.atWorst), Table: c.loads()}
		if c.step != nil {
			s.Text += " The headroom H allows " + c.stepText() + "."
		}
		p.Sections = append(p.Sections, s)
	}
	if len(c.Parameters) > 0 {
		p.Sections = append(p.Sections, report.Section{
			Heading: "Parameters", Text: "What changes, by vendor. Numbers of lines and keys are left out; secrets are hidden.", Table: c.parameters(),
		})
	}
	for i := range c.First {
		head, list := deviceText(&c.First[i])
		mac, rest, _ := strings.Cut(head, ", ")
		s := report.Section{Heading: mac, Text: rest}
		if len(list) > 0 {
			s.Table = append([][]string{{"file", "parameter", "effect", "change"}}, list...)
		}
		p.Sections = append(p.Sections, s)
	}
	return p
}
