package telemetry

import (
	"slices"
	"sync"
)

// pieceSize is how much is written, and sent, at once, in bytes: about 1,400
// records. It is below what servers of HTTP take unless they are told otherwise
// (1 MiB and more).
const pieceSize = 512 << 10

// A piece is records, a line of JSON each.
type piece struct {
	lines   []byte
	records int
}

// buffer is the memory that records may take: pieces of one size, of which one is being
// filled. It is written to by requests and never makes one wait.
type buffer struct {
	// full tells that a piece is.
	full chan struct{}

	mu      sync.Mutex
	filling piece
	// ready wait to be written to the spool, the oldest first; free were.
	ready []piece
	free  [][]byte
	// made counts pieces that were ever made, of at most limit.
	made, limit int
	records     int    // in filling and ready
	dropped     uint64 // those that found no room
}

func newBuffer(bytes int) *buffer {
	return &buffer{full: make(chan struct{}, 1), limit: bytes / pieceSize}
}

// Write takes one line. It keeps no reference to it and never fails: what finds
// no room is counted.
func (b *buffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(line) > pieceSize || !b.room(len(line)) {
		b.dropped++
		return len(line), nil
	}
	b.filling.lines = append(b.filling.lines, line...)
	b.filling.records++
	b.records++
	return len(line), nil
}

// room sees to it that a line fits into the piece that is being filled.
func (b *buffer) room(n int) bool {
	if b.filling.lines != nil && len(b.filling.lines)+n <= pieceSize {
		return true
	}
	lines := b.empty()
	if lines == nil {
		return false
	}
	if b.filling.lines != nil {
		b.ready = append(b.ready, b.filling)
		select {
		case b.full <- struct{}{}:
		default: // it has been told
		}
	}
	b.filling = piece{lines: lines}
	return true
}

// empty is an empty piece, or nil when all that there may be are in use.
func (b *buffer) empty() []byte {
	if n := len(b.free); n > 0 {
		lines := b.free[n-1]
		b.free = b.free[:n-1]
		return lines
	}
	if b.made == b.limit {
		return nil
	}
	b.made++
	return make([]byte, 0, pieceSize)
}

// take takes the oldest piece that is ready; with all, the one that is being
// filled as well, at last. The caller answers with release or restore.
func (b *buffer) take(all bool) (p piece, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.ready) > 0:
		p = b.ready[0]
		b.ready = slices.Delete(b.ready, 0, 1)
	case all && b.filling.records > 0:
		p, b.filling = b.filling, piece{}
	default:
		return piece{}, false
	}
	return p, true
}

// release gives the memory of a piece back, whose records are somewhere else now.
func (b *buffer) release(p piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records -= p.records
	b.free = append(b.free, p.lines[:0])
}

// restore puts a piece back that nobody took.
func (b *buffer) restore(p piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = slices.Insert(b.ready, 0, p)
}

// state is how many bytes and records are in memory, and how many found no room.
func (b *buffer) state() (bytes, records int, dropped uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made * pieceSize, b.records, b.dropped
}
