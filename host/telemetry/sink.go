package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Sink takes records out of the process. It is used by one goroutine at a time.
type Sink interface {
	// Send hands over records, a line of JSON each. nil means that the sink has
	// them, ErrPartial that it has what it wants of them. A *Refusal says what the
	// sink answered instead; with any other error nobody knows whether it has them.
	// ctx bounds the attempt.
	Send(ctx context.Context, lines []byte) error
}

// ErrPartial is the error of a sink that took records and says that it did not keep all.
var ErrPartial = errors.New("the sink did not keep all records of a flush")

// A Refusal is an answer of a sink that did not take records.
type Refusal struct {
	// Status is the status of HTTP.
	Status int
	// After is how long the sink wants not to be asked, or 0.
	After time.Duration
}

func (r *Refusal) Error() string { return fmt.Sprintf("the sink answers %d", r.Status) }

// final says that the same records will never be taken.
func (r *Refusal) final() bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// maxAfter bounds how long a sink can send a process away.
const maxAfter = time.Hour

// retryAfter reads a header of RFC 9110, 10.2.3: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxAfter)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), maxAfter)
	}
	return 0
}

// Sinks over HTTP, and what a file of headers may hold.
const (
	connectTimeout = 10 * time.Second
	maxAnswer      = 64 << 10 // bytes that are read of one
	maxHeaderFile  = 16 << 10
)

// HeaderVariable is the variable of the environment with the header that a sink wants,
// "Name: value".
const HeaderVariable = "STAGGER_TELEMETRY_HEADER"

// ReadHeader reads the headers that a sink wants, a "Name: value" a line, from the
// environment or a file. They are secrets: no error holds a value.
func ReadHeader(getenv func(string) string, file string) (http.Header, error) {
	text, from := getenv(HeaderVariable), HeaderVariable
	if file != "" {
		if text != "" {
			return nil, fmt.Errorf("both %s and the file %s are given: use one", HeaderVariable, file)
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("telemetry header file: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxHeaderFile+1))
		if err != nil {
			return nil, fmt.Errorf("telemetry header file: %w", err)
		}
		if len(b) > maxHeaderFile {
			return nil, fmt.Errorf("telemetry header file: %s is too large to be one", file)
		}
		text, from = string(b), file
	}
	header := http.Header{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok || !isToken(name) || !isFieldValue(value) {
			return nil, fmt.Errorf("%s: line %d is not a header such as Authorization: Bearer ...", from, number)
		}
		header.Add(name, value)
	}
	return header, nil
}

// isToken and isFieldValue are the grammar of RFC 9110, 5.1 and 5.5, without what is
// obsolete.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func isFieldValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return s != ""
}

// ParseURL reads the URL of a sink. A name or a password in it would be in the list
// of processes for everybody to see: that is what headers are for.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("is not a URL such as https://collector.example.com/v1/logs")
	case u.User != nil:
		return nil, errors.New("has a password in its URL: use " + HeaderVariable)
	case u.Fragment != "":
		return nil, errors.New("has a fragment in its URL")
	}
	return u, nil
}

// client is the way to a sink over HTTP: it adds the headers, follows nothing, and
// makes errors of what is no success. Its errors do not hold the URL.
type client struct {
	transport http.RoundTripper
	header    http.Header
	// failure is why the last request failed, and taken that it did not: a library
	// between may make of it what it likes.
	failure error
	taken   bool
}

func newClient(header http.Header) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext
	transport.TLSHandshakeTimeout = connectTimeout
	// One sink, one request at a time.
	transport.MaxIdleConns = 1
	return &client{transport: transport, header: header}
}

// RoundTrip implements http.RoundTripper: an answer is a success.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.header {
		r.Header[name] = values
	}
	response, err := c.transport.RoundTrip(r)
	if err == nil && (response.StatusCode < 200 || response.StatusCode > 299) {
		// The connection is good for another request only when the answer is read.
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
		_ = response.Body.Close()
		refusal := &Refusal{Status: response.StatusCode}
		if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
			refusal.After = retryAfter(response.Header.Get("Retry-After"), time.Now())
		}
		response, err = nil, refusal
	}
	c.failure, c.taken = err, err == nil
	return response, err
}

// NewNDJSON returns a sink that takes records as they are, lines of JSON, in the
// body of a POST.
func NewNDJSON(to *url.URL, header http.Header) Sink {
	return &ndjson{url: to.String(), client: newClient(header)}
}

type ndjson struct {
	url    string
	client *client
}

func (s *ndjson) Send(ctx context.Context, lines []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(lines))
	if err != nil {
		return errors.New("the request cannot be made") // its own error has the URL
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("User-Agent", "stagger")
	response, err := s.client.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	return errors.Join(err, response.Body.Close())
}
