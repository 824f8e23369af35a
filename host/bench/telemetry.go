package main

import (
	"bytes"
	"context"
	"crypto/tls"
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
	"syscall"
	"time"

	"stagger/edge/provision"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/serve"
	"stagger/host/telemetry"
)

// block is how many requests are answered in a turn.
const block = 5_000

// measureTelemetry answers n requests with telemetry and as many without, as fast as
// all processors can, in turns, and prints what telemetry costs: the time that the
// requests took, and what they took of the processors, which does not depend on who
// else is at work. Its own work, writing, sending and a sink that reads, falls into
// its turns: the next one begins when the spool is empty.
func measureTelemetry(n int) error {
	store, err := fleet.Open("testdata/bench/fleet.jsonl", nil, nil)
	if err != nil {
		return err
	}
	module, err := os.ReadFile("build/out/edge.wasm")
	if err != nil {
		return fmt.Errorf("%w (make wasm builds it)", err)
	}
	core, err := engine.NewWasm(context.Background(), module, engine.WasmOptions{})
	if err != nil {
		return err
	}
	defer core.Close(context.Background())
	folder, err := os.MkdirTemp("", "stagger-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	var received atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			received.Add(int64(bytes.Count(body, []byte("\n"))))
		}
	}))
	defer sink.Close()
	to, err := telemetry.ParseURL(sink.URL)
	if err != nil {
		return err
	}
	const buffer = 8 << 20
	recorder, err := telemetry.Start(telemetry.Options{
		Sink: telemetry.NewNDJSON(to, nil), Interval: time.Minute, Spool: filepath.Join(folder, "spool"), SpoolLimit: 64 << 20,
		Buffer: buffer, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	key := strings.Repeat("k", provision.MinKey)
	site := serve.Site{Core: core, Store: store, Keys: []string{key}, Log: slog.New(slog.NewJSONHandler(io.Discard, nil))}
	site.Metrics = serve.NewMetrics(core, []string{"config"})
	site.Stability = serve.NewWatch()
	var without, with side
	without.handler = site.Handler()
	site.Telemetry = recorder
	with.handler = site.Handler()
	target := "/bench/" + provision.Token(key, "bench", mac, 0) + "/" + mac + ".cfg"
	fmt.Printf("%12s  %16s  %16s  %14s  %14s\n", "records", "with/without", "of processors", "us a request", "buffer KiB")
	for done := -block; done < n; done += block { // the first turns warm up
		for _, s := range []*side{&without, &with} {
			runtime.GC()
			if err := s.turn(target, func() bool { return recorder.Stats().Spooled > 0 }); err != nil {
				return err
			}
		}
		if done < 0 {
			without.time, without.cpu, with.time, with.cpu = nil, nil, nil, nil
		}
		if turns := len(with.time); turns > 0 && turns%max(n/block/10, 1) == 0 {
			fmt.Printf("%12d  %16.3f  %16.3f  %14.1f  %14d\n", turns*block, ratio(with.time, without.time), ratio(with.cpu, without.cpu),
				median(with.cpu), recorder.Stats().BufferBytes>>10)
		}
	}
	if err := recorder.Close(context.Background()); err != nil {
		return err
	}
	s := recorder.Stats()
	fmt.Printf("%d records were made, %d reached the sink, %d were lost; the buffer has %d KiB at most\n",
		s.Recorded, received.Load(), s.NoRoom+s.Displaced+s.Refused, buffer>>10)
	if uint64(received.Load())+s.NoRoom+s.Displaced+s.Refused != s.Recorded {
		return fmt.Errorf("the sink has %d records", received.Load())
	}
	return nil
}

// side is a handler, and what its turns took: microseconds a request.
type side struct {
	handler   http.Handler
	time, cpu []float64
}

// turn answers a block of requests, and waits while busy.
func (s *side) turn(target string, busy func() bool) error {
	start, before := time.Now(), processorTime()
	if err := answerAll(s.handler, target, block); err != nil {
		return err
	}
	s.time = append(s.time, float64(time.Since(start).Nanoseconds())/1000/block)
	for busy() {
		time.Sleep(100 * time.Microsecond)
	}
	s.cpu = append(s.cpu, float64((processorTime()-before).Nanoseconds())/1000/block)
	return nil
}

// processorTime is what the process has had of the processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for wrong arguments alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ratio is the median of the ratios of turns that followed each other.
func ratio(with, without []float64) float64 {
	list := make([]float64, len(with))
	for i := range list {
		list[i] = with[i] / without[i]
	}
	return median(list)
}

// answerAll answers n requests on all processors.
func answerAll(handler http.Handler, target string, n int) error {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	failed := atomic.Bool{}
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			request, err := http.NewRequest(http.MethodGet, target, nil)
			if err != nil {
				failed.Store(true)
				return
			}
			request.RequestURI, request.RemoteAddr, request.TLS = target, "192.0.2.1:5060", new(tls.ConnectionState)
			request.Header.Set("User-Agent", "Yealink SIP-T46U 108.86.0.90")
			for left.Add(-1) >= 0 {
				w := discard{header: http.Header{}}
				handler.ServeHTTP(&w, request)
				if w.status != http.StatusOK {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	if failed.Load() {
		return errors.New("a request was not answered")
	}
	return nil
}

// discard is a connection that goes nowhere.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
