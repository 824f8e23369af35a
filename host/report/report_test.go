package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"stagger/edge/spread"
	"stagger/host/herd"
)

// sample is a small report of every scheme.
func sample(t *testing.T, interval, window uint64, schemes ...string) *Report {
	t.Helper()
	timer := spread.Timer{Interval: interval, Window: window, Floor: 60, Unit: 1}
	h := &herd.Herd{Interval: float64(interval), Window: float64(window), Values: make([]float64, 3000)}
	for i := range h.Values {
		h.Values[i] = float64(timer.For(fmt.Sprintf("001565%06x", i), "register.1").Seconds)
	}
	r := &Report{
		Title: "3,000 phones <b>", Facts: [][2]string{{"interval I", "3,600 s"}, {"window & more", "600 s"}}, Interval: h.Interval, Window: h.Window,
		Values: h.Values, Unit: 1, Linear: window > 0, Table: [][]string{{"scheme", "repeat 1"}, {"fixed", "100"}},
	}
	for _, text := range schemes {
		s, err := herd.ParseScheme(text)
		if err != nil {
			t.Fatal(err)
		}
		o := herd.Reference
		o.Periods, o.Seed = 8, 1
		run, err := h.Run(t.Context(), herd.Event{Within: 30}, s, o)
		if err != nil {
			t.Fatal(err)
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

// TestPage wants a page that stands by itself, with all pictures, all of its
// texts as text, and both colour schemes.
func TestPage(t *testing.T) {
	var b strings.Builder
	if err := sample(t, 3600, 600, "fixed", "spread", "registrar", "reboot").WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	count := map[string]int{}
	var texts strings.Builder
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			texts.WriteString(string(token) + "\n")
		case xml.StartElement:
			count[token.Name.Local]++
			for _, a := range token.Attr {
				if name := a.Name.Local; (name == "src" || name == "href") && !strings.HasPrefix(a.Value, "data:") || strings.HasPrefix(name, "on") {
					t.Errorf("<%s> has %s=%q", token.Name.Local, name, a.Value)
				}
			}
		}
	}
	if count["svg"] != 5 || count["script"] != 0 || count["b"] != 0 || count["h1"] != 1 || count["table"] != 1 {
		t.Errorf("%v", count)
	}
	for _, want := range []string{
		"3,000 phones <b>", "window & more", "Before: one interval for all", "After: every phone has its own", "time after the start, hours", "requests per second",
		"repeat (1 is the first after the start)", "M/(kW), until rounds meet", "an even load still peaks at", "value, seconds", "phones for each 10 seconds",
		"check-ins per second", "each phone reboots 9", "time after the start, minutes", "expected: the sum of M/(kW)",
	} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "ZgotmplZ") || !strings.Contains(page, "prefers-color-scheme:dark") {
		t.Error("the page has what it must not have, or lacks the dark colours")
	}
	var again strings.Builder
	if err := sample(t, 3600, 600, "fixed", "spread", "registrar", "reboot").WritePage(&again); err != nil || again.String() != page {
		t.Error("two pages of one simulation differ")
	}
}

// TestSmall has what leaves plots out.
func TestSmall(t *testing.T) {
	for name, test := range map[string]struct {
		report *Report
		svgs   int
	}{
		"fixed alone":   {sample(t, 3600, 0, "fixed"), 2},
		"nothing known": {sample(t, 3600, 600, "redraw"), 2},
		"long":          {sample(t, 86400, 14400, "fixed", "spread"), 4},
	} {
		var b strings.Builder
		if err := test.report.WritePage(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "<svg"); got != test.svgs || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %d pictures, want %d", name, got, test.svgs)
		}
	}
}

func TestUnit(t *testing.T) {
	for seconds, want := range map[float64]string{60: "seconds", 3600: "minutes", 6 * 3600: "hours", 6 * 86400: "days"} {
		if _, name := Unit(seconds); name != want {
			t.Errorf("%g: %s, want %s", seconds, name, want)
		}
	}
}
