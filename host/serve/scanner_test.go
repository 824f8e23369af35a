package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"stagger/edge/provision"
	"stagger/host/engine"
)

// countingStore counts what it is asked.
type countingStore struct {
	documents map[string]string
	reads     atomic.Int64
}

func (s *countingStore) Get(_ context.Context, key string) (string, bool, error) {
	s.reads.Add(1)
	value, found := s.documents[key]
	return value, found, nil
}

func newSite(t *testing.T, key string, store *countingStore) *httptest.Server {
	core := engine.NewNative(2)
	server := httptest.NewServer(Site{
		Core: core, Store: store, Keys: []string{key}, PlainHTTP: []string{"demo"},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}.Handler())
	t.Cleanup(func() {
		server.Close()
		core.Close(context.Background())
	})
	return server
}

func status(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// 10,000 MACs without a token cost no look-up.
func TestScannersCostNothing(t *testing.T) {
	store := &countingStore{}
	server := newSite(t, strings.Repeat("k", 32), store)
	for n := range 10_000 {
		if got := status(t, server.Client(), fmt.Sprintf("%s/demo/%s/001565%06x.cfg", server.URL, strings.Repeat("a", 30), n)); got != 404 {
			t.Fatalf("status %d", got)
		}
	}
	if n := store.reads.Load(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

// A site of 300 phones behind one address is served, all at once.
func TestOneAddressIsNotThrottled(t *testing.T) {
	key := strings.Repeat("k", 32)
	store := &countingStore{documents: map[string]string{
		"tenant:demo": `{"tenant":"demo","url":"https://prov.example.com","vendor":"yealink","model":"T31G","state":"staged"}`,
	}}
	macs := make([]string, 300)
	for n := range macs {
		macs[n] = fmt.Sprintf("001565%06x", n)
		store.documents["device:demo:"+macs[n]] = `{"device":"` + macs[n] + `","tenant":"demo"}`
	}
	server := newSite(t, key, store)
	bad := make(chan string, len(macs))
	for _, mac := range macs {
		go func() {
			response, err := server.Client().Get(server.URL + "/demo/" + provision.Token(key, "demo", mac, 0) + "/" + mac + ".cfg")
			if err != nil {
				bad <- err.Error()
				return
			}
			response.Body.Close()
			if response.StatusCode != 200 {
				bad <- response.Status
				return
			}
			bad <- ""
		}()
	}
	for range macs {
		if what := <-bad; what != "" {
			t.Error(what)
		}
	}
	if n := store.reads.Load(); n != 2*300 {
		t.Errorf("%d look-ups for 300 phones", n)
	}
}
