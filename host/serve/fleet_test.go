package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagger/edge/provision"
	"stagger/host/engine"
	"stagger/host/fleet"
)

// numbered is a fleet whose documents all have one number in them.
func numbered(n int) string {
	return fmt.Sprintf(`{"tenant":"demo","url":"https://p.example","vendor":"yealink","model":"T31G","line":{"server":"n%d.example"}}
{"device":"001565aabb01","tenant":"demo","lines":[{"user":"n%d","password":"s3cret"}]}
`, n, n)
}

// tracked counts what is open, and finds use after Close.
type tracked struct {
	*fleet.Store
	open   *atomic.Int64
	closed atomic.Bool
	// between, unless nil, is called behind the document of a tenant.
	between func()
}

func (d *tracked) Get(ctx context.Context, key string) (string, bool, error) {
	if d.closed.Load() {
		return "", false, errors.New("closed")
	}
	if d.between != nil && strings.HasPrefix(key, "tenant:") {
		defer d.between()
	}
	return d.Store.Get(ctx, key)
}

func (d *tracked) Close() error {
	d.closed.Store(true)
	d.open.Add(-1)
	return d.Store.Close()
}

// While the fleet is read again and again, every request gets a file, and no file is
// half of one fleet and half of another.
func TestReloadUnderLoad(t *testing.T) {
	master := strings.Repeat("k", 32)
	var n, open atomic.Int64
	f, err := NewFleet(FleetOptions{Log: slog.New(slog.DiscardHandler), Load: func() (Documents, error) {
		store, err := fleet.Read("f", strings.NewReader(numbered(int(n.Add(1)))), nil)
		open.Add(1)
		return &tracked{Store: store, open: &open}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	core := engine.NewNative(4)
	defer core.Close(context.Background())
	metrics := NewMetrics(core, []string{"config"})
	metrics.WatchFleet(f)
	server := httptest.NewServer(Site{Core: core, Store: f, Keys: []string{master}, PlainHTTP: []string{"demo"}, Log: slog.New(slog.DiscardHandler)}.Handler())
	defer server.Close()
	url := server.URL + "/demo/" + provision.Token(master, "demo", "001565aabb01", 0) + "/001565aabb01.cfg"

	const clients, requests, reloads = 4, 100, 100
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range requests {
				response, err := http.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				_, rest, _ := strings.Cut(string(body), "account.1.user_name = n")
				number, _, _ := strings.Cut(rest, "\n")
				if err != nil || response.StatusCode != 200 || number == "" || !strings.Contains(string(body), "account.1.sip_server.1.address = n"+number+".example\n") {
					t.Errorf("%d, %v, user n%s:\n%s", response.StatusCode, err, number, body)
					return
				}
			}
		})
	}
	wait.Go(func() {
		for range reloads {
			if err := f.Reload(); err != nil {
				t.Error(err)
			}
		}
	})
	wait.Wait()
	if open.Load() != 1 {
		t.Errorf("%d fleets are open", open.Load())
	}
	if s := f.State(); s.Loads != reloads+1 || s.Refused != 0 || s.Devices != 1 {
		t.Errorf("%+v", s)
	}
	if err := f.Close(); err != nil || open.Load() != 0 {
		t.Errorf("%v, %d fleets are open", err, open.Load())
	}
}

// A fleet that changes between the two documents of a request changes nothing for it.
func TestRequestHasOneFleet(t *testing.T) {
	master := strings.Repeat("k", 32)
	var n, open atomic.Int64
	var f *Fleet
	reloaded := make(chan error, 10)
	between := func() {
		loads := f.State().Loads
		// It ends when the request has ended.
		go func() { reloaded <- f.Reload() }()
		for f.State().Loads == loads {
			runtime.Gosched()
		}
	}
	f, err := NewFleet(FleetOptions{Log: slog.New(slog.DiscardHandler), Load: func() (Documents, error) {
		store, err := fleet.Read("f", strings.NewReader(numbered(int(n.Add(1)))), nil)
		open.Add(1)
		return &tracked{Store: store, open: &open, between: between}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	core := engine.NewNative(1)
	defer core.Close(context.Background())
	handler := Site{Core: core, Store: f, Keys: []string{master}, PlainHTTP: []string{"demo"}, Log: slog.New(slog.DiscardHandler)}.Handler()
	for number := range 5 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/demo/"+provision.Token(master, "demo", "001565aabb01", 0)+"/001565aabb01.cfg", nil))
		for _, want := range []string{fmt.Sprintf("account.1.user_name = n%d\n", number+1), fmt.Sprintf("account.1.sip_server.1.address = n%d.example\n", number+1)} {
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Fatalf("%d, no %s in\n%s", w.Code, want, w.Body)
			}
		}
		if err := <-reloaded; err != nil || open.Load() != 1 {
			t.Fatalf("%v, %d fleets are open", err, open.Load())
		}
	}
}

// A request that is at work keeps its documents open, and what comes after it does
// not wait for it.
func TestReloadWaitsForRequests(t *testing.T) {
	var n, open atomic.Int64
	f, err := NewFleet(FleetOptions{Log: slog.New(slog.DiscardHandler), Load: func() (Documents, error) {
		store, err := fleet.Read("f", strings.NewReader(numbered(int(n.Add(1)))), nil)
		open.Add(1)
		return &tracked{Store: store, open: &open}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	store, release := f.pin()
	done := make(chan error)
	go func() { done <- f.Reload() }()
	// As soon as the new one is current, it is what others get.
	for f.State().Loads < 2 {
		runtime.Gosched()
	}
	if text, _, err := f.Get(t.Context(), "tenant:demo"); err != nil || !strings.Contains(text, "n2.example") {
		t.Errorf("%s %v", text, err)
	}
	if text, _, err := store.Get(t.Context(), "tenant:demo"); err != nil || !strings.Contains(text, "n1.example") {
		t.Errorf("%s %v", text, err)
	}
	select {
	case <-done:
		t.Error("it is done while a request has the old documents")
	default:
	}
	release()
	if err := <-done; err != nil || open.Load() != 1 {
		t.Errorf("%v, %d are open", err, open.Load())
	}
}

// on is a fleet in a file, and how often it was read.
type on struct {
	*Fleet
	path  string
	reads int
	logs  strings.Builder
}

func newOn(t *testing.T) *on {
	o := &on{path: filepath.Join(t.TempDir(), "fleet.jsonl")}
	o.write(t, numbered(1))
	var err error
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	o.Fleet, err = NewFleet(FleetOptions{
		Path: o.path, Keys: []string{"key"}, Log: slog.New(slog.NewTextHandler(&o.logs, nil)), Now: func() time.Time { return now },
		Load: func() (Documents, error) {
			o.reads++
			return fleet.Open(o.path, nil, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *on) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(o.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (o *on) serves(t *testing.T, n int) {
	t.Helper()
	if text, found, err := o.Get(t.Context(), "tenant:demo"); !found || err != nil || !strings.Contains(text, fmt.Sprintf("n%d.example", n)) {
		t.Errorf("%s %v, want number %d", text, err, n)
	}
}

// A file is read when it has changed and the change is over, once.
func TestLook(t *testing.T) {
	o := newOn(t)
	seen := o.tried
	look := func(reads, n int) {
		t.Helper()
		seen = o.look(seen)
		if o.reads != reads {
			t.Errorf("read %d times, want %d", o.reads, reads)
		}
		o.serves(t, n)
	}
	look(1, 1)
	look(1, 1)
	// As editors do it, by rename.
	other := o.path + "~"
	if err := os.WriteFile(other, []byte(numbered(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, o.path); err != nil {
		t.Fatal(err)
	}
	look(1, 1)
	look(2, 2)
	look(2, 2)
	// Somebody writes for a while.
	text := numbered(30)
	o.write(t, text[:10])
	look(2, 2)
	o.write(t, text[:100])
	look(2, 2)
	o.write(t, text)
	look(2, 2)
	look(3, 30)
	// Another time is another file, although the size is the same.
	o.write(t, numbered(31))
	if err := os.Chtimes(o.path, time.Time{}, time.Unix(1_900_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	look(3, 30)
	look(4, 31)
	// What is refused is not tried again and again.
	o.write(t, "{\"SECRET\n")
	look(4, 31)
	look(5, 31)
	look(5, 31)
	o.write(t, "")
	look(5, 31)
	look(6, 31)
	look(6, 31)
	// Gone, and there again.
	if err := os.Remove(o.path); err != nil {
		t.Fatal(err)
	}
	look(6, 31)
	look(7, 31)
	look(7, 31)
	o.write(t, numbered(32))
	look(7, 31)
	look(8, 32)
	logs := o.logs.String()
	for _, want := range []string{"fleet.jsonl:1: not JSON", "the fleet has no tenant", "no such file", `msg="fleet loaded" version=`, "tenants=1 devices=1"} {
		if !strings.Contains(logs, want) {
			t.Errorf("no %s in:\n%s", want, logs)
		}
	}
	if strings.Contains(logs, "SECRET") {
		t.Error("a value is in the log")
	}
}

func TestWatch(t *testing.T) {
	o := newOn(t)
	again, tick := make(chan os.Signal), make(chan time.Time)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		o.Watch(ctx, again, tick)
		close(done)
	}()
	// A channel takes the next event when the one before is over.
	again <- os.Interrupt
	again <- os.Interrupt
	o.write(t, numbered(2))
	tick <- time.Time{}
	tick <- time.Time{}
	tick <- time.Time{}
	cancel()
	<-done
	o.serves(t, 2)
	if s := o.State(); s.Loads < 3 || s.Loads > 4 {
		t.Errorf("%+v", s)
	}
}

// The operator sees what is served, and that it is not what is in the file.
func TestFleetIsShown(t *testing.T) {
	o := newOn(t)
	core := &stub{answer: plain}
	metrics := NewMetrics(core, nil)
	metrics.WatchFleet(o.Fleet)
	admin := Site{Core: core, Store: o.Fleet, Keys: []string{"key"}, Metrics: metrics, Log: slog.New(slog.DiscardHandler)}.Admin()
	get := func(path string) string {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	first := o.State().Version
	if len(first) != 16 {
		t.Errorf("version %q", first)
	}
	if got, want := get("/-/healthz"), "ok\nfleet "+first+" loaded 2026-12-01T00:00:00Z: 1 tenants, 1 devices\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o.write(t, numbered(2)+"x")
	if o.Reload() == nil {
		t.Error("a bad file is taken")
	}
	if got := get("/-/healthz"); !strings.Contains(got, first) || !strings.HasSuffix(got, "refused 2026-12-01T00:00:00Z: what is in the file now is not served\n") {
		t.Errorf("%q", got)
	}
	for _, want := range []string{
		`stagger_fleet_info{version="` + first + `"} 1`, `stagger_fleet_loads_total{result="ok"} 1`, `stagger_fleet_loads_total{result="refused"} 1`,
		"stagger_fleet_stale 1", "stagger_fleet_tenants 1", "stagger_fleet_devices 1", "stagger_fleet_loaded_timestamp_seconds 1.7960",
	} {
		if got := get("/metrics"); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	o.write(t, numbered(2))
	if err := o.Reload(); err != nil {
		t.Fatal(err)
	}
	if s := o.State(); s.Version == first || !s.Failed.IsZero() || !strings.Contains(get("/metrics"), "stagger_fleet_stale 0") {
		t.Errorf("%+v", s)
	}
	// The same documents are the same version, under the same key.
	o.write(t, numbered(1))
	if err := o.Reload(); err != nil || o.State().Version != first {
		t.Errorf("%v, %s, want %s", err, o.State().Version, first)
	}
	if keyed([]string{"other"}, "x") == keyed([]string{"key"}, "x") || keyed(nil, "x") != "" || keyed([]string{"key"}, "") != "" {
		t.Error("the key does not matter")
	}
}

func TestManyErrorsAreCut(t *testing.T) {
	o := newOn(t)
	o.write(t, strings.Repeat("x\n", 50))
	if o.Reload() == nil || strings.Count(o.logs.String(), "not JSON") != maxLogged || !strings.Contains(o.logs.String(), "more=30") {
		t.Errorf("%s", o.logs.String())
	}
}

// Without a fleet at the start there is no server.
func TestNoFleet(t *testing.T) {
	if _, err := NewFleet(FleetOptions{Load: func() (Documents, error) { return nil, errors.New("no") }}); err == nil {
		t.Error("a fleet that could not be read")
	}
}
