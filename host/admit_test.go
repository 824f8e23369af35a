package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"stagger/edge/provision"
)

// TestServeAdmit lets one phone a second in, and sends the next one away.
func TestServeAdmit(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	status := make(chan int, 1)
	go func() {
		status <- m.run(ctx, []string{"serve", "--fleet", m.fleet, "--engine", "native", "--listen", "127.0.0.1:0",
			"--admin", "127.0.0.1:0", "--plain-http", "demo", "--log-format", "text", "--admit", "1"})
	}()
	serving := regexp.MustCompile(`msg=serving address=(\S+) .* admin=(\S+)`)
	var addresses []string
	for addresses == nil {
		select {
		case got := <-status:
			t.Fatalf("status %d: %s", got, m.errors.String())
		case <-time.After(time.Millisecond):
			addresses = serving.FindStringSubmatch(m.errors.String())
		}
	}
	get := func(url string) (int, string, string) {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("Retry-After"), string(body)
	}
	file := func(mac string) string {
		return "http://" + addresses[1] + "/demo/" + provision.Token(strings.Repeat("\x5e", 32), "demo", mac, 0) + "/" + mac
	}
	if status, _, body := get(file("001565aabb01") + ".boot"); status != 200 {
		t.Errorf("the first phone gets %d: %s", status, body)
	}
	// Others come in vain within a second of each other, however slow this is.
	refused := false
	for range 100 {
		for _, mac := range []string{"001565aabb02", "001565aabb03", "001565aabb04", "001565aabb05"} {
			if status, after, _ := get(file(mac) + ".cfg"); status == 503 && after != "" {
				refused = true
			}
		}
		if refused {
			break
		}
	}
	if !refused {
		t.Error("nobody is refused")
	}
	if status, _, _ := get(file("001565aabb01") + ".cfg"); status != 200 {
		t.Errorf("the first phone's second file is %d", status)
	}
	if _, _, body := get("http://" + addresses[2] + "/metrics"); !strings.Contains(body, `stagger_requests_total{file="none",outcome="later"}`) || !strings.Contains(body, "stagger_admission_tokens") {
		t.Error("the metrics do not have it")
	}
	cancel()
	if got := <-status; got != 0 {
		t.Errorf("status %d: %s", got, m.errors.String())
	}
	for want, args := range map[string][]string{
		"--admit and --admit-burst: from 1": {"serve", "--fleet", m.fleet, "--admit", "0"},
		"--admit-burst needs --admit":       {"serve", "--fleet", m.fleet, "--admit-burst", "5"},
	} {
		m := try(t, 2, args...)
		if got := m.errors.String(); !strings.Contains(got, want) {
			t.Errorf("%q", got)
		}
	}
}
