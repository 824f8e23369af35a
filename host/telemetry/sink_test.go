package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

const twoLines = `{"time":"2026-03-01T09:14:03.123456789Z","level":"INFO","msg":"request","method":"GET","status":200,"ms":1.25,"mac":"001565aabb01","documents":"0011223344556677"}
{"time":"2026-03-01T09:14:04Z","level":"ERROR","msg":"request","status":500,"outcome":"failed","good":true,"huge":1e300}
`

// server answers every request in one way and keeps the last.
type server struct {
	*httptest.Server
	status  int
	answer  []byte
	header  http.Header
	request *http.Request
	body    []byte
	asked   int
}

func serve(t *testing.T, status int) *server {
	s := &server{status: status, header: http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		s.request = r
		s.body, _ = io.ReadAll(r.Body)
		for name := range s.header {
			w.Header().Set(name, s.header.Get(name))
		}
		w.WriteHeader(s.status)
		_, _ = w.Write(s.answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) at(t *testing.T, path string) *url.URL {
	t.Helper()
	u, err := ParseURL(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var secretHeader = http.Header{"Authorization": {"Bearer SECRETheader"}}

// sinks are those over HTTP.
func sinks(t *testing.T, u *url.URL) map[string]Sink {
	t.Helper()
	otlp, err := NewOTLP(u, secretHeader)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Sink{"otlp": otlp, "ndjson": NewNDJSON(u, secretHeader)}
}

func TestNDJSON(t *testing.T) {
	s := serve(t, 204)
	if err := NewNDJSON(s.at(t, "/SECRETpath?index=phones"), secretHeader).Send(t.Context(), []byte(twoLines)); err != nil {
		t.Fatal(err)
	}
	r := s.request
	if string(s.body) != twoLines || r.Method != "POST" || r.RequestURI != "/SECRETpath?index=phones" ||
		r.Header.Get("Content-Type") != "application/x-ndjson" || r.Header.Get("Authorization") != "Bearer SECRETheader" || r.ContentLength != int64(len(twoLines)) {
		t.Errorf("%s %s %v %q", r.Method, r.RequestURI, r.Header, s.body)
	}
}

// TestOTLP reads what a Collector gets.
func TestOTLP(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=y")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
	s := serve(t, 200)
	for path, want := range map[string]string{"": "/v1/logs", "/": "/v1/logs", "/otlp/v1/logs": "/otlp/v1/logs"} {
		sink, err := NewOTLP(s.at(t, path), secretHeader)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Send(t.Context(), []byte(twoLines+"half a li\n")); err != nil {
			t.Fatal(err)
		}
		if s.request.RequestURI != want || s.request.Header.Get("Content-Type") != "application/x-protobuf" ||
			s.request.Header.Get("Authorization") != "Bearer SECRETheader" || s.request.Header.Get("X-Other") != "" {
			t.Errorf("%s %v", s.request.RequestURI, s.request.Header)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var export collectorpb.ExportLogsServiceRequest
	if err := proto.Unmarshal(plain, &export); err != nil {
		t.Fatal(err)
	}
	if n := len(export.ResourceLogs); n != 1 {
		t.Fatalf("%d resources", n)
	}
	resource := export.ResourceLogs[0]
	if got := attributes(resource.Resource.Attributes); !reflect.DeepEqual(got, map[string]any{"service.name": "stagger"}) {
		t.Errorf("resource %v", got)
	}
	list := resource.ScopeLogs[0].LogRecords
	if len(list) != 3 {
		t.Fatalf("%d records", len(list))
	}
	for i, want := range []struct {
		at         string
		severity   string
		number     int32
		body       string
		attributes map[string]any
	}{
		{"2026-03-01T09:14:03.123456789Z", "INFO", 9, "request", map[string]any{
			"method": "GET", "status": int64(200), "ms": 1.25, "mac": "001565aabb01", "documents": "0011223344556677"}},
		{"2026-03-01T09:14:04Z", "ERROR", 17, "request", map[string]any{"status": int64(500), "outcome": "failed", "good": true, "huge": 1e300}},
		{"", "", 0, "half a li", map[string]any{}},
	} {
		got := list[i]
		at := ""
		if got.TimeUnixNano != 0 {
			at = time.Unix(0, int64(got.TimeUnixNano)).UTC().Format(time.RFC3339Nano)
		}
		if at != want.at || got.SeverityText != want.severity || int32(got.SeverityNumber) != want.number ||
			got.Body.GetStringValue() != want.body || !reflect.DeepEqual(attributes(got.Attributes), want.attributes) {
			t.Errorf("record %d: %v", i, got)
		}
	}
	if _, err := NewOTLP(s.at(t, "/?key=x"), nil); err == nil {
		t.Error("a query is taken")
	}
}

func attributes(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.Key] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[a.Key] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			m[a.Key] = v.BoolValue
		default:
			m[a.Key] = v
		}
	}
	return m
}

// TestOTLPPartial has a Collector that took a flush and kept a part of it: sending
// it again would double the other part.
func TestOTLPPartial(t *testing.T) {
	s := serve(t, 200)
	s.header.Set("Content-Type", "application/x-protobuf")
	answer, err := proto.Marshal(&collectorpb.ExportLogsServiceResponse{PartialSuccess: &collectorpb.ExportLogsPartialSuccess{RejectedLogRecords: 1, ErrorMessage: "SECRETanswer"}})
	if err != nil {
		t.Fatal(err)
	}
	s.answer = answer
	sink, err := NewOTLP(s.at(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Send(t.Context(), []byte(twoLines)); !errors.Is(err, ErrPartial) || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%v", err)
	}
}

// TestRefusals wants one attempt, the status, what Retry-After says, and nothing of
// the URL, the headers or the answer in the error.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		status     int
		retryAfter string
		after      time.Duration
	}{
		{status: 429, retryAfter: "7", after: 7 * time.Second},
		{status: 503, retryAfter: "120", after: 2 * time.Minute},
		{status: 503, retryAfter: "99999999", after: maxAfter},
		{status: 503, retryAfter: "Fri, 31 Dec 1999 23:59:59 GMT"},
		{status: 503, retryAfter: "Fri, 31 Dec 2999 23:59:59 GMT", after: maxAfter},
		{status: 503, retryAfter: "-1"}, {status: 503, retryAfter: "soon"}, {status: 503},
		{status: 500, retryAfter: "7"}, {status: 400}, {status: 401}, {status: 404}, {status: 502}, {status: 301}, {status: 307},
	} {
		s := serve(t, test.status)
		s.answer = []byte("SECRETanswer")
		s.header.Set("Location", s.URL+"/SECRETelsewhere")
		if test.retryAfter != "" {
			s.header.Set("Retry-After", test.retryAfter)
		}
		for name, sink := range sinks(t, s.at(t, "/SECRETpath")) {
			s.asked = 0
			err := sink.Send(t.Context(), []byte(twoLines))
			refusal := new(Refusal)
			if !errors.As(err, &refusal) || *refusal != (Refusal{test.status, test.after}) || strings.Contains(err.Error(), "SECRET") || s.asked != 1 {
				t.Errorf("%s: %+v: %v after %d requests", name, test, err, s.asked)
			}
			s.status = 200
			if err := sink.Send(t.Context(), []byte(twoLines)); err != nil {
				t.Errorf("%s: %+v: and then %v", name, test, err)
			}
			s.status = test.status
		}
	}
}

// TestUnreachable wants errors that are no refusals and say nothing.
func TestUnreachable(t *testing.T) {
	s := serve(t, 200)
	u := s.at(t, "/SECRETpath")
	s.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, sink := range sinks(t, u) {
		for _, ctx := range []context.Context{t.Context(), ended} {
			err := sink.Send(ctx, []byte(twoLines))
			if err == nil || errors.As(err, new(*Refusal)) || errors.Is(err, ErrPartial) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.ndjson")
	sink, err := NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	send := func(lines string) {
		t.Helper()
		if err := sink.Send(t.Context(), []byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	send("one\n")
	send("two\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	send("three\n")
	for name, want := range map[string]string{path + ".1": "one\ntwo\n", path: "three\n"} {
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
	if _, err := NewFile(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := NewFile(filepath.Join(path, "x")); err == nil {
		t.Error("a file in a file")
	}
}

func TestReadHeader(t *testing.T) {
	folder := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(folder, "header")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		env, file string
		want      http.Header
		fail      string
	}{
		"nothing":     {want: http.Header{}},
		"environment": {env: "Authorization: Bearer abc", want: http.Header{"Authorization": {"Bearer abc"}}},
		"file":        {file: file("authorization:Basic eA==\n\nX-Scope-OrgID: phones\n"), want: http.Header{"Authorization": {"Basic eA=="}, "X-Scope-Orgid": {"phones"}}},
	} {
		got, err := ReadHeader(func(string) string { return test.env }, test.file)
		if !reflect.DeepEqual(got, test.want) || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"SECRET": "STAGGER_TELEMETRY_HEADER: line 1 is not a header", "A: b\nSECRET b: c": "line 2 is not", ": SECRET": "line 1",
		"A:": "line 1", "A: SECRET\x00": "line 1", "A: SECRETü": "line 1", "SECRET : x": "line 1",
	} {
		_, err := ReadHeader(func(string) string { return text }, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, test := range []struct{ env, file, want string }{
		{"A: SECRET", file("A: SECRET"), "use one"},
		{"", filepath.Join(folder, "nothing"), "no such file"},
		{"", filepath.Join(folder), "telemetry header file: "},
	} {
		if _, err := ReadHeader(func(string) string { return test.env }, test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	if _, err := ReadHeader(func(string) string { return "" }, file(strings.Repeat("A: b\n", 10000))); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
}

func TestParseURL(t *testing.T) {
	for _, good := range []string{"http://127.0.0.1:4318", "https://collector.example.com/v1/logs", "https://[2001:db8::1]:8443/x?y=z"} {
		if u, err := ParseURL(good); err != nil || u.String() != good {
			t.Errorf("%s: %v, %v", good, u, err)
		}
	}
	for _, bad := range []string{"", "x", "ftp://example.com", "http://", "https://ada:SECRET@example.com/", "https://SECRET@example.com/", "https://example.com/#SECRET", "http://SECRET\x7f", "://SECRET"} {
		if _, err := ParseURL(bad); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
