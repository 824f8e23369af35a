package checkins

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"stagger/host/chart"
	"stagger/host/herd"
	"stagger/host/report"
)

// columns is about how many points a curve has: more than that nobody sees.
const columns = 680

// since is the axis of the time after the beginning.
func (r *Report) since(minutes float64) (size float64, axis chart.Axis) {
	size, name := report.Unit(60 * minutes)
	size /= 60
	return size, chart.Axis{Label: "time after " + clock(r.From) + ", " + name, Max: minutes / size}
}

// OverTime shows the check-ins of the fullest second, and of the minute, all along.
func (r *Report) OverTime() *chart.Figure {
	first, last := r.From.Unix()/60, r.To.Unix()/60
	minutes := int(last-first) + 1
	parts := min(columns, minutes)
	if parts < 2 || len(r.minutes) == 0 {
		return nil
	}
	size, axis := r.since(float64(minutes))
	seconds := chart.Series{Name: "check-ins in the fullest second", Kind: chart.Area, Color: chart.Blue}
	whole := chart.Series{Name: "check-ins in the fullest minute", Kind: chart.Area, Color: chart.Blue}
	x, top, most := make([]float64, parts), make([]float64, parts), make([]float64, parts)
	for i := range x {
		x[i] = float64(minutes) * (float64(i) + 0.5) / float64(parts) / size
	}
	for _, m := range r.minutes {
		i := min(parts-1, int(int64(m.At)-first)*parts/minutes)
		top[i], most[i] = max(top[i], float64(m.Top)), max(most[i], float64(m.Arrivals))
	}
	seconds.X, seconds.Y, whole.X, whole.Y = x, top, x, most
	even := func(name string, mean float64, n int) chart.Series {
		y := herd.Noise(mean, n)
		return chart.Series{Name: name + chart.Number(math.Round(y)), Kind: chart.Line, Color: chart.Orange, Dashed: true, X: []float64{0, axis.Max}, Y: []float64{y, y}}
	}
	panel := func(title string, y string, s, e chart.Series) chart.Panel {
		return chart.Panel{
			Title: title, X: axis, Y: chart.Axis{Label: y, Max: chart.Round(max(slices.Max(s.Y), e.Y[0]))},
			Series: []chart.Series{s, e}, Legend: true, Height: 150,
		}
	}
	n := int(r.To.Unix()-r.From.Unix()) + 1
	return &chart.Figure{
		Title:       "Check-ins over time",
		Description: "How many phones checked in, in the fullest second and in the fullest minute of each column, and what an even load would have.",
		Panels: []chart.Panel{
			panel("In a second", "check-ins per second", seconds, even("an even load peaks at about ", r.calm, n)),
			panel("In a minute", "check-ins per minute", whole, even("an even load peaks at about ", 60*r.calm, n/60)),
		},
	}
}

// PerSecond shows how many seconds had so many check-ins, beside those of arrivals that
// are independent, at the rate outside of clusters.
func (r *Report) PerSecond() *chart.Figure {
	last := len(r.seconds) - 1
	for last > 0 && r.seconds[last] == 0 {
		last--
	}
	total := 0
	for _, n := range r.seconds {
		total += n
	}
	if last == 0 || r.calm == 0 {
		return nil
	}
	expected := distuv.Poisson{Lambda: r.calm}
	seen := chart.Series{Name: "seen", Kind: chart.Bars, Color: chart.Blue}
	even := chart.Series{Name: "independent arrivals", Kind: chart.Dots, Color: chart.Orange}
	// In a picture a bin is as wide as there is room for.
	wide := last/columns + 1
	most := 0
	for from := 0; from <= last; from += wide {
		n, p := 0, 0.0
		for k := from; k < from+wide; k++ {
			if k <= last {
				n += r.seconds[k]
			}
			p += expected.Prob(float64(k))
		}
		seen.X, seen.Y = append(seen.X, float64(from)), append(seen.Y, float64(n))
		most = max(most, n)
		if y := p * float64(total); y >= 0.5 {
			even.X, even.Y = append(even.X, float64(from)+float64(wide)/2), append(even.Y, y)
			most = max(most, int(math.Ceil(y)))
		}
	}
	seen.X, seen.Y = append(seen.X, float64(last+wide)), append(seen.Y, 0)
	label := "check-ins in a second"
	if last == len(r.seconds)-1 {
		label += " (the last bar: or more)"
	}
	return &chart.Figure{
		Title:       "Seconds by their check-ins",
		Description: "How many seconds had how many check-ins, and how many would if phones came independently of each other.",
		Panels: []chart.Panel{{
			Title:  "Seconds with so many check-ins",
			X:      chart.Axis{Label: label, Max: float64(last + wide)},
			Y:      chart.Axis{Label: "seconds", Min: 0.5, Max: 2 * float64(most), Log: true},
			Series: []chart.Series{seen, even}, Legend: true,
		}},
	}
}

// Largest shows the largest cluster of phones second by second, or else of refusals.
func (r *Report) Largest() *chart.Figure {
	phones := slices.DeleteFunc(slices.Clone(r.Clusters), func(c *Cluster) bool { return c.Of != CheckIns })
	if len(phones) == 0 {
		phones = r.Clusters
	}
	list := largest(phones, 1)
	if len(list) == 0 || len(list[0].perSecond) < 2 {
		return nil
	}
	c := list[0]
	s := chart.Series{Kind: chart.Bars, Color: chart.Red}
	for i, n := range c.perSecond {
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, float64(n))
	}
	s.X, s.Y = append(s.X, float64(len(c.perSecond))), append(s.Y, 0)
	return &chart.Figure{
		Title:       "The largest cluster",
		Description: "The arrivals of the largest cluster, second by second.",
		Panels: []chart.Panel{{
			Title:  fmt.Sprintf("%s in %s from %s on", number(c.Arrivals), seconds(c.Seconds), clock(c.At)),
			X:      chart.Axis{Label: "seconds after its first", Max: float64(len(c.perSecond))},
			Y:      chart.Axis{Label: c.Of + " per second", Max: chart.Round(float64(c.Peak))},
			Series: []chart.Series{s}, Height: 150,
		}},
	}
}

// WritePage writes the report as a page with plots.
func (r *Report) WritePage(w io.Writer) error {
	p := &report.Page{
		Title: fmt.Sprintf("%s check-ins of %s devices in %s", number(r.CheckIns), number(r.Devices), seconds(int(r.To.Sub(r.From)/time.Second))),
		Facts: r.facts(),
	}
	add := func(s report.Section) {
		if s.Figure != nil || len(s.Table) > 1 {
			p.Sections = append(p.Sections, s)
		}
	}
	for _, f := range r.findings() {
		if f.Alarm {
			add(f.section("ALARM: "))
		}
	}
	add(report.Section{Heading: "How phones arrive", Text: "A check-in is all files that a phone gets within a minute. The dashed line is the fullest second, and minute, of an even load: independent arrivals have one too. Peaks far above it are phones in step.", Figure: r.OverTime()})
	add(report.Section{Heading: "The numbers", Text: "The index of dispersion is the variance divided by the mean: 1 for arrivals that are independent, which are in the range on the right 99 times in 100. Outside of clusters it says whether the rest of the fleet is spread.", Table: r.table()})
	add(report.Section{Heading: "Seconds by their check-ins", Text: "Bars that reach beyond the dots are seconds in which more phones came than independent ones do. The vertical axis is logarithmic.", Figure: r.PerSecond()})
	add(report.Section{Heading: "The largest cluster", Figure: r.Largest(), Text: "Independent phones, at the rate of the hour before it, show such a cluster on one day in a thousand at most. What it probably is, is a guess."})
	add(r.clusterSection())
	for _, f := range r.findings() {
		if !f.Alarm {
			add(f.section("Also: "))
		}
	}
	return p.Write(w)
}

// clusterSection has the largest clusters in a table.
func (r *Report) clusterSection() report.Section {
	list := largest(r.Clusters, 5*shown)
	table := [][]string{{"at", "arrivals", "seconds", "usual", "probably", "tenant", "vendor", "address block", "together before"}}
	share := func(s *Share) string {
		if s == nil || s.Share < little {
			return "-"
		}
		return s.Value + " " + percent(s.Share)
	}
	for _, c := range list {
		before := "-"
		if c.Earlier != nil {
			before = percent(c.Earlier.Share) + ", " + seconds(c.Earlier.After) + " earlier"
		}
		table = append(table, []string{clock(c.At), number(c.Arrivals), number(c.Seconds), few(c.Expected), c.Cause, share(c.Tenant), share(c.Vendor), share(c.Block), before})
	}
	text := "The largest of " + number(r.ClustersOf) + ", in the order of time."
	seen := map[string]bool{}
	for _, c := range list {
		if !seen[c.Cause] {
			seen[c.Cause] = true
			text += " " + c.Cause + ": " + Causes[c.Cause] + "."
		}
	}
	return report.Section{Heading: "Clusters", Text: text, Table: table}
}

// section is a list of findings as a table.
func (f *finding) section(before string) report.Section {
	return report.Section{Heading: before + f.Title, Text: number(f.Of) + " in all" + rest(len(f.Rows), f.Of, "the first") + ".", Table: f.Table}
}
