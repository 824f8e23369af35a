package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stagger/edge/provision"
)

// TestTelemetryMisuse goes through what can be wrong with the flags.
func TestTelemetryMisuse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a part alone":     {[]string{"--telemetry-spool", "x"}, "--telemetry-spool has no meaning without --telemetry"},
		"short interval":   {[]string{"--telemetry", "x", "--telemetry-interval", "10ms"}, "--telemetry-interval: from 1s to 24h0m0s"},
		"small spool":      {[]string{"--telemetry", "x", "--telemetry-spool-mib", "1"}, "--telemetry-spool-mib: from 4 to "},
		"kind of a file":   {[]string{"--telemetry", "x", "--telemetry-kind", "otlp"}, "a file has no kind"},
		"no such kind":     {[]string{"--telemetry", "http://a", "--telemetry-kind", "kafka"}, "--telemetry-kind: otlp or ndjson"},
		"no spool":         {[]string{"--telemetry", "http://a"}, "needs --telemetry-spool"},
		"no URL":           {[]string{"--telemetry", "kafka://a"}, "--telemetry is not a URL such as"},
		"password in URL":  {[]string{"--telemetry", "https://ada:SECRET@example.com", "--telemetry-spool", "x"}, "use STAGGER_TELEMETRY_HEADER"},
		"query with OTLP":  {[]string{"--telemetry", "https://example.com/?SECRET", "--telemetry-spool", "x"}, "has a query in its URL"},
		"no header file":   {[]string{"--telemetry", "https://example.com", "--telemetry-spool", "x", "--telemetry-header-file", "nothing"}, "no such file"},
		"no header at all": {[]string{"--telemetry", "https://example.com", "--telemetry-spool", "x", "--telemetry-header-file", "telemetry_test.go"}, "line 1 is not a header"},
	} {
		m := newMachine(t)
		status := m.run(t.Context(), append([]string{"serve", "--fleet", m.fleet, "--engine", "native"}, test.args...))
		got := m.errors.String()
		if status != exitMisuse || !strings.Contains(got, test.want) || strings.Contains(got, "SECRET") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: status %d, %q", name, status, got)
		}
	}
	m := newMachine(t)
	if status := m.run(t.Context(), []string{"serve", "--fleet", m.fleet, "--engine", "native", "--telemetry", t.TempDir()}); status != exitFound || !strings.Contains(m.errors.String(), "is not a regular file") {
		t.Errorf("a folder: status %d, %q", status, m.errors.String())
	}
}

// TestServeTelemetry serves a phone and stops: the record is at the sink, though no
// flush was due.
func TestServeTelemetry(t *testing.T) {
	var (
		mu   sync.Mutex
		sent bytes.Buffer
	)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer SECRET" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer sink.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "records.ndjson")
	for name, args := range map[string][]string{
		"url":  {"--telemetry", sink.URL + "/in", "--telemetry-kind", "ndjson", "--telemetry-spool", filepath.Join(folder, "spool")},
		"file": {"--telemetry", file},
	} {
		m := newMachine(t)
		m.env["STAGGER_TELEMETRY_HEADER"] = "Authorization: Bearer SECRET"
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		status := make(chan int, 1)
		go func() {
			status <- m.run(ctx, append([]string{"serve", "--fleet", m.fleet, "--engine", "native", "--listen", "127.0.0.1:0",
				"--plain-http", "demo", "--telemetry-interval", "24h"}, args...))
		}()
		serving := regexp.MustCompile(`"msg":"serving","address":"([^"]+)"`)
		var addresses []string
		for addresses == nil {
			select {
			case got := <-status:
				t.Fatalf("%s: status %d: %s", name, got, m.errors.String())
			case <-time.After(time.Millisecond):
				addresses = serving.FindStringSubmatch(m.errors.String())
			}
		}
		token := provision.Token(strings.Repeat("\x5e", 32), "demo", "001565aabb01", 0)
		response, err := http.Get("http://" + addresses[1] + "/demo/" + token + "/001565aabb01.cfg")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		cancel()
		if got := <-status; got != exitDone {
			t.Errorf("%s: status %d: %s", name, got, m.errors.String())
		}
		records := sent.Bytes()
		if name == "file" {
			if records, err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		want := regexp.MustCompile(`^\{"time":"[^"]+","level":"INFO","msg":"request","method":"GET","path":"/demo/-/001565aabb01.cfg","status":200,.*"mac":"001565aabb01".*"outcome":"ok","documents":"[0-9a-f]{16}"\}\n$`)
		if !want.Match(records) {
			t.Errorf("%s: sent %q", name, records)
		}
		if log := m.errors.String(); !strings.Contains(log, `"msg":"telemetry","to":"`) || strings.Contains(log, "SECRET") || strings.Contains(log, "/in") {
			t.Errorf("%s: the log is\n%s", name, log)
		}
	}
}
