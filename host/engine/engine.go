// Package engine runs the core: the same function compiled to WebAssembly and
// run by wazero (Wasm), or called as ordinary Go (Native).
//
// It owns the instances, the rule that nothing of a request outlives it, and the
// rule that an instance which misbehaved never runs again. It must never look
// into a request or an answer, never put any byte of one into an error, and
// never let a fault of the guest take the host down with it.
//
// # What a call costs
//
// One phone's file (1.1 KB in, 3.1 KB of file out), one call, measured on two cores of
// a Xeon that others used as well:
//
//	native                 30 us
//	Wasm, built by TinyGo  110 us, of which 6 us put back 210 KiB and clear 12 KiB
//	Wasm, built by Go      1,100 us, of which 480 us put back all of 5 MiB
//
// A new instance takes 0.8 ms (TinyGo) and 9 ms (Go), which is why a good one is
// kept. No call on wazero allocates. A million calls of the TinyGo build and
// 300,000 of the Go build, on one instance each, left memory and globals at their
// size and in every byte as they were; from there on every call repeats the first.
package engine

import (
	"context"
	"strconv"
	"sync/atomic"

	"stagger/edge/wire"
)

// Engine runs the core. It is safe for concurrent use.
type Engine interface {
	// Call hands in, one encoded wire.Request, to the core and appends what the
	// core answers to out. The status is one of those that ABI v1 defines. With
	// an error, which is always an *Error, out comes back as it was given.
	// ctx bounds the wait for an instance; a call that has begun is not stopped.
	Call(ctx context.Context, in, out []byte) (status uint32, output []byte, err error)
	// Stats counts what happened so far.
	Stats() Stats
	// Close waits for calls that have begun, as long as ctx lasts, and releases
	// everything. Calls that come later answer Closed.
	Close(ctx context.Context) error
}

// Cause says why a call failed or why an instance was discarded. The set is
// fixed, so that it can label a metric and a log line.
type Cause uint8

// The causes.
const (
	TooLarge Cause = iota // the request exceeds wire.MaxInput; no instance saw it
	Busy                  // ctx ended while all instances were at work
	Closed                // the engine was closed
	Start                 // a new instance could not be made
	Trap                  // the guest trapped, or the native core panicked
	Input                 // the guest gave no room for the request, or room outside its memory
	Status                // the guest answered a status that ABI v1 does not have
	Output                // the answer lies outside the guest's memory
	Heap                  // heap_top lies outside the memory or below where it began
	Grew                  // the memory grew: no failure of the call, but the instance is discarded
	causes                // how many there are
)

var causeNames = [causes]string{
	"too-large", "busy", "closed", "start", "trap", "input", "status", "output", "heap", "grew",
}

// Causes lists all causes.
func Causes() []Cause {
	list := make([]Cause, causes)
	for i := range list {
		list[i] = Cause(i)
	}
	return list
}

func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return "cause " + strconv.Itoa(int(c))
}

// Error is why a call failed. Its text names the cause alone; Err, when there is
// one, says more (a stack of function names, for a trap) and is many lines long.
type Error struct {
	Cause Cause
	Err   error
}

func (e *Error) Error() string { return "engine: " + e.Cause.String() }

// Unwrap returns the error behind e, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Stats is what an engine counted since it was made.
type Stats struct {
	// Size is how many instances there may be, InUse how many are at work now.
	Size, InUse int
	// Calls counts those that reached the core.
	Calls uint64
	// Failures counts calls that answered an error, Discards the instances
	// thrown away, each by cause.
	Failures, Discards [causes]uint64
}

// tally is Stats while it is being counted.
type tally struct {
	calls              atomic.Uint64
	failures, discards [causes]atomic.Uint64
}

func (t *tally) fail(c Cause, err error) *Error {
	t.failures[c].Add(1)
	return &Error{c, err}
}

func (t *tally) stats(size, inUse int) Stats {
	s := Stats{Size: size, InUse: inUse, Calls: t.calls.Load()}
	for c := range causes {
		s.Failures[c] = t.failures[c].Load()
		s.Discards[c] = t.discards[c].Load()
	}
	return s
}

// known says whether status is one that ABI v1 defines.
func known(status uint32) bool { return status <= wire.StatusMalformed }
