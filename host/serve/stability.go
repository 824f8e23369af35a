package serve

import (
	"sync"

	"github.com/cespare/xxhash/v2"
)

// watched is how many files a Watch remembers at most: two or three of each of
// 400,000 phones, in about 60 MB.
const watched = 1 << 20

// A Watch remembers what each file of each phone was made of and what came of it.
// Bytes that change by themselves make phones apply the file, and some reboot for
// it, at every check-in, for ever: that is the one thing that must never happen.
type Watch struct {
	mu sync.Mutex
	// Two halves bound the memory: when the newer is full the older is forgotten.
	// What is asked for again moves into the newer.
	newer, older map[uint64]made
	half         int
}

// made is what the record of a file had under "documents" and "hash", as numbers.
type made struct{ documents, body uint64 }

// NewWatch returns a Watch that remembers nothing yet.
func NewWatch() *Watch { return newWatch(watched) }

func newWatch(limit int) *Watch {
	return &Watch{newer: map[uint64]made{}, half: limit / 2}
}

// changed says whether the file of a device has another body than the last time
// although it was made of the same documents.
func (w *Watch) changed(tenant, mac, file, documents, body string) bool {
	var room [96]byte
	key := append(room[:0], tenant...)
	key = append(append(key, '|'), mac...)
	key = append(append(key, '|'), file...)
	id := xxhash.Sum64(key)
	now := made{xxhash.Sum64String(documents), xxhash.Sum64String(body)}

	w.mu.Lock()
	defer w.mu.Unlock()
	last, known := w.newer[id]
	if !known {
		last, known = w.older[id]
		if len(w.newer) >= w.half {
			w.newer, w.older = map[uint64]made{}, w.newer
		}
	}
	w.newer[id] = now
	return known && last.documents == now.documents && last.body != now.body
}

// size is how many files are remembered.
func (w *Watch) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.newer) + len(w.older)
}
