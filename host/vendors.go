package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stagger/edge/pack/source"
	"stagger/vendors"
)

// family is what the table of vendors says about one pack.
type family struct {
	Vendor string        `json:"vendor"`
	Title  string        `json:"title"`
	Models []familyModel `json:"models"`
	Files  []familyFile  `json:"files"`
	Timers []familyTimer `json:"timers"`
	// Auth are the kinds of HTTP authentication that the phones can do.
	Auth []string `json:"auth"`
	// Certificate are the issuers of the phones' client certificates.
	Certificate []string `json:"certificate"`
	// Unverified are the facts that have no source, or not enough of one.
	Unverified []string `json:"unverified"`
}

type familyModel struct {
	Name    string `json:"name"`
	Lines   uint16 `json:"lines"`
	Keys    uint16 `json:"keys"`
	Modules uint16 `json:"modules"`
}

type familyFile struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	// Public is a constant text that anybody gets.
	Public bool   `json:"public,omitempty"`
	Why    string `json:"why,omitempty"`
	// Templates are the versions that a profile can choose from, the first being
	// what it gets without; none where there is one.
	Templates []string `json:"templates,omitempty"`
}

type familyTimer struct {
	Name      string `json:"name"`
	Parameter string `json:"parameter"`
	Unit      uint64 `json:"unit"`
	Min       uint64 `json:"min"`
	Max       uint64 `json:"max"`
	// Values is how many distinct values a window gives, in this unit.
	Values uint64 `json:"values"`
	// Kind is "time-of-day" for a phone that looks at its clock, and Days how many days
	// may lie between two times.
	Kind string `json:"kind,omitempty"`
	Days uint64 `json:"days,omitempty"`
	// Renewed is when the phone renews, as --refresh of plan and simulate reads it;
	// "" where nothing is known.
	Renewed string `json:"renewed,omitempty"`
	// Native is how the phone can draw the moment of its check-in itself, and NativeMax
	// the longest interval in seconds for which a profile can ask for that.
	Native    string `json:"native,omitempty"`
	NativeMax uint64 `json:"native_max,omitempty"`
}

func vendorsCommand(w *world) *cobra.Command {
	var (
		asJSON bool
		window uint64
	)
	c := &cobra.Command{
		Use:   "vendors [VENDOR...]",
		Short: "list the families of phones, their files and timers",
		Long: `Lists the families of phones that this version knows: models, the files that the
phones ask for, what they can show (kinds of HTTP authentication, and who issued their
client certificates), and their timers with unit and range, and how many distinct
values a window gives in that unit. "renewed" is when a phone renews a registration or
subscription, where that is known, as --refresh of "stagger plan" reads it. --json has
also what is unverified.`,
		Example: `  stagger vendors
  stagger vendors yealink --window 14400
  stagger vendors --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			families, err := readFamilies(args, window)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(w.stdout)
				for _, f := range families {
					if err := encoder.Encode(f); err != nil {
						return err
					}
				}
				return nil
			}
			for i, f := range families {
				if i > 0 {
					fmt.Fprintln(w.stdout)
				}
				if err := f.print(w, window); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, one for each vendor; times in units")
	c.Flags().Uint64Var(&window, "window", 600, "window in seconds, for the number of distinct values")
	return c
}

func readFamilies(only []string, window uint64) ([]*family, error) {
	packs, err := descriptors(only)
	if err != nil {
		return nil, err
	}
	families := make([]*family, len(packs))
	for i, d := range packs {
		families[i] = newFamily(d, window)
	}
	return families, nil
}

// descriptors are those of the vendors that are named, or of all.
func descriptors(only []string) ([]*source.Descriptor, error) {
	packs, err := source.Descriptors(vendors.Descriptors)
	if err != nil || len(only) == 0 {
		return packs, err
	}
	for _, vendor := range only {
		if !slices.ContainsFunc(packs, func(p *source.Descriptor) bool { return p.Vendor == vendor }) {
			return nil, misuse(fmt.Errorf("there is no vendor %q", vendor))
		}
	}
	return slices.DeleteFunc(packs, func(p *source.Descriptor) bool { return !slices.Contains(only, p.Vendor) }), nil
}

func newFamily(d *source.Descriptor, window uint64) *family {
	f := &family{
		Vendor: d.Vendor, Title: d.Title, Auth: append([]string{}, d.Auth.Kinds...),
		Certificate: append([]string{}, d.Certificate.Issuers...), Unverified: []string{},
	}
	unverified := func(what, sources string) {
		if slices.Contains(strings.Fields(sources), "unverified") {
			f.Unverified = append(f.Unverified, what)
		}
	}
	for _, m := range d.Models {
		f.Models = append(f.Models, familyModel{m.Name, m.Lines, m.Keys, m.Modules})
		unverified("model "+m.Name, m.Source)
	}
	for _, file := range d.Files {
		served := familyFile{Name: file.Name, Served: file.Template != "", Public: file.Text != "", Why: file.Why}
		if len(file.Versions) > 0 {
			for _, v := range file.Templates() {
				served.Templates = append(served.Templates, v.Version)
			}
		}
		f.Files = append(f.Files, served)
	}
	for _, name := range []string{"checkin", "register", "subscribe", "boot"} {
		t, ok := d.Timers[name]
		if !ok {
			continue
		}
		row := familyTimer{Name: name, Parameter: t.Parameter, Unit: t.Unit, Min: t.Min, Max: t.Max, Values: max(window/t.Unit, 1), Kind: t.Kind, Days: t.Days}
		unverified("timer "+name, t.Source)
		if t.Native != nil {
			row.Native, row.NativeMax = t.Native.How, t.Native.Max
			unverified("timer "+name+", native", t.Native.Source)
		}
		if t.Effective != nil {
			row.Renewed = t.Effective.String()
			unverified("timer "+name+", when it is renewed", t.Effective.Source)
		}
		f.Timers = append(f.Timers, row)
	}
	unverified("auth", d.Auth.Source)
	if len(f.Certificate) > 0 {
		unverified("certificate", d.Certificate.Source)
	}
	for _, r := range d.Reboot {
		unverified("reboot "+r.Parameter, r.Source)
	}
	return f
}

func (f *family) print(w *world, window uint64) error {
	fmt.Fprintf(w.stdout, "%s: %s\n", f.Vendor, f.Title)
	var models []string
	for _, m := range f.Models {
		models = append(models, m.Name)
	}
	fmt.Fprintf(w.stdout, "  models   %s\n", strings.Join(models, " "))
	for i, file := range f.Files {
		label := ""
		if i == 0 {
			label = "files"
		}
		answer := "served"
		switch {
		case file.Public:
			answer = "a text for everybody: " + file.Why
		case !file.Served:
			answer = "404: " + file.Why
		}
		if len(file.Templates) > 0 {
			answer += "; templates: " + strings.Join(file.Templates, ", ")
		}
		fmt.Fprintf(w.stdout, "  %-8s %s  %s\n", label, file.Name, answer)
	}
	orNone := func(words []string) string {
		if len(words) == 0 {
			return "none that is known"
		}
		return strings.Join(words, ", ")
	}
	fmt.Fprintf(w.stdout, "  auth     %s\n", orNone(f.Auth))
	fmt.Fprintf(w.stdout, "  cert     %s\n", orNone(f.Certificate))
	table := tabwriter.NewWriter(w.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  timer\tparameter\tunit\trange\tvalues in %d s\trenewed\n", window)
	for _, t := range f.Timers {
		highest := "no limit"
		if t.Max != 0 {
			highest = fmt.Sprint(t.Max)
		}
		values := fmt.Sprint(t.Values)
		if t.Name == "boot" {
			values = "-"
		}
		span := fmt.Sprintf("%d to %s", t.Min, highest)
		switch {
		case t.Kind == source.TimeOfDay && t.Days == 1:
			span = "a time of every day"
		case t.Kind == source.TimeOfDay:
			span = fmt.Sprintf("a time of the day, every 1 to %d days", t.Days)
		}
		renewed := t.Renewed
		if renewed == "" {
			renewed = "-"
		}
		fmt.Fprintf(table, "  %s\t%s\t%d s\t%s\t%s\t%s\n", t.Name, t.Parameter, t.Unit, span, values, renewed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, t := range f.Timers {
		if t.Native == "" {
			continue
		}
		offered := "not offered"
		if t.NativeMax > 0 {
			offered = fmt.Sprintf("\"strategy\": \"native\", up to %d s", t.NativeMax)
		}
		fmt.Fprintf(w.stdout, "  native   %s (%s)\n", t.Native, offered)
	}
	if len(f.Unverified) > 0 {
		fmt.Fprintf(w.stdout, "  %d facts are unverified: --json lists them\n", len(f.Unverified))
	}
	return nil
}
