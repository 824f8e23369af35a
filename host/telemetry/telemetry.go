// Package telemetry takes a record of every request and hands the records to a
// sink, all of a while at once.
//
// It owns the way of a record from the request to the sink: the buffer in memory,
// the moment of a flush, the spool on disk, the retries. It must never make a
// request wait for a disk or a network, never hold more memory than its buffer
// has, never lose a record without counting it, and never tell a sink's header, the path
// of its URL or its answer in an error.
//
// # When a flush comes
//
// A hundred hosts that were started together and flush every minute would meet at
// the sink every minute for ever, as phones do at a registrar. So each process
// draws a D at random from [0, interval), once, when it starts; it flushes first
// after D and then every interval, at once when a piece of the buffer is full, and
// a last time when it ends. D comes from a random source and not from a name of the
// host, so that two processes of one machine differ. A phone's offset must be the same
// for ever because the phone compares files; nobody compares two flushes.
//
// # What can be lost
//
// A flush writes to the spool and then sends what the spool has, the oldest first.
// What is in the spool outlives the process. So a process that is stopped loses
// nothing, one that is killed loses what it had recorded since its last flush, and
// a sink that is away costs nothing until the spool is full; then the oldest
// go, and are counted. A record may arrive twice: when the process dies, or the
// connection, between the sink's having it and its saying so.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of an interval.
const (
	MinInterval = time.Second
	MaxInterval = 24 * time.Hour
)

// MinSpool is the least limit of a spool in bytes: a few pieces of the buffer.
const MinSpool = 8 * pieceSize

// MinBuffer is the least limit of a buffer in bytes: one piece that fills and one that is
// written.
const MinBuffer = 2 * pieceSize

// Options say how records go to a sink. Sink, Spool and Log are required.
type Options struct {
	// Sink takes the records.
	Sink Sink
	// Interval is the time between flushes, from MinInterval to MaxInterval.
	Interval time.Duration
	// Spool names a folder for records that wait for the sink, of this process
	// alone; it is made where it does not exist. SpoolLimit is how many bytes of a
	// disk it may take, MinSpool or more.
	Spool      string
	SpoolLimit int64
	// Buffer is how many bytes of memory records may take, MinBuffer or more.
	Buffer int
	// PerMinute makes one record of those of a minute that are alike.
	PerMinute bool
	// Log is told when the sink does not take records, and when it does again.
	Log *slog.Logger
}

// A Recorder takes records. It is safe for concurrent use.
type Recorder struct {
	options Options
	first   time.Duration
	buffer  *buffer
	lines   slog.Handler // writes to buffer
	minutes *minutes     // nil unless PerMinute
	spool   *spool

	// due tells the sender that there is something in the spool, kept that there
	// will be nothing more.
	due, kept chan struct{}
	// stop ends the keeper, and after it the sender; abort ends what the sender is
	// waiting for. ended tells that it has.
	stop, abort context.CancelFunc
	ended       chan struct{}
	close       sync.Once

	// spoolAway says that the spool did not take the last piece.
	spoolAway atomic.Bool

	recorded, sent, refused, flushes, failures atomic.Uint64
	lastSent                                   atomic.Int64 // nanoseconds since 1970, or 0
}

// Start opens the spool, draws the moment of the first flush, and begins. What an
// earlier process left in the spool goes with that flush, before anything else.
func Start(options Options) (*Recorder, error) {
	return start(options, rand.N(options.Interval))
}

func start(options Options, first time.Duration) (*Recorder, error) {
	spool, err := openSpool(options.Spool, options.SpoolLimit)
	if err != nil {
		return nil, fmt.Errorf("telemetry spool: %w", err)
	}
	r := &Recorder{
		options: options, first: first, buffer: newBuffer(options.Buffer), spool: spool,
		due: make(chan struct{}, 1), kept: make(chan struct{}), ended: make(chan struct{}),
	}
	r.lines = slog.NewJSONHandler(r.buffer, nil)
	if options.PerMinute {
		r.minutes = newMinutes(r.lines)
	}
	var keeping, sending context.Context
	keeping, r.stop = context.WithCancel(context.Background())
	sending, r.abort = context.WithCancel(context.Background())
	go r.keeper(keeping, time.Now().Add(first))
	go r.sender(sending)
	return r, nil
}

// First is when the first flush comes, after the start.
func (r *Recorder) First() time.Duration { return r.first }

// Record takes a record. It keeps no reference to it, and waits for nothing.
func (r *Recorder) Record(record slog.Record) {
	r.recorded.Add(1)
	if r.minutes != nil {
		r.minutes.add(record)
		return
	}
	_ = r.lines.Handle(context.Background(), record) // the buffer never fails
}

// Close flushes: it writes what was recorded to the spool, and sends what the spool
// has for as long as ctx lasts, unless the sink asked not to be asked. What is not
// sent then waits for the next process. Records that come later are lost.
func (r *Recorder) Close(ctx context.Context) (err error) {
	r.close.Do(func() {
		r.stop()
		stop := context.AfterFunc(ctx, r.abort)
		<-r.ended
		stop()
		r.abort()
		if _, left, _ := r.buffer.state(); left > 0 {
			err = fmt.Errorf("telemetry: neither the spool nor the sink took the last %d records", left)
		}
		if _, waiting, _ := r.spool.state(); waiting > 0 {
			r.options.Log.Warn("telemetry: records wait in the spool for the next process", "waiting", waiting)
		}
		err = errors.Join(err, r.spool.close())
	})
	return err
}

// keeper moves records from the buffer to the spool: all of them when a flush is
// due, and a piece when it is full.
func (r *Recorder) keeper(ctx context.Context, next time.Time) {
	defer close(r.kept)
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			r.keep(true)
			return
		case <-r.buffer.full:
			r.keep(false)
		case <-timer.C:
			r.keep(true)
			r.flushes.Add(1)
			// From the moment that it was due, so that the phase stays.
			for now := time.Now(); !next.After(now); {
				next = next.Add(r.options.Interval)
			}
			timer.Reset(time.Until(next))
		}
		select {
		case r.due <- struct{}{}:
		default: // it has been told
		}
	}
}

func (r *Recorder) keep(all bool) {
	if all && r.minutes != nil {
		r.minutes.flush()
	}
	for {
		p, ok := r.buffer.take(all)
		if !ok {
			return
		}
		if err := r.spool.put(p); err != nil {
			// It stays in memory, which is bounded, until the spool or the sink
			// takes it.
			r.buffer.restore(p)
			r.spoolAway.Store(true)
			r.options.Log.Error("telemetry: the spool takes no records", "error", err.Error())
			return
		}
		r.spoolAway.Store(false)
		r.buffer.release(p)
	}
}

// Stats is what a recorder has counted since it began, and what it holds.
type Stats struct {
	// Recorded counts the records that were made, Sent those that a sink has; where one
	// is made of those of a minute, Sent counts those.
	Recorded, Sent uint64
	// NoRoom counts records that found the buffer full, Displaced those that made
	// room in a full spool, Refused those that the sink will never take.
	NoRoom, Displaced, Refused uint64
	// Flushes counts those that were due, Failures the attempts to send that failed.
	Flushes, Failures uint64
	// BufferBytes are taken by the buffer, of BufferLimit; Buffered are the records
	// in it. SpoolBytes are taken by the spool, of SpoolLimit; Spooled are the
	// records in it.
	BufferBytes, BufferLimit, Buffered int
	SpoolBytes, SpoolLimit             int64
	Spooled                            int
	// LastSent is when the sink last took records; zero when it never did.
	LastSent time.Time
}

// Stats counts.
func (r *Recorder) Stats() Stats {
	s := Stats{
		Recorded: r.recorded.Load(), Sent: r.sent.Load(), Refused: r.refused.Load(),
		Flushes: r.flushes.Load(), Failures: r.failures.Load(),
		BufferLimit: r.options.Buffer, SpoolLimit: r.options.SpoolLimit,
	}
	s.BufferBytes, s.Buffered, s.NoRoom = r.buffer.state()
	s.SpoolBytes, s.Spooled, s.Displaced = r.spool.state()
	if at := r.lastSent.Load(); at != 0 {
		s.LastSent = time.Unix(0, at)
	}
	return s
}
