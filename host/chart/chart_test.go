package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		axis   Axis
		wanted float64
		want   string
	}{
		{Axis{Max: 10}, 5, "[0 2 4 6 8 10]"},
		{Axis{Max: 4000}, 5, "[0 1000 2000 3000 4000]"},
		{Axis{Min: 3001, Max: 3600}, 8, "[3100 3200 3300 3400 3500 3600]"},
		{Axis{Min: 1, Max: 46, Log: true}, 8, "[1 2 5 10 20]"},
		{Axis{Min: 10, Max: 50000, Log: true}, 5, "[10 100 1000 10000]"},
		{Axis{Min: 5, Max: 5}, 5, "[]"},
	} {
		got := ticks(test.axis, test.wanted)
		if s := fmt.Sprint(got); s != test.want {
			t.Errorf("%+v: %s, want %s", test.axis, s, test.want)
		}
		for _, v := range got {
			if v == 0 && math.Signbit(v) {
				t.Errorf("%+v: minus zero", test.axis)
			}
		}
	}
}

func TestRound(t *testing.T) {
	for x, want := range map[float64]float64{0: 1, 1: 1, 3455: 4000, 205: 250, 99: 100, 0.07: 0.08, 1000: 1000} {
		if got := Round(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g: %g, want %g", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 1234567: "1,234,567", 0.5: "0.5", -1000: "-1,000", 999: "999"} {
		if got := Number(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}

// TestSVG wants well-formed pictures with every text in them as text, escaped,
// nothing outside of the picture and nothing from elsewhere.
func TestSVG(t *testing.T) {
	f := Figure{Title: `a "b" <c>`, Description: "d & e", Panels: []Panel{
		{Title: "<one>", X: Axis{Label: "x, hours", Max: 10}, Y: Axis{Label: "y/s", Max: 5}, Series: []Series{{Kind: Area, X: []float64{0, 5, 10}, Y: []float64{0, 9, 1}}}},
		{Title: "two", X: Axis{Label: "k", Min: 1, Max: 100, Log: true}, Y: Axis{Label: "z", Min: 1, Max: 100, Log: true}, Legend: true, Series: []Series{
			{Name: "dots & lines", Kind: Dots, X: []float64{1, 10}, Y: []float64{0, 100}, Color: Pink},
			{Name: strings.Repeat("long ", 20), Dashed: true, X: []float64{1, 100}, Y: []float64{2, 2}, Color: Grey},
			{Name: "steps", Kind: Steps, X: []float64{1, 100}, Y: []float64{2, 3}},
			{Name: "bars", Kind: Bars, X: []float64{1, 50, 100}, Y: []float64{2, 3, 3}},
		}},
	}}
	for _, alone := range []bool{true, false} {
		var b strings.Builder
		if err := f.WriteTo(&b, alone); err != nil {
			t.Fatal(err)
		}
		var texts []string
		decoder := xml.NewDecoder(strings.NewReader(b.String()))
		name := ""
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
			switch token := token.(type) {
			case xml.StartElement:
				name = token.Name.Local
				for _, a := range token.Attr {
					if a.Name.Local == "x" || a.Name.Local == "cx" {
						var x float64
						if _, err := fmt.Sscan(a.Value, &x); err != nil || x < 0 || x > width {
							t.Errorf("<%s> is at %s", name, a.Value)
						}
					}
				}
			case xml.CharData:
				if name == "text" || name == "title" || name == "desc" {
					texts = append(texts, string(token))
				}
			case xml.EndElement:
				name = ""
			}
		}
		all := "\n" + strings.Join(texts, "\n") + "\n"
		for _, want := range []string{`a "b" <c>`, "d & e", "<one>", "x, hours", "y/s", "dots & lines", "k", "100", "bars"} {
			if !strings.Contains(all, "\n"+want+"\n") {
				t.Errorf("alone %v: no text %q", alone, want)
			}
		}
		if strings.Contains(all, "\ny/s\ny/s") || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Error(b.String())
		}
		if strings.Contains(b.String(), "<style>") != alone || strings.Contains(b.String(), "prefers-color-scheme:dark") != alone {
			t.Errorf("alone %v: the style is in the wrong one", alone)
		}
		if rest := strings.Replace(b.String(), "http://www.w3.org/2000/svg", "", 1); strings.Contains(rest, "http") || strings.Contains(rest, "script") || strings.Contains(rest, "href") {
			t.Error("something from elsewhere")
		}
	}
}

// TestWriteFails wants the error of the writer.
func TestWriteFails(t *testing.T) {
	f := Figure{Panels: []Panel{{X: Axis{Max: 1}, Y: Axis{Max: 1}}}}
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteTo(w, true); err != io.ErrClosedPipe {
		t.Error(err)
	}
}
