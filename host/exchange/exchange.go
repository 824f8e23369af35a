// Package exchange holds the conversation that answers one request: it calls the
// core, fetches the documents that the core asks for, and calls again.
//
// It owns the rule that every request gets a complete answer: whatever goes wrong
// (a trap, an answer that cannot be read, a core that never stops asking) becomes
// wire.Failure, never a part of a file. It must never decide anything about a
// request itself, never fetch what the core did not ask for, and never put a byte
// of a request, a key or a document into an error or an audit field.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"stagger/edge/wire"
	"stagger/host/engine"
)

// Store has the documents. It is safe for concurrent use.
type Store interface {
	// Get returns the document under key. An error means that the store could
	// not tell; the core then answers 503, and phones keep what they have.
	Get(ctx context.Context, key string) (value string, found bool, err error)
}

// Causes in the audit record of a Failure, beside those of package engine.
const (
	CauseMalformed = "malformed" // the core could not read the request
	CauseNeed      = "need"      // the core asked for what it must not ask for
	CauseCalls     = "calls"     // the core still asked at the last call
	CauseUnread    = "unread"    // the host could not read what the core answered
	CauseResponse  = "response"  // the answer is not a response that HTTP can carry
)

// Bounds of a need: no request of ABI v1 comes near them.
const (
	maxNeeds  = 8
	maxKeyLen = 512 // the largest key of Workers KV, in bytes
)

// buffers are what a conversation needs besides its answer.
type buffers struct{ in, out []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// Answer answers request, whose Documents it fills. The response is always
// complete and shares no memory with anything. err is nil unless the response is
// wire.Failure; it then says why, for the operator's log.
func Answer(ctx context.Context, core engine.Engine, store Store, request *wire.Request) (wire.Response, error) {
	b := pool.Get().(*buffers)
	defer pool.Put(b)
	response, err := converse(ctx, core, store, request, b)
	if err == nil {
		return response, nil
	}
	response = wire.Failure()
	if request.Method == "HEAD" {
		response.Body = nil
	}
	response.Audit = []wire.Pair{{Name: "outcome", Value: "failed"}, {Name: "cause", Value: cause(err)}}
	return response, err
}

// A fault is an error of the conversation itself.
type fault struct {
	cause string
	err   error
}

func (f *fault) Error() string {
	if f.err == nil {
		return "exchange: " + f.cause
	}
	return "exchange: " + f.cause + ": " + f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

func cause(err error) string {
	if f := new(fault); errors.As(err, &f) {
		return f.cause
	}
	if e := new(engine.Error); errors.As(err, &e) {
		return e.Cause.String()
	}
	return "unknown"
}

func converse(ctx context.Context, core engine.Engine, store Store, request *wire.Request, b *buffers) (r wire.Response, err error) {
	request.Documents = request.Documents[:0]
	for range wire.MaxCalls {
		b.in = wire.AppendRequest(b.in[:0], request)
		var status uint32
		status, b.out, err = core.Call(ctx, b.in, b.out[:0])
		if err != nil {
			return r, err
		}
		// One copy, which the answer keeps: what is decoded shares its memory.
		output := string(b.out)
		switch status {
		case wire.StatusResponse:
			if err := wire.DecodeResponse(output, &r); err != nil {
				return r, &fault{CauseUnread, err}
			}
			if err := sendable(request.Method, &r); err != nil {
				return r, &fault{CauseResponse, err}
			}
			return r, nil
		case wire.StatusNeed:
			keys, err := wire.DecodeNeed(output, nil)
			if err != nil {
				return r, &fault{CauseUnread, err}
			}
			if err := fetch(ctx, store, keys, request); err != nil {
				return r, &fault{CauseNeed, err}
			}
		default:
			return r, &fault{CauseMalformed, nil}
		}
	}
	return r, &fault{CauseCalls, nil}
}

// fetch adds the documents under keys to the request.
func fetch(ctx context.Context, store Store, keys []string, request *wire.Request) error {
	if len(keys) == 0 {
		return errors.New("it asked for nothing")
	}
	if len(request.Documents)+len(keys) > maxNeeds {
		return errors.New("it asked for too many documents")
	}
	for _, key := range keys {
		if len(key) > maxKeyLen {
			return errors.New("it asked for a key that is too long")
		}
		for i := range request.Documents {
			if request.Documents[i].Key == key {
				return errors.New("it asked for the same document twice")
			}
		}
		document := wire.Document{Key: key}
		value, found, err := store.Get(ctx, key)
		switch {
		case err != nil:
			document.State = wire.Failed
		case !found:
			document.State = wire.Absent
		default:
			document.Value = value
		}
		request.Documents = append(request.Documents, document)
	}
	return nil
}

// sendable checks that HTTP can carry r exactly as it is. net/http would repair
// some of this silently, and a phone would get something else than the record says.
func sendable(method string, r *wire.Response) error {
	if r.Status < 200 || r.Status > 599 {
		return fmt.Errorf("status %d", r.Status)
	}
	length := -1
	for i, h := range r.Headers {
		if !headerName(h.Name) {
			return fmt.Errorf("name of header %d", i)
		}
		for _, c := range []byte(h.Value) {
			if c < ' ' || c == 0x7f {
				return fmt.Errorf("value of header %d", i)
			}
		}
		if h.Name == "content-length" {
			n, err := strconv.ParseUint(h.Value, 10, 31)
			if err != nil || length >= 0 {
				return errors.New("content-length")
			}
			length = int(n)
		}
	}
	switch {
	case length < 0:
		return errors.New("no content-length")
	case method == "HEAD" && len(r.Body) > 0:
		return errors.New("a body for HEAD")
	case method != "HEAD" && len(r.Body) != length:
		return errors.New("content-length is not that of the body")
	}
	return nil
}

// headerName wants a token of RFC 9110 in lower case.
func headerName(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return s != ""
}
