package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"stagger/host/audit"
	"stagger/host/fleet"
)

func validateCommand(w *world) *cobra.Command {
	var (
		fleetFile               string
		asJSON, asSARIF, strict bool
		options                 audit.Options
	)
	c := &cobra.Command{
		Use:   "validate --fleet FILE",
		Short: "say everything that is wrong with a fleet, and what nobody may have meant",
		Long: `Reads a fleet file and says everything that is wrong with it: with file and line, the
key of the document, the place inside of it and the rule, never with a value. What
many devices have from their tenant is said once, with their number.

` + ruleTable() + `
Exit status 1 when there is an error, with --strict also when there is a warning.

--json prints one JSON object a line: file line level rule key path message devices.
--sarif prints a document of SARIF 2.1.0, for code scanning and editors.`,
		Example: `  stagger validate --fleet fleet.jsonl --registrar-min 60 --registrar-max 3600
  stagger validate --fleet fleet.jsonl --strict --sarif > fleet.sarif`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case fleetFile == "":
				return misuse(errors.New("--fleet: the fleet file is required"))
			case asJSON && asSARIF:
				return misuse(errors.New("--json and --sarif: one of them"))
			case options.RegistrarMax > 0 && options.RegistrarMin > options.RegistrarMax:
				return misuse(errors.New("--registrar-min is above --registrar-max"))
			}
			name, file, done, err := w.seekable(fleetFile)
			if err != nil {
				return err
			}
			defer done()
			show, clear := w.progress()
			options.Show = func(share float64) { show("judging", share) }
			report, err := audit.Run(name, file, options)
			clear()
			if err != nil {
				return err
			}
			if err := printReport(w.stdout, report, asJSON, asSARIF); err != nil {
				return err
			}
			failed, warned := report.Count(audit.Error), report.Count(audit.Warning)
			summary := fmt.Sprintf("%d tenants, %d devices: %d errors, %d warnings", report.Tenants, report.Devices, failed, warned)
			if failed > 0 || strict && warned > 0 {
				return errors.New(summary)
			}
			fmt.Fprintln(w.stderr, summary)
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	flags.Uint64Var(&options.RegistrarMin, "registrar-min", 0, "shortest registration in seconds that the registrar grants")
	flags.Uint64Var(&options.RegistrarMax, "registrar-max", 0, "longest registration in seconds that the registrar grants")
	flags.BoolVar(&strict, "strict", false, "exit status 1 for warnings too")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line for every finding")
	flags.BoolVar(&asSARIF, "sarif", false, "a SARIF 2.1.0 document")
	return c
}

// ruleTable is the rules for people.
func ruleTable() string {
	var b bytes.Buffer
	for _, r := range audit.Rules {
		fmt.Fprintf(&b, "  %-7s  %-16s  %s\n", r.Level, r.ID, r.Text)
	}
	return b.String()
}

// a seekable is a file that can be read more than once, and at any place.
type seekable interface {
	io.ReadSeeker
	io.ReaderAt
}

// seekable opens a file that is read twice. What is no regular file is read into
// memory.
func (w *world) seekable(file string) (name string, r seekable, done func(), err error) {
	name, in, err := w.open(file)
	if err != nil {
		return "", nil, nil, err
	}
	if lines, ok := in.(*fleet.Lines); ok {
		return name, lines, func() { lines.Close() }, nil
	}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return name, f, func() { f.Close() }, nil
		}
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return "", nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	return name, bytes.NewReader(data), func() {}, nil
}

func printReport(out io.Writer, report *audit.Report, asJSON, asSARIF bool) error {
	buffer := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffer)
	if asSARIF {
		if err := report.SARIF(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	}
	for _, f := range report.Findings {
		if !asJSON {
			fmt.Fprintln(buffer, f)
		} else if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	return buffer.Flush()
}
