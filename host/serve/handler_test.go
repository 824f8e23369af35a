package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/fleet"
)

// patience bounds every wait of these tests; none is asserted to be short.
const patience = 30 * time.Second

// stub is a core that keeps what it was asked and answers what it is told to.
type stub struct {
	mu     sync.Mutex
	seen   []wire.Request
	answer func(*wire.Request) (wire.Response, error)
}

func (s *stub) Call(_ context.Context, in, out []byte) (uint32, []byte, error) {
	var r wire.Request
	if err := wire.DecodeRequest(string(in), &r); err != nil {
		return wire.StatusMalformed, out, nil
	}
	s.mu.Lock()
	s.seen = append(s.seen, r)
	answer := s.answer
	s.mu.Unlock()
	response, err := answer(&r)
	return wire.StatusResponse, wire.AppendResponse(out, &response), err
}
func (s *stub) Stats() engine.Stats {
	return engine.Stats{Size: 7, InUse: 1, Calls: uint64(s.calls())}
}
func (s *stub) Close(context.Context) error { return nil }

func (s *stub) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// tell changes what the core answers.
func (s *stub) tell(answer func(*wire.Request) (wire.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *stub) last(t *testing.T) wire.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		t.Fatal("the core was not asked")
	}
	return s.seen[len(s.seen)-1]
}

// plain answers 200 with a body, the way the core would.
func plain(r *wire.Request) (wire.Response, error) {
	response := wire.Response{
		Status: 200,
		Headers: []wire.Pair{
			{Name: "content-type", Value: "text/plain; charset=utf-8"}, {Name: "content-length", Value: "6"},
			{Name: "cache-control", Value: "no-store, no-transform"},
		},
		Audit: []wire.Pair{{Name: "tenant", Value: "demo"}, {Name: "mac", Value: "001565aabb01"}, {Name: "outcome", Value: "ok"}, {Name: "file", Value: "config"}},
	}
	if r.Method != "HEAD" {
		response.Body = []byte("<html>")
	}
	return response, nil
}

// logs collects what is logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a server on a loopback port.
type running struct {
	phones, admin string
	logs          *logs
	stop          func() error
}

func run(t *testing.T, site Site, at Addresses) *running {
	t.Helper()
	r := &running{logs: new(logs)}
	site.Log = slog.New(slog.NewJSONHandler(r.logs, nil))
	if site.Store == nil {
		site.Store = &fleet.Store{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, ready := make(chan error, 1), make(chan struct{})
	at.Listen = "127.0.0.1:0"
	at.Ready = func(phones, admin net.Addr) {
		r.phones = phones.String()
		if admin != nil {
			r.admin = admin.String()
		}
		close(ready)
	}
	go func() { done <- site.Run(ctx, at) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatal(err)
	}
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("the server does not stop")
		}
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// raw sends bytes as they are and returns the status line, the header and
// everything after it, until the server closes the connection.
func raw(t *testing.T, address, request string) (status string, header http.Header, body string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	header = http.Header{}
	for {
		h, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%.60q: %v", request, err)
		}
		if h = strings.TrimRight(h, "\r\n"); h == "" {
			break
		}
		name, value, _ := strings.Cut(h, ": ")
		header[name] = append(header[name], value)
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return strings.TrimRight(strings.TrimPrefix(line, "HTTP/1.1 "), "\r\n"), header, string(rest)
}

func get(target, more string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + more + "\r\n"
}

// TestTarget wants every target in the core as it came, and no redirect.
func TestTarget(t *testing.T) {
	core := &stub{answer: plain}
	r := run(t, Site{Core: core, Keys: []string{"key"}}, Addresses{})
	for _, target := range []string{
		"/demo/x/001565aabb01.cfg", "/", "//demo//x", "/demo/../x/./y/", "/a%2fb%2F%2e%2e", "/a%252f", "/demo/x/y?a=b&c=%0a",
		"/a;b=c", "/demo/x/y.cfg%0d%0aX-Y:1", "http://other/demo/x/y", "*", "/" + strings.Repeat("a/", 1000), "/..\\..\\x.cfg",
	} {
		status, _, body := raw(t, r.phones, get(target, ""))
		if got := core.last(t); status != "200 OK" || body != "<html>" || got.Target != target || got.Method != "GET" {
			t.Errorf("%q: %s, the core saw %s %q", target, status, got.Method, got.Target)
		}
	}
	for request, want := range map[string][2]string{
		"OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":         {"OPTIONS", "*"},
		"CONNECT other:443 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n": {"CONNECT", "other:443"},
		"CONNECT /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":        {"CONNECT", "/x"},
		"get /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":            {"get", "/x"},
		"PROPFIND /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":       {"PROPFIND", "/x"},
		"GET /x HTTP/1.1\r\nHost: 192.0.2.1:99\r\nConnection: close\r\n\r\n": {"GET", "/x"},
		"GET /old HTTP/1.0\r\n\r\n":                                          {"GET", "/old"},
	} {
		status, _, _ := raw(t, r.phones, request)
		if got := core.last(t); !strings.HasSuffix(status, "200 OK") || got.Method != want[0] || got.Target != want[1] {
			t.Errorf("%q: %s, the core saw %s %q", request, status, got.Method, got.Target)
		}
	}
	// What net/http itself refuses is a 400 and never reaches the core.
	seen := core.calls()
	for _, request := range []string{
		get("/a b", ""), get("/%zz", ""), "GET /x HTTP/1.1\r\n\r\n", get("/x", "Host: other\r\n"),
		get("/x", "Content-Length: 1\r\nContent-Length: 2\r\n"), "G\x00T /x HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		if status, _, _ := raw(t, r.phones, request); !strings.HasPrefix(status, "400") {
			t.Errorf("%q: %s", request, status)
		}
	}
	if status, _, _ := raw(t, r.phones, get("/x", "X: "+strings.Repeat("x", 256<<10)+"\r\n")); !strings.HasPrefix(status, "431") {
		t.Errorf("a header of 256 KiB: %s", status)
	}
	if core.calls() != seen {
		t.Error("the core was asked")
	}
}

// TestExactHeaders wants the headers of the response, Date, and nothing else.
func TestExactHeaders(t *testing.T) {
	for _, contentType := range []bool{true, false} {
		core := &stub{answer: func(r *wire.Request) (wire.Response, error) {
			response, err := plain(r)
			response.Headers = append(response.Headers, wire.Pair{Name: "www-authenticate", Value: "Basic a"}, wire.Pair{Name: "www-authenticate", Value: "Digest b"})
			if !contentType {
				response.Headers = response.Headers[1:]
			}
			return response, err
		}}
		r := run(t, Site{Core: core}, Addresses{})
		for _, method := range []string{"GET", "HEAD"} {
			_, header, body := raw(t, r.phones, method+" /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: gzip\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\nCookie: a=b\r\n\r\n")
			want := http.Header{
				"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"6"}, "Cache-Control": {"no-store, no-transform"},
				"Www-Authenticate": {"Basic a", "Digest b"}, "Date": header["Date"], "Connection": {"close"},
			}
			if !contentType {
				delete(want, "Content-Type")
			}
			if !reflect.DeepEqual(header, want) || len(header["Date"]) != 1 {
				t.Errorf("%s: got %v, want %v", method, header, want)
			}
			if wantBody := map[string]string{"GET": "<html>"}[method]; body != wantBody {
				t.Errorf("%s: body %q", method, body)
			}
		}
	}
}

func TestFacts(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
	fact := func(name, value string) wire.Pair { return wire.Pair{Name: name, Value: value} }
	now := time.Unix(1893456000, 999)
	for name, test := range map[string]struct {
		site  Site
		more  string
		facts []wire.Pair
		tls   bool
	}{
		"nothing":             {},
		"user agent":          {more: "User-Agent: Yealink SIP-T46S\r\n", facts: []wire.Pair{fact("user-agent", "Yealink SIP-T46S")}},
		"long user agent":     {more: "User-Agent: " + strings.Repeat("a", 8000) + "\r\n", facts: []wire.Pair{fact("user-agent", strings.Repeat("a", 256))}},
		"authorization":       {more: "Authorization: Basic YQ==\r\n", facts: []wire.Pair{fact("authorization", "Basic YQ==")}},
		"two authorizations":  {more: "Authorization: Basic YQ==\r\nauthorization: Digest x\r\n", facts: []wire.Pair{fact("authorization", "Basic YQ==, Digest x")}},
		"tenants":             {site: Site{PlainHTTP: []string{"a", "b"}, Open: []string{"c"}}, facts: []wire.Pair{fact("plain-http", "a,b"), fact("open", "c")}},
		"forged facts":        {more: "Plain-Http: demo\r\nOpen: demo\r\nX-Open: demo\r\n"},
		"https, untrusted":    {more: "X-Forwarded-Proto: https\r\n"},
		"https, other proxy":  {site: Site{Proxies: loopback[:1]}, more: "X-Forwarded-Proto: https\r\n"},
		"https, trusted":      {site: Site{Proxies: loopback}, more: "X-Forwarded-Proto: HTTPS\r\n", tls: true},
		"http, trusted":       {site: Site{Proxies: loopback}, more: "X-Forwarded-Proto: http\r\n"},
		"absent, trusted":     {site: Site{Proxies: loopback}},
		"a list, trusted":     {site: Site{Proxies: loopback}, more: "X-Forwarded-Proto: https, http\r\n"},
		"two values, trusted": {site: Site{Proxies: loopback}, more: "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: https\r\n"},
		"forwarded, trusted":  {site: Site{Proxies: loopback}, more: "Forwarded: proto=https\r\nX-Forwarded-Ssl: on\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			core := &stub{answer: plain}
			test.site.Core, test.site.Keys = core, []string{"current", "previous"}
			test.site.Now = func() time.Time { return now }
			r := run(t, test.site, Addresses{})
			raw(t, r.phones, get("/x", test.more))
			got := core.last(t)
			if len(got.Facts)+len(test.facts) > 0 && !reflect.DeepEqual(got.Facts, test.facts) {
				t.Errorf("facts %q, want %q", got.Facts, test.facts)
			}
			if (got.Flags == wire.FlagTLS) != test.tls || got.Flags&^wire.FlagTLS != 0 {
				t.Errorf("flags %d", got.Flags)
			}
			if got.Now != 1893456000 || !slices.Equal(got.Keys, []string{"current", "previous"}) || len(got.Documents) != 0 {
				t.Errorf("request %+v", got)
			}
		})
	}
}

// TestUploads wants an answer before the body is there, and no more reading.
func TestUploads(t *testing.T) {
	core := &stub{answer: plain}
	r := run(t, Site{Core: core}, Addresses{})
	for name, request := range map[string]string{
		"100 MB":           "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\nabc",
		"some":             "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc",
		"chunks":           "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"expectation":      "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\nExpect: 100-continue\r\n\r\n",
		"GET with a body":  "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
		"another follows":  "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
		"HTTP/1.0":         "POST /x HTTP/1.0\r\nContent-Length: 1000\r\n\r\nabc",
		"HEAD with a body": "HEAD /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			// raw returns once the server has closed the connection.
			status, header, body := raw(t, r.phones, request)
			want := "<html>"
			if strings.HasPrefix(request, "HEAD") {
				want = ""
			}
			if !strings.HasSuffix(status, "200 OK") || body != want || header.Get("Connection") != "close" {
				t.Errorf("%s, %v, body %q", status, header, body)
			}
			if got := core.last(t); got.Target != "/x" {
				t.Errorf("the core saw %q", got.Target)
			}
		})
	}
	// A request without a body keeps its connection.
	conn, err := net.Dial("tcp", r.phones)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprintf(conn, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); string(body) != "<html>" || err != nil {
			t.Fatalf("%q, %v", body, err)
		}
	}
}

func TestFailureAndLog(t *testing.T) {
	core := &stub{answer: func(*wire.Request) (wire.Response, error) {
		return wire.Response{}, &engine.Error{Cause: engine.Trap, Err: errors.New("wasm error: unreachable\n\thandle")}
	}}
	r := run(t, Site{Core: core}, Addresses{})
	status, header, body := raw(t, r.phones, get("/demo/"+token+"/001565aabb01.cfg", ""))
	if status != "500 Internal Server Error" || body != "error\n" || header.Get("Cache-Control") != "no-store, no-transform" {
		t.Errorf("%s %v %q", status, header, body)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	line := lines(t, r.logs)[0]
	for name, want := range map[string]any{
		"level": "ERROR", "msg": "request", "outcome": "failed", "cause": "trap", "status": 500.0,
		"detail": "engine: trap: wasm error: unreachable\n\thandle",
	} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
}

// lines are the lines of the access log.
func lines(t *testing.T, l *logs) (list []map[string]any) {
	t.Helper()
	for text := range strings.Lines(l.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if line["msg"] == "request" {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		t.Fatal("nothing was logged")
	}
	return list
}

// TestAccessLog greps the log of many kinds of requests for what must not be in
// it: the token, a header, a query, an answer.
func TestAccessLog(t *testing.T) {
	core := &stub{answer: plain}
	r := run(t, Site{Core: core, Keys: []string{"SECRETkey"}, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}, Addresses{})
	headers := "Authorization: Basic SECRETauth\r\nUser-Agent: Yealink SIP-T46S SECRETagent\r\nCookie: SECRETcookie\r\nX-Forwarded-For: 203.0.113.7, 198.51.100.9, 10.1.2.3\r\n"
	raw(t, r.phones, get("/demo/"+token+"/001565aabb01.cfg?SECRETquery="+token, headers))
	for _, target := range []string{"//demo/" + token + "/x", "/" + token, "/demo/x/" + token, "http://SECRETquery/" + token, "/demo/%65" + token + "/y"} {
		raw(t, r.phones, get(target, headers))
	}
	raw(t, r.phones, "SECRETquery /demo/x/y HTTP/1.1\r\nHost: SECRETquery\r\nConnection: close\r\n\r\n")
	raw(t, r.phones, "HEAD /demo/x/y HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Forwarded-For: SECRETquery\r\n\r\n")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, token[:16], token[14:], "SECRET", "<html>"} {
		if strings.Contains(r.logs.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, r.logs)
		}
	}
	list := lines(t, r.logs)
	if len(list) != 8 {
		t.Errorf("%d lines for 8 requests", len(list))
	}
	first := list[0]
	for name, want := range map[string]any{
		"level": "INFO", "method": "GET", "path": "/demo/-/001565aabb01.cfg", "status": 200.0, "bytes": 6.0,
		"remote": "198.51.100.9", "agent": "yealink", "tenant": "demo", "mac": "001565aabb01", "outcome": "ok", "file": "config",
	} {
		if first[name] != want {
			t.Errorf("%s is %v, want %v", name, first[name], want)
		}
	}
	if _, ok := first["ms"].(float64); !ok {
		t.Errorf("ms is %v", first["ms"])
	}
	last := list[len(list)-1]
	if last["method"] != "HEAD" || last["bytes"] != 0.0 || last["remote"] != "127.0.0.1" || last["agent"] != "none" {
		t.Errorf("HEAD is logged as %v", last)
	}
}

func TestAdmin(t *testing.T) {
	core := &stub{answer: plain}
	site := Site{Core: core, Keys: []string{"key"}}
	site.Metrics = NewMetrics(core, []string{"config"})
	site.Store = site.Metrics.CountErrors(broken{})
	r := run(t, site, Addresses{Admin: "127.0.0.1:0"})

	if status, _, body := raw(t, r.admin, get("/-/healthz", "")); status != "200 OK" || body != "ok\n" {
		t.Errorf("health: %s %q", status, body)
	}
	if status, _, _ := raw(t, r.admin, get("/demo/x/y", "")); status != "404 Not Found" {
		t.Errorf("a phone's path on the operator's address: %s", status)
	}
	raw(t, r.phones, get("/-/healthz", ""))
	if got := core.last(t); got.Target != "/-/healthz" {
		t.Error("the operator's path on the phones' address is not the core's")
	}
	// Labels of the core's are taken from fixed sets only.
	core.tell(func(req *wire.Request) (wire.Response, error) {
		response, err := plain(req)
		response.Audit = []wire.Pair{{Name: "outcome", Value: req.Target}, {Name: "file", Value: req.Target}}
		return response, err
	})
	for _, target := range []string{"/a", "/b", "/c"} {
		raw(t, r.phones, get(target, ""))
	}
	if _, _, err := site.Store.Get(t.Context(), "x"); err == nil {
		t.Error("the store is not broken")
	}
	_, _, body := raw(t, r.admin, get("/metrics", ""))
	for _, want := range []string{
		`stagger_requests_total{file="config",outcome="ok"} 1`, `stagger_requests_total{file="other",outcome="other"} 3`,
		"stagger_request_seconds_count 4", "stagger_engine_instances_max 7", "stagger_engine_instances_in_use 1",
		`stagger_engine_discards_total{cause="trap"} 0`, `stagger_engine_failures_total{cause="busy"} 0`,
		"stagger_store_errors_total 1", "go_goroutines ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	core.tell(func(*wire.Request) (wire.Response, error) {
		return wire.Response{}, &engine.Error{Cause: engine.Trap}
	})
	if status, _, body := raw(t, r.admin, get("/-/healthz", "")); status != "503 Service Unavailable" || body == "ok\n" {
		t.Errorf("health without a core: %s %q", status, body)
	}
}

type broken struct{}

func (broken) Get(context.Context, string) (string, bool, error) {
	return "", false, errors.New("broken")
}

// TestShutdown stops the server while a request is in the core: it is answered.
func TestShutdown(t *testing.T) {
	inside, proceed := make(chan struct{}), make(chan struct{})
	core := &stub{answer: func(r *wire.Request) (wire.Response, error) {
		close(inside)
		<-proceed
		return plain(r)
	}}
	r := run(t, Site{Core: core}, Addresses{Admin: "127.0.0.1:0"})
	answered := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + r.phones + "/x")
		if err != nil {
			answered <- err.Error()
			return
		}
		body, err := io.ReadAll(response.Body)
		answered <- fmt.Sprint(response.StatusCode, " ", string(body), " ", err)
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	// Nobody is let in any more; the request inside still is.
	for {
		conn, err := net.DialTimeout("tcp", r.phones, patience)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(proceed)
	if got := <-answered; got != "200 <html> <nil>" {
		t.Error(got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	site := Site{Core: &stub{answer: plain}, Store: broken{}, Log: slog.New(slog.DiscardHandler)}
	for _, at := range []Addresses{
		{Listen: taken.Addr().String()},
		{Listen: "127.0.0.1:0", Admin: taken.Addr().String()},
		{Listen: "127.0.0.1:0", Certificate: "nothing.pem", Key: "nothing.pem"},
	} {
		if err := site.Run(t.Context(), at); err == nil {
			t.Errorf("%+v: runs", at)
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, key, pool := selfSigned(t)
	core := &stub{answer: plain}
	r := run(t, Site{Core: core}, Addresses{Certificate: certificate, Key: key})
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
	}}
	response, err := client.Get("https://" + r.phones + "/x")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "<html>" || response.Proto != "HTTP/1.1" {
		t.Errorf("%s %q %v", response.Proto, body, err)
	}
	response.Body.Close()
	client.CloseIdleConnections()
	if got := core.last(t); got.Flags != wire.FlagTLS {
		t.Errorf("flags %d", got.Flags)
	}
}

func selfSigned(t *testing.T) (certificate, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", pkcs8), pool
}

// TestRealCore goes the whole way once: a fleet file, the core, HTTP.
func TestRealCore(t *testing.T) {
	f, err := os.Open("../../testdata/fleets/demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	store, err := fleet.Read("demo.jsonl", f, nil)
	if err != nil {
		t.Fatal(err)
	}
	master := strings.Repeat("k", 32)
	core := engine.NewNative(2)
	r := run(t, Site{Core: core, Store: store, Keys: []string{master}, PlainHTTP: []string{"demo", "other"}}, Addresses{})
	good := provision.Token(master, "demo", "001565aabb01", 0)
	target := "/demo/" + good + "/001565aabb01.cfg"
	status, header, body := raw(t, r.phones, get(target, ""))
	if status != "200 OK" || !strings.HasPrefix(body, "#!version:1.0.0.1\n") || header.Get("Content-Length") != fmt.Sprint(len(body)) {
		t.Fatalf("%s %v %.100q; %s", status, header, body, r.logs)
	}
	if _, _, again := raw(t, r.phones, get(target+"?x", "")); again != body {
		t.Error("the second answer differs")
	}
	// Refusals of who or what is asked are the same bytes.
	var refusal string
	for _, target := range []string{"/", "/demo", "/demo//001565aabb01.cfg", "/demo/" + good + "/001565aabb02.cfg",
		"/demo/" + good + "/001565aabb99.cfg", "/other/" + good + "/001565aabb01.cfg", "/demo/open/001565aabb01.cfg",
		"/demo/" + good + "/../001565aabb01.cfg", "/demo/" + good + "/001565aabb01.cfg%0a", "//demo/" + good + "/001565aabb01.cfg",
		"http://other" + target, "*", "/" + strings.Repeat("a/", 1000)} {
		status, header, body := raw(t, r.phones, get(target, ""))
		delete(header, "Date")
		got := fmt.Sprint(status, header, body)
		if refusal == "" {
			refusal = got
		}
		if got != refusal || !strings.HasPrefix(status, "404") {
			t.Errorf("%q: %s, want %s", target, got, refusal)
		}
	}
	if status, header, body := raw(t, r.phones, "PUT "+target+" HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n"); !strings.HasPrefix(status, "405") || body != "" || header.Get("Allow") != "GET, HEAD" {
		t.Errorf("PUT: %s %v %q", status, header, body)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.logs.String(), good[4:]) {
		t.Error("the token is in the log")
	}
	// The record names what the answer was made of, and nothing where nothing was read.
	list := lines(t, r.logs)
	if list[0]["documents"] == nil || list[0]["documents"] != list[1]["documents"] || list[2]["documents"] != nil {
		t.Errorf("documents: %v, %v, %v", list[0]["documents"], list[1]["documents"], list[2]["documents"])
	}
}
