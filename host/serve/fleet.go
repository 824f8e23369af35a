package serve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagger/host/exchange"
)

// Documents are a fleet as it was read at one time.
type Documents interface {
	exchange.Store
	Tenants() int
	Devices() int
	// Version is a word that is another for other documents, or "".
	Version() string
	// Close is called when no request needs the documents any more.
	Close() error
}

// A Fleet is the store of a Site that can be read anew while it serves. A request gets
// all its documents from one reading. What cannot be read, or is refused, changes
// nothing: the phones get their files from what was good.
type Fleet struct {
	load func() (Documents, error)
	path string
	keys []string
	log  *slog.Logger
	// count is put around every store; see Metrics.WatchFleet.
	count func(exchange.Store) exchange.Store
	now   func() time.Time

	current atomic.Pointer[reading]
	// mu is held while the fleet is read.
	mu sync.Mutex
	// tried is the file of the last attempt.
	tried          fs.FileInfo
	loads, refused atomic.Uint64
	// failed is when the last attempt was refused; zero when it was not.
	failed atomic.Pointer[time.Time]
}

// A reading is a fleet that was read.
type reading struct {
	documents Documents
	store     exchange.Store
	version   string
	at        time.Time
	// users is held for reading by those who use it.
	users  sync.RWMutex
	closed bool
}

// FleetOptions are what a Fleet is made of. Load and Log are required.
type FleetOptions struct {
	// Load reads and judges the documents.
	Load func() (Documents, error)
	// Path is the file that they are in, or "" when there is none to look at.
	Path string
	// Keys are the master secrets: versions are shown keyed, because a plain hash of
	// a fleet would be a way to guess its passwords.
	Keys []string
	Log  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// NewFleet reads the fleet for the first time.
func NewFleet(o FleetOptions) (*Fleet, error) {
	f := &Fleet{load: o.Load, path: o.Path, keys: o.Keys, log: o.Log, now: o.Now}
	if f.now == nil {
		f.now = time.Now
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.read()
	return f, err
}

// read reads the fleet and puts it in the place of the one before, which it returns.
func (f *Fleet) read() (old *reading, err error) {
	// Before, so that what changes during the reading is seen to have changed.
	f.tried = f.file()
	documents, err := f.load()
	if err == nil && documents.Tenants() == 0 && f.current.Load() != nil {
		// Somebody emptied the file and has not filled it again.
		err = errors.Join(errors.New("the fleet has no tenant"), documents.Close())
	}
	if err != nil {
		now := f.now()
		f.failed.Store(&now)
		f.refused.Add(1)
		return nil, err
	}
	r := &reading{documents: documents, store: documents, version: keyed(f.keys, documents.Version()), at: f.now()}
	if f.count != nil {
		r.store = f.count(documents)
	}
	f.failed.Store(nil)
	f.loads.Add(1)
	return f.current.Swap(r), nil
}

// file is the file as it is, or nil.
func (f *Fleet) file() fs.FileInfo {
	if f.path == "" {
		return nil
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return nil
	}
	return info
}

// same says whether two looks at a file saw the same. Who replaces it by rename makes
// another file, and who writes into it another time or size.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// keyed is a version as it may be shown.
func keyed(keys []string, version string) string {
	if version == "" || len(keys) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(keys[0]))
	mac.Write([]byte("stagger fleet v1\x00" + version))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// maxLogged is how many of a file's errors the log shows.
const maxLogged = 20

// Reload reads the fleet anew. Requests that have begun keep what they have; that is
// waited for before the old documents are closed.
func (f *Fleet) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.read()
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		more := max(0, len(lines)-maxLogged)
		f.log.Error("fleet refused: the one before stays", "errors", lines[:len(lines)-more], "more", more)
		return err
	}
	r := f.current.Load()
	f.log.Info("fleet loaded", "version", r.version, "tenants", r.documents.Tenants(), "devices", r.documents.Devices())
	if err := old.close(); err != nil {
		f.log.Warn("close the fleet before", "error", err.Error())
	}
	return nil
}

func (r *reading) close() error {
	r.users.Lock()
	defer r.users.Unlock()
	r.closed = true
	return r.documents.Close()
}

// Close closes the documents.
func (f *Fleet) Close() error { return f.current.Load().close() }

// Watch reads the fleet anew whenever there is something on again, and when its file
// has changed and then was the same at two looks: whoever writes it is done. It looks
// at every tick, and returns when ctx ends.
func (f *Fleet) Watch(ctx context.Context, again <-chan os.Signal, tick <-chan time.Time) {
	f.mu.Lock()
	seen := f.tried
	f.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			_ = f.Reload() // it is in the log
		case <-tick:
			seen = f.look(seen)
		}
	}
}

// look reads the fleet anew if its file has changed and is as it was seen at the look
// before. It returns the file as it is now.
func (f *Fleet) look(before fs.FileInfo) fs.FileInfo {
	now := f.file()
	if same(now, before) && !same(now, f.last()) {
		_ = f.Reload() // it is in the log
	}
	return now
}

// last is the file of the last attempt. One that was refused is not tried again as
// long as it stays as it is.
func (f *Fleet) last() fs.FileInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tried
}

// pin returns a store that stays the same until release is called.
func (f *Fleet) pin() (store exchange.Store, release func()) {
	for {
		r := f.current.Load()
		r.users.RLock()
		if !r.closed {
			return r.store, r.users.RUnlock
		}
		r.users.RUnlock() // another one is current by now
	}
}

// Get returns a document of the current reading.
func (f *Fleet) Get(ctx context.Context, key string) (string, bool, error) {
	store, release := f.pin()
	defer release()
	return store.Get(ctx, key)
}

// pinned is the store for one request.
func pinned(store exchange.Store) (exchange.Store, func()) {
	if f, ok := store.(*Fleet); ok {
		return f.pin()
	}
	return store, func() {}
}

// A FleetState is what is served now.
type FleetState struct {
	Version          string
	Loaded           time.Time
	Tenants, Devices int
	// Loads and Refused count the attempts.
	Loads, Refused uint64
	// Failed is when the last attempt was refused, or zero.
	Failed time.Time
}

// State says what is served now.
func (f *Fleet) State() FleetState {
	r := f.current.Load()
	s := FleetState{
		Version: r.version, Loaded: r.at, Tenants: r.documents.Tenants(), Devices: r.documents.Devices(),
		Loads: f.loads.Load(), Refused: f.refused.Load(),
	}
	if at := f.failed.Load(); at != nil {
		s.Failed = *at
	}
	return s
}
