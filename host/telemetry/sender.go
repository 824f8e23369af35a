package telemetry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// sendTimeout is how long a sink has to take a piece.
const sendTimeout = 30 * time.Second

// sender sends what is in the spool.
func (r *Recorder) sender(ctx context.Context) {
	defer close(r.ended)
	var (
		again    <-chan time.Time // when to try again
		attempt  int
		reported string
		notUntil time.Time // when the sink wants to be asked again
	)
	for {
		last := false
		select {
		case <-r.due:
			if again != nil {
				// A sink that is away is asked again when that is due, not when
				// there is more for it.
				continue
			}
		case <-again:
			again = nil
		case <-r.kept:
			last = true
		}
		if last && time.Now().Before(notUntil) {
			return
		}
		some, err := r.drain(ctx)
		if last {
			return
		}
		if some {
			attempt = 0
		}
		if err == nil {
			if reported != "" {
				r.options.Log.Info("telemetry: the sink takes records again")
				reported = ""
			}
			continue
		}
		pause := backoff(attempt)
		if refusal := new(Refusal); errors.As(err, &refusal) && refusal.After > 0 {
			notUntil = time.Now().Add(refusal.After)
			pause += refusal.After
		}
		attempt++
		again = time.After(pause)
		if what := err.Error(); what != reported {
			_, waiting, _ := r.spool.state()
			r.options.Log.Warn("telemetry: the sink does not take records", "error", what, "waiting", waiting)
			reported = what
		}
	}
}

// Bounds of the pause after an attempt that failed.
const (
	minPause = time.Second
	maxPause = 5 * time.Minute
)

// backoff is a random pause below a limit that doubles with every attempt that
// failed: those who failed together do not come back together. It comes on top of
// what a sink asks for, which it may ask of everybody.
func backoff(attempt int) time.Duration {
	return rand.N(min(minPause<<min(attempt, 16), maxPause))
}

// drain sends what the spool has, until it has nothing or the sink does not take a
// piece. some says that the sink took one.
func (r *Recorder) drain(ctx context.Context) (some bool, err error) {
	for {
		p, ok, err := r.spool.oldest()
		if err != nil {
			r.options.Log.Error("telemetry: records in the spool cannot be read", "error", err.Error())
		}
		if !ok {
			break
		}
		if err := r.send(ctx, p); err != nil {
			r.spool.keep()
			return some, err
		}
		some = true
		if err := r.spool.done(); err != nil {
			r.options.Log.Error("telemetry: records that were sent stay in the spool", "error", err.Error())
		}
	}
	// Without a spool they go from memory.
	for r.spoolAway.Load() {
		p, ok := r.buffer.take(true)
		if !ok {
			break
		}
		if err := r.send(ctx, p); err != nil {
			r.buffer.restore(p)
			return some, err
		}
		some = true
		r.buffer.release(p)
	}
	return some, nil
}

// send hands a piece to the sink. nil means that nothing is left to do for it.
func (r *Recorder) send(ctx context.Context, p piece) error {
	if p.records == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := r.options.Sink.Send(ctx, p.lines)
	refusal := new(Refusal)
	switch {
	case errors.As(err, &refusal) && refusal.final():
		r.refused.Add(uint64(p.records))
		r.options.Log.Error("telemetry: the sink refuses records for good", "error", err.Error(), "records", p.records)
		return nil
	case err != nil && !errors.Is(err, ErrPartial):
		r.failures.Add(1)
		return err
	case err != nil:
		r.options.Log.Warn("telemetry: " + err.Error())
	}
	r.sent.Add(uint64(p.records))
	r.lastSent.Store(time.Now().UnixNano())
	return nil
}
