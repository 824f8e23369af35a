package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/fleet"
	"stagger/host/telemetry"
)

// drifting is a core whose files change when it is told to.
type drifting struct {
	engine.Engine
	drift atomic.Int64
}

func (d *drifting) Call(ctx context.Context, in, out []byte) (uint32, []byte, error) {
	status, out, err := d.Engine.Call(ctx, in, out)
	n := d.drift.Load()
	if n == 0 || status != wire.StatusResponse || err != nil {
		return status, out, err
	}
	var r wire.Response
	if err := wire.DecodeResponse(string(out), &r); err != nil {
		return status, out, err
	}
	for i := range r.Audit {
		if r.Audit[i].Name == "hash" {
			r.Audit[i].Value = fmt.Sprintf("%016x", n)
		}
	}
	return status, wire.AppendResponse(nil, &r), nil
}

// edited is a store with a note in the tenant's document, as an operator's change.
type edited struct {
	exchange.Store
	blanks atomic.Int64
}

func (e *edited) Get(ctx context.Context, key string) (string, bool, error) {
	value, found, err := e.Store.Get(ctx, key)
	return value + strings.Repeat(" ", int(e.blanks.Load())), found, err
}

// kept is a sink that keeps what it gets.
type kept struct{ bytes.Buffer }

func (k *kept) Send(_ context.Context, lines []byte) error {
	k.Write(lines)
	return nil
}

// watching is a site with everything that watches it, and what a phone asks for.
func watching(t *testing.T) (core *drifting, store *edited, site Site, sink *kept, target string) {
	t.Helper()
	f, err := os.Open("../../testdata/fleets/demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	documents, err := fleet.Read("demo.jsonl", f, nil)
	if err != nil {
		t.Fatal(err)
	}
	master := strings.Repeat("k", 32)
	core, store, sink = &drifting{Engine: engine.NewNative(1)}, &edited{Store: documents}, new(kept)
	recorder, err := telemetry.Start(telemetry.Options{
		Sink: sink, Interval: time.Hour, Spool: filepath.Join(t.TempDir(), "spool"), SpoolLimit: telemetry.MinSpool,
		Buffer: telemetry.MinBuffer, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recorder.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	site = Site{Core: core, Store: store, Keys: []string{master}, PlainHTTP: []string{"demo"}, Stability: NewWatch(), Telemetry: recorder}
	site.Metrics = NewMetrics(core, []string{"config"})
	site.Metrics.WatchTelemetry(recorder)
	return core, store, site, sink, "/demo/" + provision.Token(master, "demo", "001565aabb01", 0) + "/001565aabb01.cfg"
}

// TestUnstable changes bytes by themselves, which is an alarm, and with their
// documents, which is not.
func TestUnstable(t *testing.T) {
	core, store, site, _, target := watching(t)
	r := run(t, site, Addresses{Admin: "127.0.0.1:0"})
	ask := func() { raw(t, r.phones, get(target, "")) }
	ask()
	ask()
	core.drift.Store(1)
	ask() // alarm
	ask()
	raw(t, r.phones, get(strings.Replace(target, "aabb01", "aabb77", 1), "")) // no file
	core.drift.Store(2)
	store.blanks.Store(1)
	ask()
	raw(t, r.phones, "HEAD "+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	core.drift.Store(3)
	ask() // alarm
	_, _, metrics := raw(t, r.admin, get("/metrics", ""))
	if !strings.Contains(metrics, "\nstagger_unstable_files_total 2\n") {
		t.Error("the metrics do not say 2")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	var unstable []int
	for i, line := range lines(t, r.logs) {
		if line["unstable"] == true && line["level"] == "ERROR" {
			unstable = append(unstable, i)
		}
	}
	if !slices.Equal(unstable, []int{2, 7}) {
		t.Errorf("requests %v", unstable)
	}
	alarms := regexp.MustCompile(`"level":"ERROR","msg":"a file changed and its documents did not[^"]*","tenant":"demo","mac":"001565aabb01","file":"config","documents":"[0-9a-f]{16}","hash":"0{15}[13]"`)
	if n := len(alarms.FindAllString(r.logs.String(), -1)); n != 2 {
		t.Errorf("%d alarms:\n%s", n, r.logs)
	}
}

// TestWatchForgets keeps the memory bounded, and of a fleet that fits every file.
func TestWatchForgets(t *testing.T) {
	const limit = 1000
	w := newWatch(limit)
	for round := range 4 {
		for n := range limit / 2 {
			if got := w.changed("demo", fmt.Sprintf("%012x", n), "config", "d", fmt.Sprint(round)); got != (round > 0) {
				t.Fatalf("round %d, device %d: %v", round, n, got)
			}
		}
	}
	// One more and the older half is forgotten next, unless it is asked for.
	w.changed("demo", "ffffffffffff", "config", "d", "b")
	if !w.changed("demo", "000000000000", "config", "d", "other") {
		t.Error("what is in the older half is forgotten already")
	}
	for n := range 20 * limit {
		w.changed("demo", fmt.Sprintf("%012x", n), "config", "d", "b")
		if w.size() > limit {
			t.Fatalf("%d files", w.size())
		}
	}
	// Names that are put together the same way are not the same.
	w = newWatch(limit)
	w.changed("a", "b", "c", "d", "1")
	for _, other := range [][3]string{{"a", "b", "x"}, {"a", "x", "c"}, {"x", "b", "c"}} {
		if w.changed(other[0], other[1], other[2], "d", "2") {
			t.Errorf("%q", other)
		}
	}
}

// TestTelemetryRecords wants the lines of the access log, byte for byte.
func TestTelemetryRecords(t *testing.T) {
	_, _, site, sink, target := watching(t)
	r := run(t, site, Addresses{Admin: "127.0.0.1:0"})
	for _, path := range []string{target, "/", "/demo/" + token + "/001565aabb01.cfg?SECRET", target} {
		raw(t, r.phones, get(path, "Authorization: Basic SECRET\r\n"))
	}
	if _, _, metrics := raw(t, r.admin, get("/metrics", "")); !strings.Contains(metrics, "\nstagger_telemetry_records_total 4\n") {
		t.Error("the metrics do not say 4")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := site.Telemetry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(r.logs.String()) {
		if strings.Contains(line, `"msg":"request"`) {
			want += line
		}
	}
	if got := sink.String(); got != want || strings.Count(got, "\n") != 4 {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestDashboard holds the dashboard to the metrics that there are.
func TestDashboard(t *testing.T) {
	_, _, site, _, target := watching(t)
	r := run(t, site, Addresses{Admin: "127.0.0.1:0"})
	raw(t, r.phones, get(target, ""))
	families, err := site.Metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]map[string]bool{}
	add := func(name string, list map[string]bool) { labels[name] = list }
	for _, family := range families {
		have := map[string]bool{"instance": true}
		for _, pair := range family.Metric[0].Label {
			have[pair.GetName()] = true
		}
		add(family.GetName(), have)
		if family.Metric[0].Histogram != nil {
			bucket := map[string]bool{"instance": true, "le": true}
			add(family.GetName()+"_bucket", bucket)
		}
	}
	data, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title      string
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct {
				Expr         string
				LegendFormat string
			}
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\b(stagger|go|process)_[a-z_]+\b`)
	grouped := regexp.MustCompile(`by \(([a-z, ]+)\)`)
	word := regexp.MustCompile(`([a-z]+)=~?"`)
	shown, ids := map[string]bool{}, map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || panel.GridPos.X+panel.GridPos.W > 24 || panel.GridPos.W == 0 || panel.GridPos.H == 0 {
			t.Errorf("panel %q: id or place", panel.Title)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			names := name.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("panel %q: no metric in %q", panel.Title, target.Expr)
			}
			for _, n := range names {
				if labels[n] == nil {
					t.Errorf("panel %q: there is no metric %s", panel.Title, n)
					continue
				}
				shown[strings.TrimSuffix(n, "_bucket")] = true
				var used []string
				for _, m := range grouped.FindAllStringSubmatch(target.Expr, -1) {
					used = append(used, strings.Split(m[1], ", ")...)
				}
				for _, m := range word.FindAllStringSubmatch(target.Expr, -1) {
					used = append(used, m[1])
				}
				for _, label := range used {
					if !labels[n][label] {
						t.Errorf("panel %q: %s has no label %q", panel.Title, n, label)
					}
				}
			}
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || strings.Count(target.Expr, "{") != strings.Count(target.Expr, "}") {
				t.Errorf("panel %q: %q", panel.Title, target.Expr)
			}
			for _, m := range regexp.MustCompile(`outcome=~?"([^"]+)"`).FindAllStringSubmatch(target.Expr, -1) {
				for outcome := range strings.SplitSeq(m[1], "|") {
					if !outcomes[outcome] {
						t.Errorf("panel %q: there is no outcome %q", panel.Title, outcome)
					}
				}
			}
		}
	}
	// What is measured is shown.
	for n := range labels {
		if strings.HasPrefix(n, "stagger_") && !strings.HasSuffix(n, "_bucket") && !shown[n] {
			t.Errorf("%s is on no panel", n)
		}
	}
}
