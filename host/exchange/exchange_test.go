package exchange

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stagger/edge/wire"
	"stagger/host/engine"
)

// script is an engine that answers call n with step n, and keeps what it saw.
type script struct {
	steps []func(r *wire.Request) (uint32, []byte, error)
	seen  []wire.Request
}

func (s *script) Call(_ context.Context, in, out []byte) (uint32, []byte, error) {
	var r wire.Request
	if err := wire.DecodeRequest(string(in), &r); err != nil {
		return wire.StatusMalformed, out, nil
	}
	s.seen = append(s.seen, r)
	status, output, err := s.steps[min(len(s.seen), len(s.steps))-1](&r)
	return status, append(out, output...), err
}
func (s *script) Stats() engine.Stats         { return engine.Stats{} }
func (s *script) Close(context.Context) error { return nil }

type step = func(*wire.Request) (uint32, []byte, error)

func need(keys ...string) step {
	return func(*wire.Request) (uint32, []byte, error) {
		return wire.StatusNeed, wire.AppendNeed(nil, keys), nil
	}
}

func respond(r wire.Response) step {
	return func(*wire.Request) (uint32, []byte, error) {
		return wire.StatusResponse, wire.AppendResponse(nil, &r), nil
	}
}

func raw(status uint32, output string, err error) step {
	return func(*wire.Request) (uint32, []byte, error) { return status, []byte(output), err }
}

func good() wire.Response {
	return wire.Response{
		Status:  200,
		Headers: []wire.Pair{{Name: "content-type", Value: "text/plain"}, {Name: "content-length", Value: "5"}},
		Body:    []byte("hello"),
		Audit:   []wire.Pair{{Name: "outcome", Value: "served"}},
	}
}

// documents is a store; a key under which an error is kept fails with it.
type documents struct {
	values map[string]string
	asked  []string
}

func (d *documents) Get(_ context.Context, key string) (string, bool, error) {
	d.asked = append(d.asked, key)
	value, found := d.values[key]
	if value == "fail" {
		return "SECRET", true, errors.New("the disk says SECRET")
	}
	return value, found, nil
}

func TestConversation(t *testing.T) {
	core := &script{steps: []step{need("tenant:demo"), need("device:demo:1", "other"), respond(good())}}
	store := &documents{values: map[string]string{"tenant:demo": "{}", "other": "fail"}}
	request := &wire.Request{Flags: wire.FlagTLS, Now: 1 << 40, Method: "GET", Target: "/demo/x/y", Keys: []string{"key"},
		Documents: []wire.Document{{Key: "left over"}}}
	response, err := Answer(t.Context(), core, store, request)
	if err != nil || !reflect.DeepEqual(response, good()) {
		t.Fatalf("%+v, %v", response, err)
	}
	if want := []string{"tenant:demo", "device:demo:1", "other"}; !slices.Equal(store.asked, want) {
		t.Errorf("fetched %q, want %q", store.asked, want)
	}
	want := []wire.Document{{Key: "tenant:demo", Value: "{}"}, {Key: "device:demo:1", State: wire.Absent}, {Key: "other", State: wire.Failed}}
	for n, docs := range [][]wire.Document{nil, want[:1], want} {
		got := core.seen[n]
		if len(got.Documents) != len(docs) || len(docs) > 0 && !reflect.DeepEqual(got.Documents, docs) {
			t.Errorf("call %d had documents %+v, want %+v", n+1, got.Documents, docs)
		}
		if got.Flags != wire.FlagTLS || got.Now != 1<<40 || got.Method != "GET" || got.Target != "/demo/x/y" || !slices.Equal(got.Keys, []string{"key"}) {
			t.Errorf("call %d had another request: %+v", n+1, got)
		}
	}
}

func TestFailure(t *testing.T) {
	change := func(f func(*wire.Response)) step {
		r := good()
		f(&r)
		return respond(r)
	}
	header := func(name, value string) step {
		return change(func(r *wire.Response) { r.Headers = append(r.Headers, wire.Pair{Name: name, Value: value}) })
	}
	for name, test := range map[string]struct {
		steps []step
		cause string
	}{
		"trap":                   {[]step{raw(0, "", &engine.Error{Cause: engine.Trap, Err: errors.New("SECRET")})}, "trap"},
		"trap after a need":      {[]step{need("a"), raw(0, "", &engine.Error{Cause: engine.Trap})}, "trap"},
		"too large":              {[]step{raw(0, "", &engine.Error{Cause: engine.TooLarge})}, "too-large"},
		"another error":          {[]step{raw(0, "", errors.New("SECRET"))}, "unknown"},
		"malformed":              {[]step{raw(wire.StatusMalformed, "SECRET", nil)}, CauseMalformed},
		"unknown status":         {[]step{raw(8, "SECRET", nil)}, CauseMalformed},
		"no response":            {[]step{raw(wire.StatusResponse, "SECRET", nil)}, CauseUnread},
		"empty response":         {[]step{raw(wire.StatusResponse, "", nil)}, CauseUnread},
		"no need":                {[]step{raw(wire.StatusNeed, "SECRET", nil)}, CauseUnread},
		"need of nothing":        {[]step{need()}, CauseNeed},
		"need of too many":       {[]step{need(strings.Split("a,b,c,d,e,f,g,h,i", ",")...)}, CauseNeed},
		"need of a long key":     {[]step{need(strings.Repeat("k", 513))}, CauseNeed},
		"the same twice":         {[]step{need("a", "a")}, CauseNeed},
		"the same again":         {[]step{need("a"), need("a")}, CauseNeed},
		"asks for ever":          {[]step{need("a"), need("b"), need("c"), need("d")}, CauseCalls},
		"status 0":               {[]step{change(func(r *wire.Response) { r.Status = 0 })}, CauseResponse},
		"status 100":             {[]step{change(func(r *wire.Response) { r.Status = 100 })}, CauseResponse},
		"status 1000":            {[]step{change(func(r *wire.Response) { r.Status = 1000 })}, CauseResponse},
		"no length":              {[]step{change(func(r *wire.Response) { r.Headers = r.Headers[:1] })}, CauseResponse},
		"length of another body": {[]step{change(func(r *wire.Response) { r.Body = []byte("hell") })}, CauseResponse},
		"two lengths":            {[]step{header("content-length", "5")}, CauseResponse},
		"no number":              {[]step{change(func(r *wire.Response) { r.Headers[1].Value = "+5" })}, CauseResponse},
		"line end in a value":    {[]step{header("x", "a\r\nset-cookie: b")}, CauseResponse},
		"NUL in a value":         {[]step{header("x", "\x00")}, CauseResponse},
		"name with a space":      {[]step{header("x y", "")}, CauseResponse},
		"name in upper case":     {[]step{header("Content-Length", "5")}, CauseResponse},
		"no name":                {[]step{header("", "")}, CauseResponse},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(name+" "+method, func(t *testing.T) {
				core := &script{steps: test.steps}
				response, err := Answer(t.Context(), core, &documents{}, &wire.Request{Method: method})
				if err == nil || strings.Contains(err.Error(), "SECRET") && test.cause != "unknown" {
					t.Errorf("error %v", err)
				}
				want := wire.Failure()
				if method == "HEAD" {
					want.Body = nil
				}
				want.Audit = []wire.Pair{{Name: "outcome", Value: "failed"}, {Name: "cause", Value: test.cause}}
				if method == "HEAD" && name == "length of another body" {
					want.Audit[1].Value = CauseResponse // a HEAD has no body at all
				}
				if !reflect.DeepEqual(response, want) {
					t.Errorf("got %+v, want %+v", response, want)
				}
				if len(core.seen) > wire.MaxCalls {
					t.Errorf("%d calls", len(core.seen))
				}
			})
		}
	}
}

func TestHead(t *testing.T) {
	r := good()
	r.Body = nil
	response, err := Answer(t.Context(), &script{steps: []step{respond(r)}}, &documents{}, &wire.Request{Method: "HEAD"})
	if err != nil || response.Status != 200 || len(response.Body) != 0 || response.Headers[1].Value != "5" {
		t.Errorf("%+v, %v", response, err)
	}
}

// TestAnswersAreTheirOwn runs a second conversation over the same buffers.
func TestAnswersAreTheirOwn(t *testing.T) {
	first, _ := Answer(t.Context(), &script{steps: []step{respond(good())}}, &documents{}, &wire.Request{})
	other := good()
	other.Body, other.Headers[0].Value, other.Audit[0].Value = []byte("HELLO"), "TEXT/PLAIN", "SERVED"
	if _, err := Answer(t.Context(), &script{steps: []step{respond(other)}}, &documents{}, &wire.Request{}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, good()) {
		t.Errorf("the first answer became %+v", first)
	}
}
