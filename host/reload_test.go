package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServeReloads runs the command, changes its fleet under it and sends it SIGHUP:
// a good fleet is taken, a bad one is not, and neither ends it.
func TestServeReloads(t *testing.T) {
	m := newMachine(t)
	demo := read(t, m.fleet)
	file := write(t, filepath.Join(t.TempDir(), "fleet.jsonl"), demo)
	status := make(chan int, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		status <- m.run(ctx, []string{"serve", "--fleet", file, "--engine", "native", "--listen", "127.0.0.1:0",
			"--admin", "127.0.0.1:0", "--plain-http", "demo", "--log-format", "text"})
	}()
	// wait waits for a line of the log.
	wait := func(pattern string) []string {
		t.Helper()
		for {
			select {
			case got := <-status:
				t.Fatalf("status %d: %s", got, m.errors.String())
			case <-ctx.Done():
				t.Fatalf("no %s: %s", pattern, m.errors.String())
			case <-time.After(time.Millisecond):
				if found := regexp.MustCompile(pattern).FindStringSubmatch(m.errors.String()); found != nil {
					return found
				}
			}
		}
	}
	admin := wait(`msg=serving address=\S+ .* admin=(\S+)`)[1]
	health := func() string {
		response, err := http.Get("http://" + admin + "/-/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%d, %v", response.StatusCode, err)
		}
		return string(body)
	}
	hangUp := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	before := health()
	write(t, file, demo+"\nSECRET\n")
	hangUp()
	wait(`msg="fleet refused: the one before stays" errors="\[\S+fleet.jsonl:6: not JSON`)
	if got := health(); !strings.HasPrefix(got, before) || !strings.Contains(got, "refused ") {
		t.Errorf("%q after %q", got, before)
	}
	// A tenant that a flag names has to stay.
	write(t, file, strings.ReplaceAll(demo, `"demo"`, `"other"`))
	hangUp()
	wait(`--plain-http: the fleet has no tenant`)
	lines := strings.SplitAfter(demo, "\n")
	write(t, file, strings.Join(lines[:3], ""))
	hangUp()
	wait(`msg="fleet loaded" version=\S+ tenants=1 devices=2`)
	if got := health(); !strings.HasSuffix(got, ": 1 tenants, 2 devices\n") || got == before {
		t.Errorf("%q", got)
	}
	if strings.Contains(m.errors.String(), "SECRET") {
		t.Error("a value is in the log")
	}
	cancel()
	if got := <-status; got != 0 {
		t.Errorf("status %d: %s", got, m.errors.String())
	}
}

// Standard input is read once.
func TestStandardInputIsNotReadAgain(t *testing.T) {
	m := newMachine(t)
	m.stdin = strings.NewReader(read(t, m.fleet))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	status := make(chan int, 1)
	go func() {
		status <- m.run(ctx, []string{"serve", "--fleet", "-", "--engine", "native", "--listen", "127.0.0.1:0", "--log-format", "text"})
	}()
	sent := false
	for !strings.Contains(m.errors.String(), "standard input is read once") {
		select {
		case got := <-status:
			t.Fatalf("status %d: %s", got, m.errors.String())
		case <-ctx.Done():
			t.Fatal(m.errors.String())
		case <-time.After(time.Millisecond):
			if !sent && strings.Contains(m.errors.String(), "msg=serving") {
				sent = true
				if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	cancel()
	<-status
}
