package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stagger/host/audit"
	"stagger/host/fleet"
	"stagger/host/intake"
)

// maxImport is the largest input in bytes that is read: it is in memory as a whole,
// for nothing is written before everything is judged.
const maxImport = 1 << 30

func importCommand(w *world) *cobra.Command {
	var (
		fleetFile, csvFile, jsonFile string
		tenant, comma, out, bad, db  string
		force, skip                  bool
	)
	c := &cobra.Command{
		Use:   "import [--csv FILE | --jsonl FILE] --fleet FILE [--out FILE | --db FILE]",
		Short: "make documents of devices from a spreadsheet",
		Long: `Makes the documents of devices from a spreadsheet exported as CSV, or takes those of
a file of JSON Lines, and prints them, one a line, for a fleet file. Their tenants are
those of --fleet. Every document is judged as the core would, and everything that is
wrong is named at once, with row, column and rule, never with a value. When anything
is, nothing is written and the exit status is 1.

With --skip-bad the good rows are written all the same, and the bad ones as they were
to --bad, to be mended and imported again; the exit status is still 1 if there are
any. Of rows with the same MAC all are bad, and so is every row behind one whose
quotes are broken.

CSV: UTF-8, with or without a byte order mark; separated by commas, semicolons or
tabs. The first row names the columns, in any order and case. A row is a device, and
an empty cell is a field that is not set:

  mac            with colons, dashes, dots, blanks or nothing between (also: device)
  tenant         else that of --tenant
  ` + wrapped("  ", "mac", "tenant", "keys") + `
                 fields of the device or of its first line, by their name in the
                 JSON Schema; also: extension for user, name for display_name
  line2_user...  the same of line 2, and of further ones up to 250
  password, admin_password
                 the word generate makes one of 24 random letters and digits
  keys           type[/line][:value][=label], with ";" between, as in
                 line;blf:1002=Bob;speed-dial/2:+38111222333=Taxi
                 a "\" before ";", "=" or "\" takes its meaning away; keys of
                 expansion modules only JSON Lines can carry

Cells are trimmed, but for passwords, user and auth_user, which are refused with a
blank at the edge. The documents hold passwords, so the files are readable for their
owner only. They appear complete or not at all.

With --db all documents, those of --fleet and the new ones, are written as a database,
which every command takes in the place of a fleet file: for fleets that are too large
to be read at every start. Then those of --fleet are judged as well, and neither --csv
nor --jsonl is required. A database can be the --fleet of the one that replaces it
(--force); until that is complete the old one stays, and who has it open keeps it.`,
		Example: `  stagger import --csv phones.csv --fleet fleet.jsonl --out new.jsonl && cat new.jsonl >> fleet.jsonl
  stagger import --csv export.csv --fleet fleet.jsonl --tenant demo --skip-bad --bad mend.csv --out new.jsonl
  stagger import --jsonl - --fleet fleet.jsonl < devices.jsonl
  stagger import --fleet fleet.jsonl --db fleet.db
  stagger import --csv phones.csv --fleet fleet.db --db fleet.db --force`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case csvFile != "" && jsonFile != "" || csvFile+jsonFile+db == "":
				return misuse(errors.New("either --csv or --jsonl is required"))
			case db != "" && (out != "" || db == "-"):
				return misuse(errors.New("--db: a file is required, and no --out"))
			case fleetFile == "":
				return misuse(errors.New("--fleet: the fleet file with the tenants is required"))
			case fleetFile == "-" && csvFile+jsonFile == "-":
				return misuse(errors.New("--fleet and the devices cannot both be standard input"))
			case jsonFile != "" && (tenant != "" || comma != ""):
				return misuse(errors.New("--tenant and --comma have no meaning with --jsonl"))
			case skip != (bad != ""):
				return misuse(errors.New("--skip-bad and --bad FILE go together"))
			case bad == "-":
				return misuse(errors.New("--bad: a file is required"))
			}
			separator, err := parseComma(comma)
			if err != nil {
				return misuse(err)
			}
			input := csvFile + jsonFile
			if db != "" && filepath.Clean(db) == filepath.Clean(fleetFile) && !force {
				return misuse(fmt.Errorf("--db: %s exists; --force replaces it", db))
			}
			if db != "" && filepath.Clean(db) != filepath.Clean(fleetFile) {
				if err := writable(db, force, input, bad); err != nil {
					return misuse(fmt.Errorf("--db: %w", err))
				}
			}
			if input == "" {
				return w.importDatabase(fleetFile, db, force, nil)
			}
			// Before the work, and once more when the file is put in its place.
			for flag, file := range map[string]string{"--out": out, "--bad": bad} {
				if err := writable(file, force, input, fleetFile); err != nil {
					return misuse(fmt.Errorf("%s: %w", flag, err))
				}
			}
			if bad != "" && filepath.Clean(bad) == filepath.Clean(out) {
				return misuse(errors.New("--bad and --out are the same file"))
			}
			known, err := readFleet(w, fleetFile)
			if err != nil {
				return err
			}
			if tenant != "" && !known.HasTenant(tenant) {
				return misuse(fmt.Errorf("--tenant: the fleet has no tenant %q", tenant))
			}
			name, data, err := readAll(w, input)
			if err != nil {
				return err
			}
			progress, clear := w.progress()
			show := func(share float64) { progress("checking", share) }
			var result *intake.Result
			if csvFile != "" {
				result = intake.CSV(name, data, known, tenant, separator, show)
			} else {
				result = intake.JSONLines(name, data, known, show)
			}
			clear()
			problems := make([]error, len(result.Problems))
			for i, p := range result.Problems {
				problems[i] = p
			}
			n := result.Bad()
			if result.Unusable || n > 0 && !skip {
				problems = append(problems, errors.New("nothing is written"))
				return errors.Join(problems...)
			}
			var files []*newFile
			if n > 0 {
				f, err := stage(bad, force, func(w io.Writer) error { return writeBad(w, result) })
				if err != nil {
					return err
				}
				files = append(files, f)
			}
			good := func(w io.Writer) error { return writeGood(w, result) }
			if db != "" {
				if err := w.importDatabase(fleetFile, db, force, result); err != nil {
					discard(files)
					return err
				}
				if err := commit(files); err != nil {
					return err
				}
			} else if out == "" || out == "-" {
				if err := commit(files); err != nil {
					return err
				}
				if err := good(w.stdout); err != nil {
					return err
				}
			} else {
				f, err := stage(out, force, good)
				if err != nil {
					discard(files)
					return err
				}
				if err := commit(append(files, f)); err != nil {
					return err
				}
			}
			fmt.Fprintf(w.stderr, "%d devices are good, %d rows bad\n", len(result.Rows)-n, n)
			return errors.Join(problems...)
		},
	}
	flags := c.Flags()
	flags.StringVar(&csvFile, "csv", "", "spreadsheet of devices as CSV; - for standard input")
	flags.StringVar(&jsonFile, "jsonl", "", "documents of devices, one a line; - for standard input")
	flags.StringVar(&fleetFile, "fleet", "", "fleet file with the tenants, and with the devices that are there already; - for standard input")
	flags.StringVar(&tenant, "tenant", "", "tenant of the rows that name none")
	flags.StringVar(&comma, "comma", "", `what separates the cells: ",", ";" or "tab" (default: seen from the header)`)
	flags.StringVar(&out, "out", "", "file for the documents (default: standard output)")
	flags.StringVar(&db, "db", "", "file for a database of all documents")
	flags.BoolVar(&skip, "skip-bad", false, "write the good rows although there are bad ones")
	flags.StringVar(&bad, "bad", "", "file for the bad rows, with --skip-bad")
	flags.BoolVar(&force, "force", false, "replace files that exist")
	return c
}

// wrapped lists the columns of the CSV but for some, in lines of 78 characters.
func wrapped(indent string, but ...string) string {
	var b strings.Builder
	width := 0
	for _, name := range intake.Columns() {
		if slices.Contains(but, name) {
			continue
		}
		if width > 0 {
			b.WriteString(",")
			if width += 2 + len(name); width > 76 {
				b.WriteString("\n" + indent)
				width = len(name)
			} else {
				b.WriteString(" ")
			}
		} else {
			width = len(name)
		}
		b.WriteString(name)
	}
	return b.String()
}

// importDatabase makes a database of a fleet file and of the good rows of a result,
// which is nil where there is none.
func (w *world) importDatabase(fleetFile, db string, force bool, result *intake.Result) error {
	name, file, done, err := w.seekable(fleetFile)
	if err != nil {
		return err
	}
	defer done()
	progress, clear := w.progress()
	report, err := audit.Run(name, file, audit.Options{Show: func(share float64) { progress("judging", share) }})
	clear()
	if err != nil {
		return err
	}
	if report.Count(audit.Error) > 0 {
		var errs []error
		for _, f := range report.Findings {
			if f.Level == audit.Error {
				errs = append(errs, errors.New(f.String()))
			}
		}
		return errors.Join(append(errs, errors.New("nothing is written"))...)
	}
	var more []string
	if result != nil {
		for i := range result.Rows {
			if row := &result.Rows[i]; !row.Bad {
				more = append(more, row.Document)
			}
		}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// What killed imports to the same place have left. One that is about to lock its file
	// or to put it in its place can lose it here, and fails.
	left, err := staged(db)
	if err != nil {
		return err
	}
	for _, path := range left {
		fleet.Discard(path)
	}
	progress("writing", 0)
	f, err := stageAt(db, force, func(path string) error { return fleet.Build(path, name, file, more) })
	clear()
	if err != nil {
		return err
	}
	if err := commit([]*newFile{f}); err != nil {
		return err
	}
	fmt.Fprintf(w.stderr, "%s: %d tenants, %d devices\n", db, report.Tenants, report.Devices+len(more))
	return nil
}

func parseComma(text string) (rune, error) {
	switch text {
	case "":
		return 0, nil
	case "tab":
		return '\t', nil
	}
	if len(text) == 1 && strings.Contains(intake.Separators, text) {
		return rune(text[0]), nil
	}
	return 0, fmt.Errorf(`--comma: %q is none of ",", ";" and "tab"`, text)
}

// open opens a file, or standard input as "-", and says how errors are to call it. A
// database is read as the lines of a fleet file.
func (w *world) open(file string) (name string, r io.ReadCloser, err error) {
	if file == "-" {
		return "<stdin>", io.NopCloser(w.stdin), nil
	}
	f, err := os.Open(file)
	if err != nil || !fleet.IsDatabase(f) {
		return file, f, err
	}
	if err := f.Close(); err != nil {
		return file, nil, err
	}
	lines, err := fleet.OpenLines(file)
	return file, lines, err
}

func readFleet(w *world, file string) (*intake.Fleet, error) {
	name, r, err := w.open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return intake.ReadFleet(name, r)
}

func readAll(w *world, file string) (name string, data []byte, err error) {
	name, r, err := w.open(file)
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, maxImport+1))
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxImport {
		return "", nil, fmt.Errorf("%s: is larger than %d bytes", name, maxImport)
	}
	return name, data, nil
}

func writeGood(w io.Writer, result *intake.Result) error {
	for i := range result.Rows {
		if row := &result.Rows[i]; !row.Bad {
			if _, err := io.WriteString(w, row.Document+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeBad writes the bad rows as they were, behind the header.
func writeBad(w io.Writer, result *intake.Result) error {
	_, err := w.Write(result.Head)
	for i := range result.Rows {
		row := &result.Rows[i]
		if !row.Bad || err != nil {
			continue
		}
		_, err = w.Write(row.Raw)
		if err == nil && !bytes.HasSuffix(row.Raw, []byte("\n")) {
			_, err = w.Write([]byte("\n"))
		}
	}
	return err
}
