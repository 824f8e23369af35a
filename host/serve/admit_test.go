package serve

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagger/edge/wire"
	"stagger/host/drain"
	"stagger/host/fleet"
	"stagger/host/plan"
)

// clock is a clock that the test sets, so that minutes pass in no time.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(1_700_000_000+c.seconds.Load(), 0) }

// target is what phone number i of a tenant asks for.
func target(tenant string, i int) string {
	return fmt.Sprintf("/%s/kaaa%026d/001565%06x.cfg", tenant, i, i)
}

// drained lets phones come to a server over loopback, on some connections, each
// when it was told to, until all are served. It returns the second of the last, the
// requests and the most in one second after the first.
func drained(t *testing.T, address string, c *clock, phones int) (last, requests, peak int) {
	t.Helper()
	const connections = 8
	due := map[int][]int{}
	for i := range phones {
		due[0] = append(due[0], i)
	}
	type connection struct {
		net.Conn
		in *bufio.Reader
	}
	var pool [connections]connection
	for i := range pool {
		conn, err := net.DialTimeout("tcp", address, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		pool[i] = connection{conn, bufio.NewReader(conn)}
	}
	served := 0
	for now := 0; served < phones; now++ {
		if now > 100000 {
			t.Fatalf("%d of %d are served", served, phones)
		}
		c.seconds.Store(int64(now))
		come := due[now]
		delete(due, now)
		requests += len(come)
		if now > 0 {
			peak = max(peak, len(come))
		}
		var mu sync.Mutex
		var group sync.WaitGroup
		for w := range min(connections, len(come)) {
			group.Go(func() {
				for i := w; i < len(come); i += connections {
					status, after, err := ask(pool[w].Conn, pool[w].in, target("demo", come[i]))
					mu.Lock()
					switch {
					case err != nil:
						t.Error(err)
					case status == 200:
						served++
						last = now
					case status == 503 && after > 0:
						due[now+after] = append(due[now+after], come[i])
					default:
						t.Errorf("status %d, retry-after %d", status, after)
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	return last, requests, peak
}

// ask makes one request on a connection that stays open.
func ask(conn net.Conn, in *bufio.Reader, target string) (status, after int, err error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, 0, err
	}
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		return 0, 0, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, 0, err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case first:
			status, err = strconv.Atoi(line[len("HTTP/1.1 "):len("HTTP/1.1 200")])
		case strings.EqualFold(name, "content-length"):
			length, err = strconv.Atoi(value)
		case strings.EqualFold(name, "retry-after"):
			after, err = strconv.Atoi(value)
		case name == "":
			_, err = in.Discard(length)
			return status, after, err
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// quiet answers every request alike, and remembers none of them.
func quiet() *stub {
	return &stub{answer: func(r *wire.Request) (wire.Response, error) { return plain(r) }}
}

// TestAdmissionDrains is a load test over loopback: phones that all come at once
// are served as "stagger drain" predicts. Time is the test's own.
func TestAdmissionDrains(t *testing.T) {
	if testing.Short() {
		t.Skip("two requests of each of many phones")
	}
	const rate = 200
	predicted, err := drain.Queue{Backlog: loaded, Headroom: rate, Retry: 30, Slots: plan.Mean(rate, slotChance)}.Compare()
	if err != nil {
		t.Fatal(err)
	}
	want := predicted[slices.IndexFunc(predicted, func(r drain.Result) bool { return r.Strategy == "slots" })]
	c := new(clock)
	r := run(t, Site{Core: quiet(), Keys: []string{"key"}, Now: c.now, Admit: NewAdmission(rate, 0)}, Addresses{})
	last, requests, peak := drained(t, r.phones, c, loaded)
	t.Logf("%d phones: the last after %d s, %d requests, %d in the fullest second; predicted %+v", loaded, last, requests, peak, want)
	if last < want.Last-1 || last > want.Last+1 || peak > want.Peak+1 || math.Abs(float64(requests)/loaded-want.Attempts) > 0.01 {
		t.Errorf("the last after %d s, %d requests, %d in the fullest second; predicted %+v", last, requests, peak, want)
	}
}

// TestAdmissionBelow: as many as the rate come, second by second, and nobody is
// refused.
func TestAdmissionBelow(t *testing.T) {
	c := new(clock)
	site := Site{Core: quiet(), Keys: []string{"key"}, Store: &fleet.Store{}, Now: c.now, Admit: NewAdmission(50, 0), Log: slog.New(slog.DiscardHandler)}
	handler := site.Handler()
	for now := range 100 {
		c.seconds.Store(int64(now))
		for i := range 50 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", target("demo", now*50+i), nil)
			if handler.ServeHTTP(w, r); w.Code != 200 {
				t.Fatalf("second %d: phone %d gets %d", now, i, w.Code)
			}
		}
	}
}

// TestAdmissionAnswer has the refusal itself: complete, the same for everybody,
// without the core, and no error in the log.
func TestAdmissionAnswer(t *testing.T) {
	c := new(clock)
	core := quiet()
	admission := NewAdmission(1, 0)
	metrics := NewMetrics(core, nil)
	metrics.WatchAdmission(admission, c.now)
	r := run(t, Site{Core: core, Keys: []string{"key"}, Now: c.now, Admit: admission, Metrics: metrics}, Addresses{Admin: "127.0.0.1:0"})
	if status, _, _ := raw(t, r.phones, get(target("demo", 1), "")); status != "200 OK" {
		t.Fatal(status)
	}
	for _, path := range []string{target("demo", 2), target("nobody", 3), "/", "//", "/x"} {
		status, header, body := raw(t, r.phones, get(path, ""))
		after, err := strconv.Atoi(header.Get("Retry-After"))
		if status != "503 Service Unavailable" || body != "later\n" || err != nil || after < 1 || after > 10 {
			t.Errorf("%s: %s, %v, %q", path, status, header, body)
		}
		if header.Get("Cache-Control") != "no-store, no-transform" || header.Get("Content-Length") != "6" {
			t.Errorf("%s: %v", path, header)
		}
	}
	if status, header, body := raw(t, r.phones, strings.Replace(get(target("demo", 4), ""), "GET", "HEAD", 1)); status != "503 Service Unavailable" || body != "" || header.Get("Content-Length") != "6" {
		t.Errorf("HEAD: %s, %v, %q", status, header, body)
	}
	// The phone that was let in gets its other files.
	if status, _, _ := raw(t, r.phones, get(strings.Replace(target("demo", 1), ".cfg", ".boot", 1), "")); status != "200 OK" {
		t.Errorf("the second file: %s", status)
	}
	if core.calls() != 2 {
		t.Errorf("the core was called %d times", core.calls())
	}
	_, _, text := raw(t, r.admin, get("/metrics", ""))
	for _, want := range []string{`stagger_requests_total{file="none",outcome="later"} 6`, "stagger_admission_tokens 0", "stagger_admission_queue_seconds "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if log := r.logs.String(); strings.Contains(log, "ERROR") || !strings.Contains(log, `"outcome":"later","after":"`) || strings.Contains(log, "kaaa0") {
		t.Error(log)
	}
}

// TestAdmissionFair: a tenant with few phones does not wait for one with many.
func TestAdmissionFair(t *testing.T) {
	c := new(clock)
	site := Site{Core: quiet(), Keys: []string{"key"}, Store: &fleet.Store{}, Now: c.now, Admit: NewAdmission(100, 0), Log: slog.New(slog.DiscardHandler)}
	handler := site.Handler()
	due := map[int][]string{}
	for i := range 5000 {
		due[0] = append(due[0], target("large", i))
		if i < 200 {
			due[0] = append(due[0], target("small", i))
		}
	}
	served := map[string]int{}
	for now := 0; len(due) > 0; now++ {
		c.seconds.Store(int64(now))
		for _, path := range due[now] {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code == 200 {
				tenant, _, _ := strings.Cut(path[1:], "/")
				served[tenant] = now
				continue
			}
			after, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if err != nil {
				t.Fatal(err)
			}
			due[now+after] = append(due[now+after], path)
		}
		delete(due, now)
	}
	if served["small"] > 12 || served["large"] > 100 {
		t.Errorf("the last at %v", served)
	}
}
