// Package serve is the HTTP server for phones, and the one for the operator.
//
// It owns the way from a request on the wire to a wire.Request and from a
// response back: facts, time, limits, logs, metrics. It must never decide who
// gets what (the core does), never answer a phone with anything but what the core
// said or wire.Failure, never read a request's body, and never log a token, a
// header or a document.
package serve

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/telemetry"
)

// maxAgent is how much of the User-Agent the core gets, in bytes.
const maxAgent = 256

// A Site is what is served. Log, Core, Store and Keys are required.
type Site struct {
	Core  engine.Engine
	Store exchange.Store
	// Keys are the master secrets in bytes, the current one first.
	Keys []string
	// PlainHTTP and Open are the tenants whose phones may come without TLS, and
	// without a token.
	PlainHTTP, Open []string
	// Hosts, unless empty, are the only names under which phones are served.
	Hosts []string
	// Proxies are the peers whose X-Forwarded-Proto and X-Forwarded-For are
	// believed.
	Proxies []netip.Prefix
	// ClientCAs issue the phones' certificates; nil asks for none. CertHeaders are
	// how a trusted front says what it saw of them.
	ClientCAs   *x509.CertPool
	CertHeaders CertificateHeaders
	Log         *slog.Logger
	// Metrics may be nil, and so may Admit, which then lets everybody in, Stability
	// and Telemetry, which gets the records of the access log.
	Metrics   *Metrics
	Admit     *Admission
	Stability *Watch
	Telemetry *telemetry.Recorder
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Handler returns the handler for phones. It is not for use behind http.ServeMux,
// which redirects paths that are not clean: here every path is the core's.
func (s Site) Handler() http.Handler {
	if s.Now == nil {
		s.Now = time.Now
	}
	return &phones{
		Site:      s,
		plainHTTP: strings.Join(s.PlainHTTP, ","),
		open:      strings.Join(s.Open, ","),
		hosts:     strings.ToLower(strings.Join(s.Hosts, ",")),
		digester:  newDigester(s.Keys),
	}
}

type phones struct {
	Site
	plainHTTP, open, hosts string
	digester               *digester
}

// requests are reused: each has room for its facts and documents.
var requests = sync.Pool{New: func() any { return new(wire.Request) }}

func (p *phones) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := p.Now()
	refuseBody(w, r)
	peer := peerOf(r)
	trusted := p.trusts(peer)
	client := clientOf(r, peer, trusted, p.trusts)

	after := 0
	if p.Admit != nil {
		after = p.Admit.admit(r.RequestURI, client, start)
	}
	var response wire.Response
	var documents string
	var err error
	if after > 0 {
		response = later(r.Method, after)
	} else {
		response, documents, err = p.answer(r, start, trusted)
	}
	answered := p.Now()
	written := send(w, r, &response)
	end := p.Now()
	if p.Metrics != nil {
		p.Metrics.observe(&response, answered.Sub(start), end.Sub(start))
	}
	attrs := record(r, &response, documents, written, end.Sub(start), client)
	level := slog.LevelInfo
	if response.Status >= 500 && after == 0 {
		level = slog.LevelError
	}
	if err != nil {
		attrs = append(attrs, slog.String("detail", detail(err)))
	}
	if p.unstable(&response, documents) {
		attrs = append(attrs, slog.Bool("unstable", true))
		level = slog.LevelError
	}
	p.note(r.Context(), end, level, attrs)
}

// note puts the record of a request into the log, and hands it to telemetry.
func (p *phones) note(ctx context.Context, at time.Time, level slog.Level, attrs []slog.Attr) {
	line := slog.NewRecord(at, level, "request", 0)
	line.AddAttrs(attrs...)
	if p.Log.Enabled(ctx, level) {
		// A log that cannot be written is nothing that a phone should hear of.
		_ = p.Log.Handler().Handle(ctx, line)
	}
	if p.Telemetry != nil {
		p.Telemetry.Record(line)
	}
}

// unstable says whether the bytes of a file have changed by themselves, and raises
// the alarm.
func (p *phones) unstable(response *wire.Response, documents string) bool {
	if p.Stability == nil || response.Status != 200 || documents == "" {
		return false
	}
	var tenant, mac, file, hash string
	for _, field := range response.Audit {
		switch field.Name {
		case "tenant":
			tenant = field.Value
		case "mac":
			mac = field.Value
		case "file":
			file = field.Value
		case "hash":
			hash = field.Value
		}
	}
	if hash == "" || !p.Stability.changed(tenant, mac, file, documents, hash) {
		return false
	}
	if p.Metrics != nil {
		p.Metrics.unstable.Inc()
	}
	p.Log.Error("a file changed and its documents did not: the phone may reboot at every check-in",
		"tenant", tenant, "mac", mac, "file", file, "documents", documents, "hash", hash)
	return true
}

// answer asks the core. documents tells those apart that it answered from.
func (p *phones) answer(r *http.Request, now time.Time, trusted bool) (response wire.Response, documents string, err error) {
	request := requests.Get().(*wire.Request)
	p.fill(request, r, now, trusted)
	store, release := pinned(p.Store)
	response, err = exchange.Answer(r.Context(), p.Core, store, request)
	release()
	documents = p.digester.documents(request.Documents)
	clear(request.Facts)
	clear(request.Documents)
	requests.Put(request)
	return response, documents, err
}

func (p *phones) fill(request *wire.Request, r *http.Request, now time.Time, trusted bool) {
	request.Flags = 0
	if overTLS(r, trusted) {
		request.Flags = wire.FlagTLS
	}
	request.Now = uint64(max(0, now.Unix()))
	request.Method = r.Method
	request.Target = r.RequestURI
	request.Keys = p.Keys
	request.Facts = request.Facts[:0]
	fact := func(name, value string) {
		if value != "" {
			request.Facts = append(request.Facts, wire.Pair{Name: name, Value: value})
		}
	}
	fact("authorization", strings.Join(r.Header.Values("Authorization"), ", "))
	agent := r.UserAgent()
	fact("user-agent", agent[:min(len(agent), maxAgent)])
	p.certificateFacts(r, now, trusted, fact)
	if p.hosts != "" {
		fact("host", r.Host)
		fact("hosts", p.hosts)
	}
	fact("plain-http", p.plainHTTP)
	fact("open", p.open)
}

// overTLS says whether the phone's own connection is encrypted, as far as this
// server or a trusted front can tell.
func overTLS(r *http.Request, trusted bool) bool {
	if r.TLS != nil {
		return true
	}
	// Two values would be one of the front and one of the client.
	proto := r.Header.Values("X-Forwarded-Proto")
	return trusted && len(proto) == 1 && strings.EqualFold(proto[0], "https")
}

func (p *phones) trusts(addr netip.Addr) bool {
	for _, prefix := range p.Proxies {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// peerOf is the other end of the connection.
func peerOf(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

// clientOf is who the log says it was: the peer, or behind trusted fronts the
// last address that none of them is known to have.
func clientOf(r *http.Request, peer netip.Addr, trusted bool, trusts func(netip.Addr) bool) netip.Addr {
	if !trusted {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		if peer = hop.Unmap().WithZone(""); !trusts(peer) {
			break
		}
	}
	return peer
}

// refuseBody makes net/http answer a request that has a body without reading it:
// an upload of 100 MB gets its 405 at once, and then the connection goes.
func refuseBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	control := http.NewResponseController(w)
	// net/http reads some of a body before it answers, and more after, in the
	// hope to keep the connection. Neither can fail here in a way that matters:
	// the answer is the same, later.
	_ = control.EnableFullDuplex()
	_ = control.SetReadDeadline(time.Unix(1, 0))
}

// send writes exactly the response, and Date, and returns the length of the body
// that was written.
func send(w http.ResponseWriter, r *http.Request, response *wire.Response) int {
	header := w.Header()
	for _, h := range response.Headers {
		header.Add(h.Name, h.Value)
	}
	if _, ok := header["Content-Type"]; !ok {
		header["Content-Type"] = nil // or net/http would guess one from the body
	}
	w.WriteHeader(int(response.Status))
	if r.Method == http.MethodHead {
		return 0
	}
	// A phone that hung up gets nothing; what was written is in the log.
	n, _ := w.Write(response.Body)
	return n
}
