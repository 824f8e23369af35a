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

// slowStore answers when it is let go, or never: until the request is over.
type slowStore struct {
	countingStore
	asked chan struct{}
}

func (s *slowStore) Get(ctx context.Context, key string) (string, bool, error) {
	if strings.HasSuffix(key, "slow") {
		s.asked <- struct{}{}
		<-ctx.Done()
		return "", false, ctx.Err()
	}
	return s.countingStore.Get(ctx, key)
}

// A store that hangs costs the phone that waits, and nobody else: when it gives up
// nothing is left, and others are served meanwhile.
func TestSlowStore(t *testing.T) {
	key := strings.Repeat("k", 32)
	store := &slowStore{asked: make(chan struct{}, 2)}
	store.documents = map[string]string{
		"tenant:demo":              `{"tenant":"demo","url":"https://prov.example.com","vendor":"yealink","model":"T31G","state":"staged"}`,
		"device:demo:001565aabb01": `{"device":"001565aabb01","tenant":"demo"}`,
	}
	core := engine.NewNative(1)
	server := httptest.NewServer(Site{
		Core: core, Store: store, Keys: []string{key}, PlainHTTP: []string{"demo", "slow"},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}.Handler())
	defer core.Close(context.Background())
	defer server.Close()

	ctx, giveUp := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/slow/"+provision.Token(key, "slow", "001565aabb02", 0)+"/001565aabb02.cfg", nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := server.Client().Do(request)
		ended <- err
	}()
	<-store.asked
	for range 3 {
		if got := status(t, server.Client(), server.URL+"/demo/"+provision.Token(key, "demo", "001565aabb01", 0)+"/001565aabb01.cfg"); got != 200 {
			t.Errorf("status %d while another request waits for the store", got)
		}
	}
	giveUp()
	if err := <-ended; err == nil {
		t.Error("the request that gave up has an answer")
	}
}

// Many headers are carried, and a target beyond all measure is the common 404.
func TestLargeRequests(t *testing.T) {
	key := strings.Repeat("k", 32)
	server := newSite(t, key, &countingStore{documents: map[string]string{
		"tenant:demo":              `{"tenant":"demo","url":"https://prov.example.com","vendor":"yealink","model":"T31G","state":"staged"}`,
		"device:demo:001565aabb01": `{"device":"001565aabb01","tenant":"demo"}`,
	}})
	request, err := http.NewRequest("GET", server.URL+"/demo/"+provision.Token(key, "demo", "001565aabb01", 0)+"/001565aabb01.cfg", nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		request.Header.Set(fmt.Sprintf("X-Header-%d", n), strings.Repeat("x", 1000))
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("100 headers of a kilobyte: %s", response.Status)
	}
	if got := status(t, server.Client(), server.URL+"/"+strings.Repeat("a", 20_000)); got != 404 {
		t.Errorf("a path of 20,000 bytes: %d", got)
	}
	if got := status(t, server.Client(), server.URL+strings.Repeat("/a", 1000)); got != 404 {
		t.Errorf("1,000 segments: %d", got)
	}
}
