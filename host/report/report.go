// Package report turns simulated runs into a page and pictures for people.
//
// It owns which plots there are, what each says in words, and the numbers beside
// them. It must never simulate, and a page must never need anything from a
// network or a script: it is one file, to be sent and kept.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"stagger/host/chart"
	"stagger/host/herd"
)

// A Report is runs of several schemes on one herd.
type Report struct {
	// Title names the herd, and Facts are its numbers, each a name and a value.
	Title string
	Facts [][2]string
	Runs  []*herd.Run
	// Interval and Window are seconds; Values what phones were told.
	Interval, Window float64
	Values           []float64
	// Unit is what the phones count in, in seconds.
	Unit float64
	// Table has the numbers, the heading first.
	Table [][]string
	// Linear says that the phones have one interval and one window below it, and
	// renew at the end of what they were told: then M/(kW) holds.
	Linear bool
}

// find returns the run of a scheme, or nil.
func (r *Report) find(is func(herd.Scheme) bool) *herd.Run {
	for _, run := range r.Runs {
		if is(run.Scheme) {
			return run
		}
	}
	return nil
}

func (r *Report) fixed() *herd.Run {
	return r.find(func(s herd.Scheme) bool {
		return !s.Spread && !s.FirstDelay && !s.Redraw && !s.Reboot && s.Registrar == 0 && s.BootDelay == 0
	})
}

func (r *Report) spread() *herd.Run {
	return r.find(func(s herd.Scheme) bool { return s.Spread && !s.FirstDelay && s.Registrar == 0 && s.BootDelay == 0 })
}

func (r *Report) reboot() *herd.Run { return r.find(func(s herd.Scheme) bool { return s.Reboot }) }

func (r *Report) share() float64 { return r.Window / r.Interval }

// mean is the rate that everything tends to.
func (r *Report) mean() float64 {
	if run := r.spread(); run != nil {
		return run.Mean()
	}
	return float64(len(r.Values)) / r.Interval
}

// Unit is what times up to seconds are shown in.
func Unit(seconds float64) (size float64, name string) {
	switch {
	case seconds <= 600:
		return 1, "seconds"
	case seconds <= 2*3600:
		return 60, "minutes"
	case seconds <= 4*86400:
		return 3600, "hours"
	}
	return 86400, "days"
}

// columns is about how many points a curve has: more than that nobody sees.
const columns = 680

// arrivals is the largest number of requests a second in each of many equal parts
// of [from, to) seconds after the event, the start included.
func arrivals(run *herd.Run, from, to, size float64) (x, y []float64) {
	parts := min(columns, int(to-from))
	for i := range parts {
		low, high := int(from+(to-from)*float64(i)/float64(parts)), int(from+(to-from)*float64(i+1)/float64(parts))
		most := uint32(0)
		for t := low; t < high; t++ {
			n := uint32(0)
			if t < len(run.Counts) {
				n = run.Counts[t]
			}
			if t < len(run.Starts) {
				n += run.Starts[t]
			}
			most = max(most, n)
		}
		x, y = append(x, (float64(low)+float64(high))/2/size), append(y, float64(most))
	}
	return x, y
}

// shown is how many periods the plots over time show.
func (r *Report) shown() float64 {
	most := 0
	for _, run := range r.Runs {
		most = max(most, run.Periods())
	}
	return r.Interval * float64(min(most, 6)) * 1.02
}

func count(x float64) string { return chart.Number(math.Round(x)) }

// BeforeAfter shows what arrives with one interval for all and with spread
// intervals, on one scale.
func (r *Report) BeforeAfter() *chart.Figure {
	f := &chart.Figure{
		Title:       "Arrivals before and after",
		Description: "Requests a second after all phones started together: above with one interval for all phones, below with an interval of its own for each.",
	}
	to := r.shown()
	size, name := Unit(to)
	top := 0.0
	for _, s := range []struct {
		run   *herd.Run
		title string
		color chart.Color
	}{
		{r.fixed(), "Before: one interval for all", chart.Orange},
		{r.spread(), "After: every phone has its own", chart.Blue},
	} {
		if s.run == nil {
			continue
		}
		x, y := arrivals(s.run, 0, to, size)
		top = max(top, slices.Max(y))
		title := fmt.Sprintf("%s. The first repeat peaks at %s/s", s.title, count(float64(s.run.RoundPeak(1))))
		if k := min(5, s.run.Periods()-1); k > 1 {
			title += fmt.Sprintf(", repeat %d at %s/s", k, count(float64(s.run.RoundPeak(k))))
		}
		f.Panels = append(f.Panels, chart.Panel{
			Title:  title,
			X:      chart.Axis{Label: "time after the start, " + name, Max: to / size},
			Y:      chart.Axis{Label: "requests per second"},
			Series: []chart.Series{{Kind: chart.Area, X: x, Y: y, Color: s.color}},
			Height: 150,
		})
	}
	for i := range f.Panels {
		f.Panels[i].Y.Max = chart.Round(top)
	}
	return f
}

// Rounds shows the first rounds of spread phones beside what is expected.
func (r *Report) Rounds() *chart.Figure {
	run := r.spread()
	if run == nil {
		return nil
	}
	to := r.shown()
	// From where the start is over.
	from := float64(len(run.Starts))
	size, name := Unit(to)
	x, y := arrivals(run, from, to, size)
	phones := float64(len(r.Values))
	series := []chart.Series{{Name: "requests in the fullest second", Kind: chart.Area, X: x, Y: y, Color: chart.Blue}}
	top := slices.Max(y)
	if r.Linear {
		expected := chart.Series{Name: "expected: the sum of M/(kW) over the rounds k that meet", Kind: chart.Steps, Color: chart.Orange}
		type edge struct{ at, rate float64 }
		var edges []edge
		for k := 1.0; k*(r.Interval-r.Window) < to; k++ {
			edges = append(edges, edge{k * (r.Interval - r.Window), phones / (k * r.Window)}, edge{k * r.Interval, -phones / (k * r.Window)})
		}
		slices.SortFunc(edges, func(a, b edge) int {
			if a.at < b.at {
				return -1
			}
			return 1
		})
		rate := 0.0
		expected.X, expected.Y = []float64{0}, []float64{0}
		for _, e := range edges {
			rate += e.rate
			expected.X, expected.Y = append(expected.X, min(e.at, to)/size), append(expected.Y, max(0, rate))
		}
		top = max(top, slices.Max(expected.Y))
		series = append(series, expected)
	}
	return &chart.Figure{
		Title:       "The first rounds",
		Description: "Requests a second in the first rounds after the start with spread intervals, and the rate that is expected.",
		Panels: []chart.Panel{{
			Title: "The first rounds grow wider and lower until they meet",
			X:     chart.Axis{Label: "time after the start, " + name, Max: to / size}, Y: chart.Axis{Label: "requests per second", Max: chart.Round(top)},
			Series: series, Legend: true, Height: 200,
		}},
	}
}

// palette are the colours of schemes, in their order.
var palette = []chart.Color{chart.Orange, chart.Blue, chart.Green, chart.Purple, chart.Pink, chart.Red, chart.Grey}

// Peaks shows the peak of each round for every scheme, beside the theory.
func (r *Report) Peaks() *chart.Figure {
	p := chart.Panel{
		Title: "The fullest second of each repeat",
		X:     chart.Axis{Label: "repeat (1 is the first after the start)", Min: 1, Log: true},
		Y:     chart.Axis{Label: "requests per second", Log: true}, Legend: true, Height: 300,
	}
	lowest, top, last := math.Inf(1), 0.0, 1
	for i, run := range r.Runs {
		if run.Scheme.Reboot {
			continue
		}
		s := chart.Series{Name: run.Scheme.Name, Kind: chart.Dots, Color: palette[i%len(palette)]}
		for k := 1; k < run.Periods(); k = max(k+1, k*6/5) {
			peak := float64(run.RoundPeak(k))
			s.X, s.Y = append(s.X, float64(k)), append(s.Y, peak)
			lowest, top, last = min(lowest, max(1, peak)), max(top, peak), max(last, k)
		}
		p.Series = append(p.Series, s)
	}
	if last < 2 || len(p.Series) == 0 {
		return nil
	}
	mean := r.mean()
	noise := herd.Noise(mean, int(r.Interval))
	if w := r.share(); r.Linear && r.spread() != nil {
		phones := float64(len(r.Values))
		meet := min(float64(last), 1/w)
		p.Series = append(p.Series, chart.Series{Name: "M/(kW), until rounds meet", Kind: chart.Line, Dashed: true, Color: chart.Blue,
			X: []float64{1, meet}, Y: []float64{phones / r.Window, phones / (r.Window * meet)}})
		lowest = min(lowest, phones/(r.Window*meet))
	}
	p.Series = append(p.Series, chart.Series{Name: fmt.Sprintf("an even load still peaks at %s/s", count(noise)), Kind: chart.Line, Dashed: true, Color: chart.Grey,
		X: []float64{1, float64(last)}, Y: []float64{noise, noise}})
	p.X.Max = float64(last)
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(min(lowest, noise)))), chart.Round(1.1*max(top, noise))
	return &chart.Figure{
		Title:       "Peaks by repeat",
		Description: "The largest number of requests in one second around each repeat of the interval, for every scheme, beside the theory for spread intervals and the peak that randomness alone gives an even load.",
		Panels:      []chart.Panel{p},
	}
}

// Histogram shows how many phones have which value.
func (r *Report) Histogram() *chart.Figure {
	low, high := slices.Min(r.Values), slices.Max(r.Values)
	if low == high || r.Unit <= 0 {
		return nil
	}
	bin := r.Unit * math.Max(1, math.Ceil((high-low+r.Unit)/r.Unit/60))
	bins := int((high-low)/bin) + 1
	s := chart.Series{Kind: chart.Bars, Color: chart.Green, Name: "phones"}
	counts := make([]float64, bins)
	for _, v := range r.Values {
		counts[int((high-v)/bin)]++ // from the interval down, so that the last bin is the partial one
	}
	top := 0.0
	for i := bins - 1; i >= 0; i-- {
		// A partial bin is drawn as wide as it is, and as high as a whole one would be.
		from, to := high-float64(i+1)*bin+r.Unit, high-float64(i)*bin+r.Unit
		from = max(from, low)
		height := counts[i] * bin / (to - from)
		s.X, s.Y = append(s.X, from), append(s.Y, height)
		top = max(top, height)
	}
	s.X, s.Y = append(s.X, high+r.Unit), append(s.Y, counts[0])
	title := fmt.Sprintf("The values: %s s to %s s, in steps of %s s", chart.Number(low), chart.Number(high), chart.Number(r.Unit))
	return &chart.Figure{
		Title:       "Histogram of the values",
		Description: "How many phones were given which value.",
		Panels: []chart.Panel{{
			Title: title,
			X:     chart.Axis{Label: "value, seconds", Min: s.X[0], Max: high + r.Unit},
			Y:     chart.Axis{Label: fmt.Sprintf("phones for each %s seconds", chart.Number(bin)), Max: chart.Round(1.05 * top)}, Series: []chart.Series{s}, Height: 150,
		}},
	}
}

// Reboot shows the endless reboot beside a fleet that is left in peace.
func (r *Report) Reboot() *chart.Figure {
	run := r.reboot()
	if run == nil {
		return nil
	}
	to := min(float64(len(run.Counts)), 3600)
	size, name := Unit(to)
	f := &chart.Figure{
		Title:       "A random value at every check-in",
		Description: "Check-ins a second in the first hour: above phones that get a new random value at each check-in and reboot for it, below phones with a value of their own that stays.",
	}
	top := 0.0
	add := func(run *herd.Run, title string, color chart.Color) {
		x, y := arrivals(run, 0, to, size)
		top = max(top, slices.Max(y))
		f.Panels = append(f.Panels, chart.Panel{
			Title: title, X: chart.Axis{Label: "time after the start, " + name, Max: to / size}, Y: chart.Axis{Label: "check-ins per second"},
			Series: []chart.Series{{Kind: chart.Area, X: x, Y: y, Color: color}}, Height: 130,
		})
	}
	add(run, fmt.Sprintf("A random value at every check-in: each phone reboots %s times a day", count(Reboots(run))), chart.Red)
	if spread := r.spread(); spread != nil {
		// With an interval above an hour nothing comes again in this time.
		title := "A value of its own, always the same: no reboot"
		if r.Interval-r.Window > to {
			title += fmt.Sprintf(", and the next check-in after %s s", count(r.Interval-r.Window))
		}
		add(spread, title, chart.Blue)
	}
	for i := range f.Panels {
		f.Panels[i].Y.Max = chart.Round(top)
	}
	return f
}

// Reboots is how often a phone reboots in a day.
func Reboots(run *herd.Run) float64 {
	return float64(run.Reboots) / float64(run.Phones) * 86400 / float64(len(run.Counts))
}

// WritePage writes the page.
func (r *Report) WritePage(w io.Writer) error {
	even := count(herd.Noise(r.mean(), int(r.Interval)))
	p := &Page{Title: r.Title, Facts: r.Facts}
	for _, s := range []Section{
		{"Before and after", "All phones start together at time 0. With one interval for all, every round is as high as the start; nothing but the error of the clocks ever blurs it. Both plots have one scale; a point is the fullest second of a column.", r.BeforeAfter(), nil},
		{"How fast it dissolves", "Round k of M phones is spread over k windows, so that its mean rate is M/(kW) until rounds meet; the fullest second lies above the mean. The dashed grey line is where an even load ends up: random arrivals have a fullest second too. Both axes are logarithmic.", r.Peaks(), nil},
		{"The first rounds", "The same arrivals as above, on a scale of their own.", r.Rounds(), nil},
		{"What the phones were told", "Every value is the configured interval minus an offset from the phone's own address. An even share of phones has each value, and none is above the interval.", r.Histogram(), nil},
		{"Why not a random value", "A phone compares a file with what it has. When a value that changes needs a reboot, a fresh random value at every check-in reboots it at every check-in: it never comes to rest, and neither does the server. A value that stays is no change.", r.Reboot(), nil},
	} {
		if s.Figure != nil && len(s.Figure.Panels) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, Section{"The numbers", "Requests in the fullest second around the repeat of that number, the mean over the last period, requests a day, and how often a phone reboots in a day. An even load with the mean of the spread phones would peak at about " + even + ".", nil, r.Table})
	return p.Write(w)
}
