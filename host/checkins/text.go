package checkins

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"stagger/host/accesslog"
	"stagger/host/chart"
)

// shown is how many of many things the text and the page show.
const shown = 10

func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

func number(n int) string { return chart.Number(float64(n)) }

// few prints a number that may be small, with three digits.
func few(x float64) string {
	switch {
	case x >= 100:
		return chart.Number(math.Round(x))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 0.001 || x == 0:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return "below 0.001"
}

func percent(share float64) string { return strconv.Itoa(int(math.Round(100*share))) + "%" }

// seconds prints a time in seconds in the way that a person takes it in.
func seconds(n int) string {
	switch {
	case n < 600:
		return number(n) + " s"
	case n < 2*3600:
		return number((n+30)/60) + " min"
	case n < 2*86400:
		return number((n+1800)/3600) + " h"
	}
	return number((n+43200)/86400) + " days"
}

// A finding is a kind of thing that the report lists: what it is, how many there are,
// and the first of them.
type finding struct {
	Title string
	// Alarm says that these must not be.
	Alarm bool
	Of    int
	// Rows are the first as lines, Table the same as cells with the heading first.
	Rows  []string
	Table [][]string
}

// list makes a finding of what there is of a kind.
func list[T any](title string, alarm bool, all []T, row func(T) string, cells func(T) []string, heading ...string) finding {
	f := finding{Title: title, Alarm: alarm, Of: len(all), Table: [][]string{heading}}
	for _, x := range all[:min(len(all), shown)] {
		f.Rows, f.Table = append(f.Rows, row(x)), append(f.Table, cells(x))
	}
	return f
}

// findings are the lists of the report that are not empty, the alarms first.
func (r *Report) findings() []finding {
	changing := []string{"device", "tenant", "vendor", "told", "file", "changes", "same documents", "back", "last at"}
	all := []finding{
		list("reboot loops", true, r.Loops, Loop.String, func(l Loop) []string {
			changes := "-"
			if l.Hashed {
				changes = number(l.Changes)
			}
			return l.cells(number(l.CheckIns), clock(l.From), clock(l.To), seconds(l.Shortest), changes)
		}, "device", "tenant", "vendor", "told", "check-ins", "from", "to", "gap", "changed"),
		list("files that change by themselves", true, r.Unstable, Changing.String, Changing.row, changing...),
		list("suspicious: files that turned back to earlier bytes", false, r.Suspicious, Changing.String, Changing.row, changing...),
		list("phones that come more often than they were told", false, r.Often, Often.String, func(o Often) []string {
			return o.cells(number(o.CheckIns), number(o.Early), seconds(o.Shortest))
		}, "device", "tenant", "vendor", "told", "check-ins", "early", "shortest gap"),
		list("phones overdue", false, r.Overdue, Overdue.String, func(o Overdue) []string {
			return o.cells(clock(o.Last), seconds(o.By))
		}, "device", "tenant", "vendor", "told", "seen last", "overdue by"),
		list("devices of the fleet that did not come", false, r.Unseen, accesslog.MAC.String, func(m accesslog.MAC) []string { return []string{m.String()} }, "device"),
		list("addresses that were refused most", false, r.Refused, func(c Count) string { return c.Name + "  " + number(c.Count) + " requests" },
			func(c Count) []string { return []string{c.Name, number(c.Count)} }, "address", "requests"),
	}
	return slices.DeleteFunc(all, func(f finding) bool { return f.Of == 0 })
}

// cells are those of the device, and more.
func (d Device) cells(more ...string) []string {
	told := "-"
	if d.Value > 0 {
		told = number(d.Value) + " s"
	}
	return append([]string{d.MAC.String(), cmp.Or(d.Tenant, "-"), cmp.Or(d.Vendor, "-"), told}, more...)
}

func (c Changing) row() []string {
	return c.cells(cmp.Or(c.File, "-"), number(c.Changes), number(c.Same), number(c.Back), clock(c.Last))
}

func (d Device) String() string {
	s := d.MAC.String()
	for _, word := range []string{d.Tenant, d.Vendor} {
		if word != "" {
			s += "  " + word
		}
	}
	if d.Value > 0 {
		s += "  told " + number(d.Value) + " s"
	}
	return s
}

func (l Loop) String() string {
	bytes := "the log does not tell whether the bytes changed"
	switch {
	case l.Hashed && l.Changes == 0:
		bytes = "the bytes did not change: it is the phone, or its power"
	case l.Hashed:
		bytes = fmt.Sprintf("the bytes changed %d times: it may be the file", l.Changes)
	}
	return fmt.Sprintf("%s  %s check-ins from %s to %s, %d s apart at least; %s", l.Device, number(l.CheckIns), clock(l.From), clock(l.To), l.Shortest, bytes)
}

func (c Changing) String() string {
	s := c.Device.String()
	if c.File != "" {
		s += "  " + c.File
	}
	s += fmt.Sprintf("  %d changes, the last at %s", c.Changes, clock(c.Last))
	if c.Same > 0 {
		s += fmt.Sprintf(", %d with the same documents", c.Same)
	}
	if c.Back > 0 {
		s += fmt.Sprintf(", %d back to earlier bytes", c.Back)
	}
	return s
}

func (o Often) String() string {
	return fmt.Sprintf("%s  %d of %d check-ins were early, the shortest gap %s", o.Device, o.Early, o.CheckIns, seconds(o.Shortest))
}

func (o Overdue) String() string {
	return fmt.Sprintf("%s  seen last at %s, overdue by %s", o.Device, clock(o.Last), seconds(o.By))
}

// facts are the numbers of the whole, each a name and a value.
func (r *Report) facts() [][2]string {
	facts := [][2]string{
		{"from", clock(r.From)}, {"to", clock(r.To)}, {"requests", number(r.Requests)},
		{"check-ins", number(r.CheckIns)}, {"devices", number(r.Devices)},
	}
	if r.fleet {
		facts = append(facts, [2]string{"not in the fleet", number(r.Foreign)}, [2]string{"did not come", number(len(r.Unseen))})
	}
	if r.Changed > 0 {
		facts = append(facts, [2]string{"changed files", number(r.Changed)})
	}
	outcomes := make([]string, 0, shown)
	for _, c := range r.Outcomes[:min(len(r.Outcomes), shown)] {
		outcomes = append(outcomes, c.Name+" "+number(c.Count))
	}
	return append(facts, [2]string{"outcomes", strings.Join(outcomes, ", ")})
}

// table has the arrivals in numbers, the heading first.
func (r *Report) table() [][]string {
	table := [][]string{{"check-ins in a", "mean", "most", "at", "most/mean", "even load", "dispersion", "if independent"}}
	for _, v := range r.Arrivals {
		if v.Parts == 0 {
			continue
		}
		row := []string{v.In, few(v.Mean), number(v.Peak), v.PeakAt.Format("15:04:05"), few(v.PeakToMean), few(math.Round(v.EvenPeak)), "-", "-"}
		if v.High > 0 {
			row[6], row[7] = strconv.FormatFloat(v.Dispersion, 'f', 3, 64), strconv.FormatFloat(v.Low, 'f', 3, 64)+" to "+strconv.FormatFloat(v.High, 'f', 3, 64)
		}
		table = append(table, row)
	}
	return table
}

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	var b strings.Builder
	if r.Requests == 0 {
		_, err := fmt.Fprintln(out, "no requests")
		return err
	}
	for _, fact := range r.facts() {
		fmt.Fprintf(&b, "%-16s  %s\n", fact[0], fact[1])
	}
	b.WriteByte('\n')
	// Numbers are to the right, names to the left.
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range r.table() {
		fmt.Fprintf(table, "%-26s\t%s\t\n", row[0], strings.Join(row[1:], "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Clusters) == 0 {
		b.WriteString("\nno clusters\n")
	} else {
		list := largest(r.Clusters, shown)
		fmt.Fprintf(&b, "\nclusters: %s%s\n", number(r.ClustersOf), rest(len(list), r.ClustersOf, "the largest"))
		for _, c := range list {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(c.String(), "\n", "\n  "))
		}
	}
	for _, f := range r.findings() {
		title := f.Title
		if f.Alarm {
			title = "ALARM: " + title
		}
		fmt.Fprintf(&b, "\n%s: %s%s\n", title, number(f.Of), rest(len(f.Rows), f.Of, "the first"))
		for _, row := range f.Rows {
			fmt.Fprintf(&b, "  %s\n", row)
		}
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func rest(shown, of int, which string) string {
	if shown == of {
		return ""
	}
	return fmt.Sprintf(", %s %d", which, shown)
}
