// Package chart draws plots as SVG.
//
// It owns scales, ticks, and where things go. It must never compute a number that
// it shows, never need a script, a font or a file from elsewhere, and never put a
// text into the picture that is not escaped. Colours follow the reader's choice of
// a light or a dark page, also in a file of its own.
package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Figure is panels above each other, as wide as each other.
type Figure struct {
	// Title is for readers who cannot see the picture; Description says what it
	// shows.
	Title, Description string
	Panels             []Panel
}

// A Panel is one plot.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
	// Height is that of the plot itself; 0 is 170.
	Height float64
	// Legend names the series; a panel with one series has no need of it.
	Legend bool
}

// An Axis is a range with a name and a unit. Min and Max are required.
type Axis struct {
	Label    string
	Min, Max float64
	Log      bool
}

// Kind is how a series is drawn.
type Kind uint8

// The kinds.
const (
	Line Kind = iota
	// Area is filled down to the axis.
	Area
	// Steps keeps a value until the next.
	Steps
	// Bars fills from each point to the next; the last point ends the last bar.
	Bars
	// Dots marks points and joins them with a thin line.
	Dots
)

// A Series is points with a name. Y of 0 is at the axis on a logarithmic one.
type Series struct {
	Name   string
	Kind   Kind
	X, Y   []float64
	Color  Color
	Dashed bool
}

// Color is one of those that can be told apart, also without colour vision.
type Color uint8

// The colours.
const (
	Blue Color = iota
	Orange
	Green
	Purple
	Pink
	Red
	Grey
)

// Style is what every picture needs: it makes a file of its own follow the
// reader's choice, and a page has it once for all pictures.
const Style = `.chart{--ink:#1f2933;--soft:#52606d;--grid:#dde3e9;--paper:#ffffff;--c0:#1d4ed8;--c1:#c2410c;--c2:#0f766e;--c3:#7e22ce;--c4:#be185d;--c5:#b91c1c;--c6:#64748b}
@media (prefers-color-scheme:dark){.chart{--ink:#e4e7eb;--soft:#a3b0bd;--grid:#344150;--paper:#161c23;--c0:#7aa7ff;--c1:#fb9a5b;--c2:#3fd0bd;--c3:#c59bff;--c4:#f58fbf;--c5:#ff8080;--c6:#94a3b8}}
.chart text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--soft)}
.chart text.title{font-weight:600;font-size:14px;fill:var(--ink)}
.chart .paper{fill:var(--paper)}.chart .grid{stroke:var(--grid);fill:none}.chart .axis{stroke:var(--soft);fill:none}`

// The measures of a picture in pixels.
const (
	width      = 760.0
	left       = 62.0
	right      = 18.0
	titleLine  = 22.0
	legendLine = 19.0
	labelLine  = 24.0
	below      = 42.0
	gap        = 10.0
	letter     = 6.7 // of the font, on average, rather too wide than too narrow
)

// WriteTo writes the figure as an SVG element: a file of its own if alone, or to
// put into a page that has Style.
func (f *Figure) WriteTo(w io.Writer, alone bool) error {
	p := &printer{w: w}
	height := gap
	for i := range f.Panels {
		height += f.Panels[i].height()
	}
	name := ""
	if alone {
		name = ` xmlns="http://www.w3.org/2000/svg"`
	}
	p.print(`<svg%s class="chart" viewBox="0 0 %s %s" role="img" aria-label="%s">`, name, n(width), n(height), escape(f.Title))
	p.print(`<title>%s</title><desc>%s</desc>`, escape(f.Title), escape(f.Description))
	if alone {
		p.print(`<style>%s</style><rect class="paper" width="%s" height="%s"/>`, escape(Style), n(width), n(height))
	}
	y := gap / 2
	for i := range f.Panels {
		f.Panels[i].draw(p, y)
		y += f.Panels[i].height()
	}
	p.print(`</svg>`)
	if alone {
		p.print("\n")
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// escape makes text safe between tags and in quotes.
func escape(text string) string {
	var b strings.Builder
	// A strings.Builder does not fail.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// n prints a number of pixels.
func n(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (p *Panel) plot() float64 {
	if p.Height > 0 {
		return p.Height
	}
	return 170
}

// legend puts names into lines.
func (p *Panel) legend() [][]int {
	if !p.Legend {
		return nil
	}
	lines := [][]int{nil}
	x := left
	for i := range p.Series {
		w := p.Series[i].width()
		if x+w > width-right && x > left {
			lines, x = append(lines, nil), left
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], i)
		x += w
	}
	return lines
}

func (s *Series) width() float64 { return 30 + letter*float64(len([]rune(s.Name))) + 16 }

func (p *Panel) above() float64 {
	return titleLine + legendLine*float64(len(p.legend())) + labelLine
}

func (p *Panel) height() float64 { return p.above() + p.plot() + below + gap }

func (p *Panel) draw(out *printer, y float64) {
	out.print(`<text class="title" x="%s" y="%s">%s</text>`, n(left), n(y+15), escape(p.Title))
	for i, line := range p.legend() {
		x, mid := left, y+titleLine+legendLine*float64(i)+10
		for _, k := range line {
			s := &p.Series[k]
			switch s.Kind {
			case Area, Bars:
				out.print(`<rect x="%s" y="%s" width="22" height="9" fill="var(--c%d)" fill-opacity="0.75"/>`, n(x), n(mid-5), s.Color)
			default:
				out.print(`<path d="M%s %sh22" stroke="var(--c%d)" stroke-width="2"%s/>`, n(x), n(mid), s.Color, dash(s.Dashed))
				if s.Kind == Dots {
					out.print(`<circle cx="%s" cy="%s" r="3" fill="var(--c%d)"/>`, n(x+11), n(mid), s.Color)
				}
			}
			out.print(`<text x="%s" y="%s">%s</text>`, n(x+28), n(mid+4), escape(s.Name))
			x += s.width()
		}
	}
	top := y + p.above()
	bottom := top + p.plot()
	xs := scale{p.X, left, width - right}
	ys := scale{p.Y, bottom, top}
	out.print(`<text x="%s" y="%s">%s</text>`, n(left), n(top-9), escape(p.Y.Label))
	for _, v := range ticks(p.Y, 5) {
		at := n(ys.of(v))
		out.print(`<path class="grid" d="M%s %sH%s"/><text x="%s" y="%s" text-anchor="end">%s</text>`, n(left), at, n(width-right), n(left-7), n(ys.of(v)+4), Number(v))
	}
	for _, v := range ticks(p.X, 8) {
		x := xs.of(v)
		out.print(`<path class="axis" d="M%s %sv5"/><text x="%s" y="%s" text-anchor="middle">%s</text>`, n(x), n(bottom), n(x), n(bottom+18), Number(v))
	}
	for i := range p.Series {
		p.Series[i].draw(out, xs, ys)
	}
	out.print(`<path class="axis" d="M%s %sH%s"/>`, n(left), n(bottom), n(width-right))
	out.print(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, n((left+width-right)/2), n(bottom+37), escape(p.X.Label))
}

func dash(dashed bool) string {
	if dashed {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

func (s *Series) draw(out *printer, xs, ys scale) {
	var d strings.Builder
	base := ys.of(ys.Min)
	for i := range s.X {
		x, y := xs.of(s.X[i]), ys.of(s.Y[i])
		switch {
		case i == 0 && (s.Kind == Area || s.Kind == Bars):
			fmt.Fprintf(&d, "M%s %sV%s", n(x), n(base), n(y))
		case i == 0:
			fmt.Fprintf(&d, "M%s %s", n(x), n(y))
		case s.Kind == Steps || s.Kind == Bars:
			fmt.Fprintf(&d, "H%sV%s", n(x), n(y))
		default:
			fmt.Fprintf(&d, "L%s %s", n(x), n(y))
		}
	}
	switch s.Kind {
	case Area, Bars:
		fmt.Fprintf(&d, "V%sZ", n(base))
		out.print(`<path d="%s" fill="var(--c%d)" fill-opacity="0.75" stroke="var(--c%d)" stroke-width="0.7"/>`, d.String(), s.Color, s.Color)
	case Dots:
		out.print(`<path d="%s" fill="none" stroke="var(--c%d)" stroke-opacity="0.6"/>`, d.String(), s.Color)
		for i := range s.X {
			out.print(`<circle cx="%s" cy="%s" r="2.6" fill="var(--c%d)"/>`, n(xs.of(s.X[i])), n(ys.of(s.Y[i])), s.Color)
		}
	default:
		out.print(`<path d="%s" fill="none" stroke="var(--c%d)" stroke-width="2" stroke-linejoin="round"%s/>`, d.String(), s.Color, dash(s.Dashed))
	}
}

// A scale maps an axis to pixels.
type scale struct {
	Axis
	from, to float64
}

func (s scale) of(v float64) float64 {
	v = min(max(v, s.Min), s.Max)
	share := (v - s.Min) / (s.Max - s.Min)
	if s.Log {
		share = math.Log(v/s.Min) / math.Log(s.Max/s.Min)
	}
	return s.from + share*(s.to-s.from)
}

// ticks are round numbers in the range, about as many as wanted.
func ticks(a Axis, wanted float64) []float64 {
	var list []float64
	if !(a.Max > a.Min) {
		return list
	}
	if a.Log {
		steps := []float64{1, 2, 5}
		if math.Log10(a.Max/a.Min) > wanted/2 {
			steps = steps[:1]
		}
		for decade := math.Pow(10, math.Floor(math.Log10(a.Min))); decade <= a.Max; decade *= 10 {
			for _, s := range steps {
				if v := decade * s; v >= a.Min*(1-1e-9) && v <= a.Max*(1+1e-9) {
					list = append(list, v)
				}
			}
		}
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10((a.Max-a.Min)/wanted)))
	for _, s := range []float64{1, 2, 5, 10} {
		if (a.Max-a.Min)/(step*s) <= wanted {
			step *= s
			break
		}
	}
	for i := math.Ceil(a.Min/step - 1e-9); i*step <= a.Max*(1+1e-9); i++ {
		list = append(list, i*step+0) // and not -0
	}
	return list
}

// Round is the next number at or above x that makes a good end of an axis.
func Round(x float64) float64 {
	if x <= 0 {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for _, s := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if decade*s >= x*(1-1e-9) {
			return decade * s
		}
	}
	return decade * 10
}

// Number prints a number with thousands apart.
func Number(x float64) string {
	text := strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
	whole, fraction, dot := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + fraction
	}
	return whole
}
