package checkins

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"

	"stagger/host/accesslog"
)

// TestPage wants a page that stands by itself, with all plots and tables, and every
// text on it as text. With PAGE=FILE it writes the page, to be looked at.
func TestPage(t *testing.T) {
	m := story()
	m.add(1, 400000, accesslog.Record{Tenant: "<b>", Vendor: "a & b", Outcome: "ok", Checkin: 60})
	r := m.analysis(Options{Known: map[accesslog.MAC]uint32{0xc074ad000001: 3600}}).Report()
	var b strings.Builder
	if err := r.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if file := os.Getenv("PAGE"); file != "" {
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
	if count["svg"] != 3 || count["script"] != 0 || count["b"] != 0 || count["h1"] != 1 || count["table"] != 9 || count["section"] != 12 {
		t.Errorf("%v", count)
	}
	for _, want := range []string{
		"25,530 check-ins of 25,359 devices in 24 h", "ALARM: reboot loops", "ALARM: files that change by themselves", "check-ins per second", "time after 2026-11-30 00:00:00, hours",
		"independent arrivals", "check-ins in a second", "1,204 in 5 s from 2026-11-30 09:14:03 on", "check-ins per second", "one-site", "yealink 98%", "99%, 60 min earlier", "<b>", "a & b", "c074ad000001",
	} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has what it must not have")
	}
}

// TestSmallPages has what leaves plots out.
func TestSmallPages(t *testing.T) {
	one := newLog(0)
	one.add(5, 1, request)
	hour := newLog(0)
	hour.independent(100, 0, 3600)
	refused := newLog(0)
	refused.add(5, 1, accesslog.Record{Status: 404})
	for name, c := range map[string]struct {
		log  *made
		svgs int
	}{"nothing": {newLog(0), 0}, "one": {one, 1}, "an hour": {hour, 2}, "refused": {refused, 0}} {
		var b strings.Builder
		if err := c.log.report().WritePage(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "<svg"); got != c.svgs || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %d pictures, want %d", name, got, c.svgs)
		}
	}
}
