package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"stagger/edge/provision"
	"stagger/edge/spread"
	"stagger/host/diff"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/rollout"
)

// rolloutFlags say what is to become of a rollout.
type rolloutFlags struct {
	id, settings, share string
	finish, abort       bool
}

func rolloutCommand(w *world) *cobra.Command {
	var (
		fleetFile, tenant, out  string
		change                  rolloutFlags
		how                     diffFlags
		yes, dry, force, asJSON bool
	)
	c := &cobra.Command{
		Use:   "rollout --fleet FILE --tenant NAME [--id ID --settings FILE] [--share P%] [--finish | --abort]",
		Short: "give new settings to a share of a tenant's devices",
		Long: `Gives new settings to some of a tenant's devices before the others: whatever a
tenant's document may set for them, templates' versions included. A device has them
when a hash of its MAC and of the rollout's id puts it below the share, so raising the
share only ever adds devices, and those that are first are not the same under another
id. What a device's own document says still comes first.

  1. start   --id and --settings, a file with one JSON object
  2. step    --share, again and again: "1%", "25%", at last "100%"
  3. finish  --finish moves the settings into the tenant's own, which at 100% changes
             no file of any phone; --abort takes the rollout away

Each of them renders all devices of the tenant with and without the change, by the core
in this program. It prints how many enter the cohort and what the step does to phones, as
"stagger diff" does for two fleets: what takes it live, what reboots for it, what follows
from that and, with --capacity, what step the registrar takes. Then it writes the fleet
file anew: complete or not at all, and with every other line as it is. A change after
which the core would refuse devices is not written. What moves devices back (a lower
share, another id or other settings under a share, --abort) needs --yes. Without any of
them the rollout is shown and nothing written.

--json prints one object: tenant id share share_before devices before after in back diff
share_allowed (with --capacity) written; shares are in hundredths of a per cent, and diff
is what "stagger diff" prints.`,
		Example: `  stagger rollout --fleet fleet.jsonl --tenant demo --id 2026-w49 --settings settings.json
  stagger rollout --fleet fleet.jsonl --tenant demo --share 1% --dry-run
  stagger rollout --fleet fleet.jsonl --tenant demo --share 25% --capacity 250 --background 50
  stagger rollout --fleet fleet.jsonl --tenant demo --finish`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case fleetFile == "" || tenant == "":
				return misuse(errors.New("--fleet and --tenant are required"))
			case fleetFile == "-" && out == "" && !dry && change.any():
				return misuse(errors.New("--fleet -: needs --out FILE or --dry-run"))
			case fleetFile == "-" && change.settings == "-":
				return misuse(errors.New("--fleet and --settings cannot both be standard input"))
			case out == "-":
				return misuse(errors.New("--out: a file is required"))
			}
			if err := cmp.Or(change.check(), how.check(c)); err != nil {
				return misuse(err)
			}
			if err := writable(out, force, fleetFile); err != nil {
				return misuse(fmt.Errorf("--out: %w", err))
			}
			settings, err := change.read(w)
			if err != nil {
				return err
			}
			name, file, done, err := w.seekable(fleetFile)
			if err != nil {
				return err
			}
			defer done()
			changed := keepWatch(file)
			line, old, err := findTenant(name, file, tenant)
			if err != nil {
				return err
			}
			document, moves, err := change.apply(old, settings)
			if err != nil {
				return err
			}
			report, err := w.compareStep(c.Context(), name, file, tenant, old, document, &how)
			if err != nil {
				return err
			}
			if change.finish {
				report.Back = 0 // they keep the settings, which are now the tenant's
			}
			verdict := change.judge(report.Diff, moves, yes)
			if !asJSON {
				if err := report.print(w.stdout); err != nil {
					return err
				}
			}
			if report.Written = verdict == nil && !dry && change.any(); report.Written {
				place := out
				if place == "" {
					place = fleetFile
				}
				err := replace(place, func(path string) error {
					return errors.Join(rewrite(path, file, tenant, line, old, document), changed(fleetFile))
				})
				if err != nil {
					return err
				}
				if !asJSON {
					fmt.Fprintf(w.stdout, "%s is written\n", place)
				}
			}
			if asJSON {
				if err := json.NewEncoder(w.stdout).Encode(report); err != nil {
					return err
				}
			}
			return verdict
		},
	}
	flags := c.Flags()
	flags.StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	flags.StringVar(&tenant, "tenant", "", "tenant whose rollout it is")
	flags.StringVar(&change.id, "id", "", "name of the rollout: another name is another order of the devices")
	flags.StringVar(&change.settings, "settings", "", "file with the settings, a JSON object; - for standard input")
	flags.StringVar(&change.share, "share", "", `share of the devices that has the settings: per cent with up to two decimals, as in "1.5%"`)
	flags.BoolVar(&change.finish, "finish", false, "make the settings the tenant's own")
	flags.BoolVar(&change.abort, "abort", false, "take the rollout away")
	flags.BoolVar(&yes, "yes", false, "move devices back")
	flags.BoolVar(&dry, "dry-run", false, "write nothing")
	flags.StringVar(&out, "out", "", "file to write instead of --fleet")
	flags.BoolVar(&force, "force", false, "replace --out where it exists")
	flags.BoolVar(&asJSON, "json", false, "one JSON object")
	how.add(c)
	return c
}

// any says whether there is anything to change.
func (f *rolloutFlags) any() bool {
	return f.id+f.settings+f.share != "" || f.finish || f.abort
}

func (f *rolloutFlags) check() error {
	if f.finish && f.abort || (f.finish || f.abort) && f.id+f.settings+f.share != "" {
		return errors.New("--finish and --abort: one of them, and nothing else")
	}
	if f.share != "" {
		_, err := parseShare(f.share)
		return err
	}
	return nil
}

// parseShare reads per cent as hundredths of a per cent.
func parseShare(text string) (int64, error) {
	wrong := fmt.Errorf(`--share: %q is not per cent with up to two decimals, as in "1.5%%"`, text)
	number, ok := strings.CutSuffix(text, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !ok || whole == "" || len(whole) > 3 || point && (decimals == "" || len(decimals) > 2) || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, wrong
	}
	share, err := strconv.ParseInt(whole+(decimals + "00")[:2], 10, 64)
	if err != nil || share > spread.Shares {
		return 0, wrong
	}
	return share, nil
}

// read reads the settings, as one line.
func (f *rolloutFlags) read(w *world) (string, error) {
	if f.settings == "" {
		return "", nil
	}
	name, data, err := readAll(w, f.settings)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	// The core's own reader judges the rest, inside of the document.
	if !gjson.Valid(text) || !gjson.Parse(text).IsObject() {
		return "", fmt.Errorf("%s: is not a JSON object", name)
	}
	return gjson.Get(text, "@ugly").Raw, nil
}

// apply makes the new document of the tenant. moves says why the change can move
// devices back, or is "".
func (f *rolloutFlags) apply(old, settings string) (document, moves string, err error) {
	r, there := rollout.Of(old)
	before := r
	switch {
	case !f.any():
		return old, "", nil
	case !there && (f.finish || f.abort || f.id == "" || settings == ""):
		return "", "", errors.New("the tenant has no rollout: --id and --settings start one")
	case f.finish:
		if r.Share < spread.Shares {
			return "", "", fmt.Errorf("the share is %s: --finish is for 100%%", rollout.Percent(r.Share))
		}
		return rollout.Fold(old), "", nil
	case f.abort:
		if r.Share > 0 {
			moves = "--abort"
		}
		return rollout.Without(old), moves, nil
	}
	if f.id != "" {
		r.ID = f.id
	}
	if settings != "" {
		r.Settings = settings
	}
	if f.share != "" {
		if r.Share, err = parseShare(f.share); err != nil {
			return "", "", err
		}
	}
	switch {
	case r.Share < before.Share:
		moves = "a lower share"
	case before.Share > 0 && r.ID != before.ID:
		moves = "another id"
	case before.Share > 0 && r.Settings != before.Settings:
		moves = "other settings"
	}
	document = rollout.With(old, r)
	if err := inspect.Check(document, ""); err != nil {
		return "", "", err
	}
	if err := inspect.Check(rollout.Fold(document), ""); err != nil {
		return "", "", fmt.Errorf("with the settings as its own the tenant's document is not good: %w", err)
	}
	return document, moves, nil
}

// judge says why a change is not to be made, or nil.
func (f *rolloutFlags) judge(step *comparison, moves string, yes bool) error {
	var errs []error
	refused := 0
	for _, n := range step.Notes {
		// Devices that a rollout disables are no mistake.
		if why, ok := strings.CutPrefix(n.Text, diff.NoFile); ok && why != provision.IsDisabled {
			who := "device " + n.First
			if n.Devices > 1 {
				who += fmt.Sprintf(" and %d more", n.Devices-1)
			}
			errs = append(errs, fmt.Errorf("%s: %s", who, why))
			refused += n.Devices
		}
	}
	if refused > 0 {
		return errors.Join(append(errs, fmt.Errorf("the core would refuse %d devices: nothing is written", refused))...)
	}
	if n := step.Total.Changed(); f.finish && n > 0 {
		return fmt.Errorf("--finish would change the files of %d devices: nothing is written", n)
	}
	if moves != "" && !yes {
		return fmt.Errorf("%s moves devices back: nothing is written without --yes", moves)
	}
	return nil
}

// findTenant finds the document of a tenant, and its line.
func findTenant(name string, file io.ReadSeeker, tenant string) (line int, text string, err error) {
	var errs []error
	err = fleet.Scan(name, file, func(d fleet.Document) {
		switch {
		case d.MAC != "" || d.Tenant != tenant:
		case line != 0:
			errs = append(errs, &fleet.Error{File: name, Line: d.Line, What: fleet.SameTenant(line)})
		default:
			line, text = d.Line, d.Text
			if bad := inspect.Check(text, ""); bad != nil {
				errs = append(errs, &fleet.Error{File: name, Line: line, What: bad.Error()})
			}
		}
	}, func(bad *fleet.Error) { errs = append(errs, bad) })
	if err = errors.Join(append(errs, err)...); err == nil && line == 0 {
		err = misuse(fmt.Errorf("--tenant: the fleet has no tenant %q", tenant))
	}
	return line, text, err
}

// anyKey stands for the master key: tokens and passwords, which are made of it, are the
// same on both sides of a step, and never printed.
var anyKey = strings.Repeat("\x00", 32)

// compareStep compares the devices of a tenant under both of its documents.
func (w *world) compareStep(ctx context.Context, name string, file seekable, tenant, old, document string, how *diffFlags) (*stepReport, error) {
	progress, clear := w.progress()
	progress("reading", 0)
	index, err := fleet.Reader{}.Index(name, file)
	clear()
	if err != nil {
		return nil, err
	}
	core := engine.NewNative(0)
	defer core.Close(context.Background())
	o := diff.Options{Old: diff.Side{Fleet: index.Of(tenant, old), Core: core}, New: diff.Side{Fleet: index.Of(tenant, document), Core: core}, SameCore: true, Keys: []string{anyKey}}
	report := newStep(tenant, old, document, o.Old.Fleet)
	if report.Diff, err = w.compare(ctx, how, o, report.from, report.to); err != nil {
		return nil, err
	}
	if s := report.Diff.step; s != nil && report.In > 0 && report.Back == 0 {
		share := report.ShareBefore + int64(s.Share*float64(report.Share-report.ShareBefore))
		report.ShareAllowed = &share
	}
	return report, nil
}

// A stepReport is a step for people and programs.
type stepReport struct {
	Tenant      string `json:"tenant"`
	ID          string `json:"id"`
	Share       int64  `json:"share"`
	ShareBefore int64  `json:"share_before"`
	rollout.Cohort
	Diff *comparison `json:"diff"`
	// ShareAllowed is how far a capacity lets this step go, or nil.
	ShareAllowed *int64 `json:"share_allowed,omitempty"`
	Written      bool   `json:"written"`
	// from and to are what became of the rollout, in words.
	from, to string
}

func newStep(tenant, old, document string, devices *fleet.Index) *stepReport {
	before, was := rollout.Of(old)
	after, is := rollout.Of(document)
	r := &stepReport{Tenant: tenant, ID: after.ID, Share: after.Share, ShareBefore: before.Share}
	words := func(r rollout.Rollout, there bool) string {
		if !there {
			return "no rollout"
		}
		return "rollout " + r.ID + " at " + rollout.Percent(r.Share)
	}
	r.from, r.to = words(before, was), words(after, is)
	for i := range devices.Devices() {
		mac, _ := devices.Device(i)
		r.Count(before, after, mac)
	}
	return r
}

func (r *stepReport) print(out io.Writer) error {
	fmt.Fprintf(out, "tenant %s: %s", r.Tenant, r.from)
	if r.to != r.from {
		fmt.Fprintf(out, " -> %s", r.to)
	}
	count := func(n int) string { return thousands(float64(n)) }
	fmt.Fprintf(out, "\n  in cohort  %s before, %s after: %s enter, %s leave\n\n", count(r.Before), count(r.After), count(r.In), count(r.Back))
	if err := r.Diff.print(out); err != nil {
		return err
	}
	if r.ShareAllowed != nil && *r.ShareAllowed < r.Share {
		fmt.Fprintf(out, "\nthe capacity allows --share %s in this step\n", rollout.Percent(*r.ShareAllowed))
	}
	return nil
}

// rewrite writes a fleet with another document of a tenant, and everything else as it
// is.
func rewrite(path string, file io.ReadSeeker, tenant string, line int, old, document string) error {
	if lines, ok := file.(*fleet.Lines); ok {
		return lines.Replace(path, tenant, document)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(f, 64<<10)
	err = fleet.Replace(buffer, file, line, old, document)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// keepWatch returns a function that says whether there is still, under its path, the file
// as it was: what somebody else has written in the meantime must not be lost.
func keepWatch(file io.ReadSeeker) func(path string) error {
	f, ok := file.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return func(string) error { return nil }
	}
	before, err := f.Stat()
	return func(path string) error {
		now, err2 := os.Stat(path)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		if !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) {
			return fmt.Errorf("%s has changed in the meantime: nothing is written", path)
		}
		return nil
	}
}
