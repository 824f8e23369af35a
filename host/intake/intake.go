// Package intake turns what an operator has (a spreadsheet, or JSON Lines from
// another program) into documents of devices, and judges every one of them before
// any is written.
//
// It owns the columns of the CSV and what may stand in them. It must never put a
// value of its input into an error, not even the name of a column that it does not
// know: the first row of a file without a header is a phone with its password.
package intake

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"stagger/edge/record"
	"stagger/host/fleet"
	"stagger/host/inspect"
)

// A Problem is one thing that is wrong with an input.
type Problem struct {
	File string
	// Row counts as spreadsheets do, the header being 1; Line is the line of the
	// file on which the row starts. Row 0: the input has lines only. Line 0: it is
	// of the file as a whole.
	Row, Line int
	// Column is the name of the column, or a path inside a JSON document.
	Column string
	What   string
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	switch {
	case p.Row == 0 && p.Line > 0:
		fmt.Fprintf(&b, ":%d", p.Line)
	case p.Row > 0:
		b.WriteString(": " + place(p.Row, p.Line))
	}
	switch {
	case p.Column != "" && p.Row > 0:
		b.WriteString(", column " + p.Column)
	case p.Column != "":
		b.WriteString(": " + p.Column)
	}
	return b.String() + ": " + p.What
}

// place names a row, and its line where fields with line ends made them differ.
func place(row, line int) string {
	if row == line {
		return fmt.Sprintf("row %d", row)
	}
	return fmt.Sprintf("row %d (line %d)", row, line)
}

// Row is a row or line of the input.
type Row struct {
	Number, Line int
	// Raw is the row as it was, with its line end.
	Raw []byte
	// MAC and Document are empty where the row is too bad to tell.
	MAC, Document string
	Bad           bool
}

// Result is an input, read.
type Result struct {
	// Head is what a file of some of the rows has to begin with: the header.
	Head     []byte
	Rows     []Row
	Problems []*Problem
	// Unusable says that no row could be read at all: the header is wrong, say.
	Unusable bool
}

// Bad counts the bad rows.
func (r *Result) Bad() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Bad {
			n++
		}
	}
	return n
}

// A Fleet is what the new devices are added to.
type Fleet struct {
	name    string
	tenants map[string]string
	macs    map[string]owner
}

type owner struct {
	line   int
	tenant string
}

// ReadFleet reads a fleet file for its tenants, which have to be good, and for the
// MACs of its devices, whose documents it does not judge.
func ReadFleet(name string, r io.Reader) (*Fleet, error) {
	f := &Fleet{name, map[string]string{}, map[string]owner{}}
	lines := map[string]int{}
	var errs []error
	fail := func(err *fleet.Error) { errs = append(errs, err) }
	err := fleet.Scan(name, r, func(d fleet.Document) {
		if d.MAC != "" {
			if have, ok := f.macs[d.MAC]; ok {
				fail(&fleet.Error{File: name, Line: d.Line, What: fleet.SameDevice(have.line, have.tenant == d.Tenant)})
				return
			}
			f.macs[strings.Clone(d.MAC)] = owner{d.Line, strings.Clone(d.Tenant)}
			return
		}
		if first, ok := lines[d.Tenant]; ok {
			fail(&fleet.Error{File: name, Line: d.Line, What: fleet.SameTenant(first)})
			return
		}
		lines[d.Tenant], f.tenants[d.Tenant] = d.Line, d.Text
		if err := inspect.Check(d.Text, ""); err != nil {
			fail(&fleet.Error{File: name, Line: d.Line, What: err.Error()})
		}
	}, fail)
	if err == nil && len(errs) == 0 && len(f.tenants) == 0 {
		err = fmt.Errorf("%s: has no tenant for the devices to belong to", name)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return f, nil
}

// HasTenant says whether the fleet has this tenant.
func (f *Fleet) HasTenant(tenant string) bool {
	_, ok := f.tenants[tenant]
	return ok
}

// A reader is the part of reading that both kinds of input share.
type reader struct {
	name   string
	fleet  *Fleet
	result Result
	// first is the index in the result's rows of the first with a MAC.
	first map[string]int
	// show is called with the share of the input that is done.
	show func(share float64)
}

func newReader(name string, f *Fleet, show func(float64)) reader {
	if show == nil {
		show = func(float64) {}
	}
	return reader{name: name, fleet: f, first: map[string]int{}, show: show}
}

// fail notes a problem of a row, which makes it bad.
func (r *reader) fail(row *Row, column, what string) {
	row.Bad = true
	r.result.Problems = append(r.result.Problems, &Problem{r.name, row.Number, row.Line, column, what})
}

// claim sees to it that a MAC is there once. Of two rows that contradict each other
// none is better than the other, so both are bad.
func (r *reader) claim(row *Row, mac, tenant, column string) {
	row.MAC = mac
	if have, ok := r.fleet.macs[mac]; ok {
		what := fmt.Sprintf("the same device as %s:%d", r.fleet.name, have.line)
		if have.tenant != tenant && tenant != "" {
			what += ", there of another tenant"
		}
		r.fail(row, column, what)
	}
	i, ok := r.first[mac]
	if !ok {
		r.first[mac] = len(r.result.Rows)
		return
	}
	first := &r.result.Rows[i]
	where := func(of *Row) string {
		if of.Number == 0 {
			return fmt.Sprintf("line %d", of.Line)
		}
		return place(of.Number, of.Line)
	}
	r.fail(first, column, "the same device as "+where(row))
	r.fail(row, column, "the same device as "+where(first))
}

// judge holds a document to everything that the core asks of it, and returns where
// in it something is wrong, and what.
func (r *reader) judge(tenant, document string) (path, what string) {
	text, ok := r.fleet.tenants[tenant]
	if !ok {
		return "tenant", "is not a tenant of the fleet"
	}
	return inspect.Place(inspect.Check(text, document))
}

// ParseMAC reads a MAC in the spellings that people, labels and spreadsheets use:
// with colons, dashes, dots, blanks or nothing between, in either case. It returns
// "" for what is none.
func ParseMAC(text string) string {
	mac := strings.ToLower(separators.Replace(strings.Trim(text, blanks)))
	if !record.IsMAC(mac) {
		return ""
	}
	return mac
}

var separators = strings.NewReplacer(":", "", "-", "", ".", "", " ", "")
