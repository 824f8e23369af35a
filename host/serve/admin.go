package serve

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
)

// Admin returns the handler for the operator: /-/healthz and /metrics. It shows
// nothing of a phone or a tenant, and still belongs on an address that only the
// operator reaches.
func (s Site) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthz", s.health)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics.Handler())
	}
	return mux
}

// health asks the core for a path that nobody has. That it says so means that
// the engine works and the keys are good; the store is not asked.
func (s Site) health(w http.ResponseWriter, r *http.Request) {
	request := wire.Request{Flags: wire.FlagTLS, Now: uint64(time.Now().Unix()), Method: "GET", Target: "/", Keys: s.Keys}
	response, err := exchange.Answer(r.Context(), s.Core, s.Store, &request)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil || response.Status >= 500 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("the core does not answer\n"))
		return
	}
	text := "ok\n"
	if f, ok := s.Store.(*Fleet); ok {
		text += f.State().String()
	}
	_, _ = w.Write([]byte(text))
}

// String is the state in a line, and in two when the file is not what is served.
func (s FleetState) String() string {
	text := fmt.Sprintf("fleet %s loaded %s: %d tenants, %d devices\n", s.Version, s.Loaded.UTC().Format(time.RFC3339), s.Tenants, s.Devices)
	if !s.Failed.IsZero() {
		text += fmt.Sprintf("refused %s: what is in the file now is not served\n", s.Failed.UTC().Format(time.RFC3339))
	}
	return text
}

// detail is what the operator's log says about a Failure beyond its cause: for a
// trap the stack of function names. It holds nothing of a request.
func detail(err error) string {
	if fault := new(engine.Error); errors.As(err, &fault) && fault.Err != nil {
		return fault.Error() + ": " + fault.Err.Error()
	}
	return err.Error()
}
