package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// memory is a sink that keeps what it gets and when.
type memory struct {
	begin time.Time

	mu      sync.Mutex
	numbers []int // of the records, as they came
	sends   []time.Duration
	tries   []time.Duration
	// refuse, unless nil, says what becomes of the attempt of this number.
	refuse func(attempt int) error
}

func newMemory() *memory { return &memory{begin: time.Now()} }

func (m *memory) Send(_ context.Context, lines []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries = append(m.tries, time.Since(m.begin))
	if m.refuse != nil {
		if err := m.refuse(len(m.tries)); err != nil {
			return err
		}
	}
	m.sends = append(m.sends, time.Since(m.begin))
	m.numbers = append(m.numbers, numbers(lines)...)
	return nil
}

// recover makes it well.
func (m *memory) recover() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = nil
}

func (m *memory) got() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.numbers)
}

// numbers are those of the records in lines, which is all lines.
func numbers(lines []byte) (list []int) {
	for line := range bytes.Lines(lines) {
		var r struct{ Number *int }
		if err := json.Unmarshal(line, &r); err != nil || r.Number == nil {
			panic(fmt.Sprintf("%q is no record: %v", line, err))
		}
		list = append(list, *r.Number)
	}
	return list
}

// count is the numbers from one to below another.
func count(from, to int) (list []int) {
	for n := from; n < to; n++ {
		list = append(list, n)
	}
	return list
}

// number is a record with a number.
func number(n int) slog.Record {
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	r.AddAttrs(slog.Int("number", n), slog.String("mac", "001565aabb01"), slog.String("outcome", "ok"))
	return r
}

// quiet are options with a spool of its own.
func quiet(t *testing.T, sink Sink) Options {
	return Options{
		Sink: sink, Interval: time.Minute, Spool: filepath.Join(t.TempDir(), "spool"), SpoolLimit: MinSpool,
		Buffer: MinBuffer, Log: slog.New(slog.DiscardHandler),
	}
}

func started(t *testing.T, options Options, first time.Duration) *Recorder {
	t.Helper()
	r, err := start(options, first)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closed(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// arrivals are the flushes of processes that were started together, in a world
// where time is played: when each of some rounds came, for each process.
func arrivals(t *testing.T, processes, rounds int, interval time.Duration, begin func(Options) (*Recorder, error)) [][]time.Duration {
	sinks := make([]*memory, processes)
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		recorders := make([]*Recorder, processes)
		for i := range recorders {
			sinks[i] = newMemory()
			options := quiet(t, sinks[i])
			options.Interval, options.Spool = interval, filepath.Join(folder, fmt.Sprint(i))
			var err error
			if recorders[i], err = begin(options); err != nil {
				t.Fatal(err)
			}
		}
		for round := range rounds {
			for _, r := range recorders {
				r.Record(number(round))
			}
			time.Sleep(interval)
		}
		for _, r := range recorders {
			closed(t, r)
		}
	})
	var all [][]time.Duration
	for _, sink := range sinks {
		all = append(all, sink.sends)
	}
	return all
}

// chance is that of numbers of [0, limit) to lie as unevenly as these, were they
// uniform (chi-square over 20 cells).
func chance(values []time.Duration, limit time.Duration) float64 {
	const cells = 20
	var seen [cells]float64
	for _, v := range values {
		seen[int64(v)*cells/int64(limit)]++
	}
	expected, sum := float64(len(values))/cells, 0.0
	for _, n := range seen {
		sum += (n - expected) * (n - expected) / expected
	}
	return distuv.ChiSquared{K: cells - 1}.Survival(sum)
}

// TestArrivals starts many processes at one moment. What the sink sees is even,
// from the first flush on; with a D that is not drawn it is a herd.
func TestArrivals(t *testing.T) {
	const processes, rounds, interval = 400, 3, time.Minute
	all := arrivals(t, processes, rounds, interval, Start)
	var first []time.Duration
	for i, times := range all {
		if len(times) != rounds {
			t.Fatalf("process %d flushed at %v", i, times)
		}
		for round, at := range times {
			// Drawn once: then every interval, to the nanosecond.
			if want := times[0] + time.Duration(round)*interval; at != want || at < 0 || times[0] >= interval {
				t.Fatalf("process %d flushed at %v", i, times)
			}
		}
		first = append(first, times[0])
	}
	if p := chance(first, interval); p < 1e-9 {
		t.Errorf("first flushes are not uniform: a chance of %g", p)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(first)))); n < processes-1 {
		t.Errorf("%d different moments of %d processes", n, processes)
	}

	herd := arrivals(t, 40, 1, interval, func(o Options) (*Recorder, error) { return start(o, 17*time.Second) })
	first = first[:0]
	for _, times := range herd {
		first = append(first, times[0])
	}
	if slices.Max(first) != slices.Min(first) || chance(first, interval) > 1e-9 {
		t.Errorf("a fixed D is no herd: %v", first)
	}
}

// TestRetries has a sink that is away. Attempts are apart by a random pause below a
// limit that doubles; what comes in between waits and provokes none.
func TestRetries(t *testing.T) {
	const processes, attempts = 200, 12
	pauses := make([][]time.Duration, attempts)
	for range processes / 20 {
		synctest.Test(t, func(t *testing.T) {
			for range 20 {
				sink := newMemory()
				sink.refuse = func(attempt int) error {
					if attempt <= attempts {
						return errors.New("away")
					}
					return nil
				}
				r := started(t, quiet(t, sink), time.Millisecond)
				r.Record(number(0))
				for n := 1; len(sink.got()) == 0; n++ {
					time.Sleep(7 * time.Second)
					r.Record(number(n))
				}
				time.Sleep(r.options.Interval)
				closed(t, r)
				got := sink.got()
				if !slices.Equal(got, count(0, len(got))) || r.Stats().Failures != attempts {
					t.Fatalf("got %v after %d failures", got, r.Stats().Failures)
				}
				for i := range attempts {
					pauses[i] = append(pauses[i], sink.tries[i+1]-sink.tries[i])
				}
			}
		})
	}
	for i, list := range pauses {
		limit := min(time.Second<<i, maxPause)
		if slices.Max(list) >= limit {
			t.Fatalf("a pause of %v after attempt %d", slices.Max(list), i+1)
		}
		if p := chance(list, limit); p < 1e-9 {
			t.Errorf("pauses after attempt %d are not uniform: a chance of %g", i+1, p)
		}
	}
}

// TestRetryAfter has a sink that sends everybody away for the same time: nobody comes
// before, and they do not come back together. A last flush respects it too.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		for range 40 {
			sink := newMemory()
			sink.refuse = func(attempt int) error {
				if attempt == 1 {
					return &Refusal{Status: 429, After: 3 * time.Minute}
				}
				return nil
			}
			r := started(t, quiet(t, sink), time.Millisecond)
			r.Record(number(0))
			time.Sleep(10 * time.Minute)
			closed(t, r)
			pauses = append(pauses, sink.tries[1]-sink.tries[0])
		}
		if slices.Min(pauses) < 3*time.Minute || slices.Max(pauses) >= 3*time.Minute+minPause || len(slices.Compact(slices.Sorted(slices.Values(pauses)))) < 30 {
			t.Errorf("pauses %v", pauses)
		}

		sink := newMemory()
		sink.refuse = func(int) error { return &Refusal{Status: 503, After: time.Hour} }
		options := quiet(t, sink)
		r := started(t, options, time.Millisecond)
		r.Record(number(0))
		time.Sleep(time.Second)
		r.Record(number(1))
		closed(t, r)
		if len(sink.tries) != 1 {
			t.Errorf("%d attempts", len(sink.tries))
		}
		sink.refuse = nil
		closed(t, started(t, options, time.Hour))
		if got := sink.got(); !slices.Equal(got, count(0, 2)) {
			t.Errorf("the next process sent %v", got)
		}
	})
}

// TestClose flushes at once, and what cannot be sent waits for the next process,
// which sends it first, and not before its own first flush.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		options := quiet(t, sink)
		r := started(t, options, 50*time.Second)
		r.Record(number(0))
		closed(t, r)
		if got := sink.got(); !slices.Equal(got, count(0, 1)) || sink.sends[0] != 0 {
			t.Fatalf("got %v after %v", got, sink.sends)
		}
		closed(t, r) // again

		sink.refuse = func(int) error { return errors.New("away") }
		r = started(t, options, 50*time.Second)
		r.Record(number(1))
		closed(t, r)
		sink.refuse = nil
		begin := time.Since(sink.begin)
		r = started(t, options, 40*time.Second)
		r.Record(number(2))
		time.Sleep(39 * time.Second)
		synctest.Wait()
		if got := sink.got(); len(got) != 1 {
			t.Fatalf("got %v before the first flush", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := sink.got(); !slices.Equal(got, count(0, 3)) || sink.sends[1]-begin != 40*time.Second {
			t.Fatalf("got %v at %v", got, sink.sends)
		}
		closed(t, r)
		if s := r.Stats(); s.Spooled != 0 || s.SpoolBytes != 0 || s.Sent != 2 || s.Recorded != 1 || !s.LastSent.Equal(time.Now()) {
			t.Errorf("%+v", s)
		}
	})
}

// TestCloseGivesUp has a sink that takes for ever. Close ends with its context, and
// nothing is lost.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := quiet(t, stuck{})
		r := started(t, options, time.Millisecond)
		r.Record(number(0))
		time.Sleep(time.Second) // it is being sent
		r.Record(number(1))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
		sink := newMemory()
		options.Sink = sink
		closed(t, started(t, options, time.Minute))
		if got := sink.got(); !slices.Equal(got, count(0, 2)) {
			t.Errorf("got %v", got)
		}
	})
}

// stuck is a sink that never answers.
type stuck struct{}

func (stuck) Send(ctx context.Context, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// wide is a record of about 1 KiB.
func wide(n int) slog.Record {
	r := number(n)
	r.AddAttrs(slog.String("detail", strings.Repeat("x", 900)))
	return r
}

// TestFullPiece does not wait for the flush that is due.
func TestFullPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		r := started(t, quiet(t, sink), 50*time.Second)
		const records = pieceSize / 1000
		for n := range records {
			r.Record(wide(n))
		}
		synctest.Wait()
		got := sink.got()
		if len(got) == 0 || len(got) == records || !slices.Equal(got, count(0, len(got))) || sink.sends[0] != 0 {
			t.Fatalf("%d records after %v", len(got), sink.sends)
		}
		closed(t, r)
		if got := sink.got(); !slices.Equal(got, count(0, records)) {
			t.Errorf("%d records at last", len(got))
		}
	})
}

// TestSpoolFull drops the oldest, and counts them.
func TestSpoolFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		sink.refuse = func(int) error { return errors.New("away") }
		options := quiet(t, sink)
		r := started(t, options, time.Millisecond)
		const records = 2 * MinSpool / 1000
		for n := range records {
			r.Record(wide(n))
			synctest.Wait() // the disk is never behind
			if s := r.Stats(); s.SpoolBytes > options.SpoolLimit {
				t.Fatalf("%+v", s)
			}
		}
		entries, err := os.ReadDir(options.Spool)
		if err != nil {
			t.Fatal(err)
		}
		onDisk := int64(0)
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			onDisk += info.Size()
		}
		if onDisk > options.SpoolLimit {
			t.Errorf("the folder has %d bytes", onDisk)
		}
		sink.recover()
		time.Sleep(maxPause)
		closed(t, r)
		got, s := sink.got(), r.Stats()
		if len(got) == 0 || s.Displaced == 0 || !slices.Equal(got, count(records-len(got), records)) {
			t.Errorf("%d records came, the first is %d", len(got), got[0])
		}
		if uint64(len(got))+s.Displaced != records || s.NoRoom != 0 || s.Refused != 0 {
			t.Errorf("%d of %d came: %+v", len(got), records, s)
		}
	})
}

// TestSpoolFullWhileSending makes room for others while the oldest are with the sink:
// it may have them already, so they are not counted as lost.
func TestSpoolFullWhileSending(t *testing.T) {
	s, err := openSpool(t.TempDir(), MinSpool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	put := func() {
		t.Helper()
		if err := s.put(piece{bytes.Repeat([]byte("{}\n"), pieceSize/3), pieceSize / 3}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	first := s.files[0]
	if p, ok, err := s.oldest(); p.records != pieceSize/3 || !ok || err != nil {
		t.Fatal(p.records, ok, err)
	}
	for range 3 * MinSpool / pieceSize {
		put()
	}
	if s.files[0] != first || s.bytes > MinSpool {
		t.Errorf("the first of %d bytes is %v", s.bytes, s.files[0])
	}
	_, waiting, dropped := s.state()
	if err := s.done(); err != nil {
		t.Error(err)
	}
	if _, left, now := s.state(); left != waiting-first.records || now != dropped || dropped == 0 {
		t.Errorf("%d wait, %d dropped; after %d and %d", left, now, waiting, dropped)
	}
}

// TestMemoryBound takes spool and sink away: memory stays within the buffer, what
// finds no room is counted, and nobody waits.
func TestMemoryBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		sink.refuse = func(int) error { return errors.New("away") }
		options := quiet(t, sink)
		options.Buffer = 3*pieceSize + 17
		r := started(t, options, time.Millisecond)
		if err := os.RemoveAll(options.Spool); err != nil {
			t.Fatal(err)
		}
		const records = 20 * pieceSize / 1000
		for n := range records {
			r.Record(wide(n))
		}
		s := r.Stats()
		if s.BufferBytes > options.Buffer || s.BufferBytes != 3*pieceSize || s.Recorded != records || s.NoRoom+uint64(s.Buffered) != records || s.NoRoom == 0 {
			t.Errorf("%+v", s)
		}
		// The sink comes back before the spool does.
		sink.recover()
		time.Sleep(2 * maxPause)
		if got := sink.got(); !slices.Equal(got, count(0, s.Buffered)) {
			t.Errorf("%d of %d came from memory", len(got), s.Buffered)
		}
		// And without either the last of them are lost, and said to be.
		sink.mu.Lock()
		sink.refuse = func(int) error { return errors.New("away") }
		sink.mu.Unlock()
		r.Record(number(records))
		if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "the last 1 records") {
			t.Errorf("%v", err)
		}
	})
}

// TestRefused drops what a sink will never take, and goes on.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []int{400, 413, 422} {
			sink := newMemory()
			sink.refuse = func(attempt int) error {
				if attempt == 1 {
					return &Refusal{Status: status}
				}
				return nil
			}
			r := started(t, quiet(t, sink), time.Millisecond)
			r.Record(number(0))
			time.Sleep(time.Second)
			r.Record(number(1))
			closed(t, r)
			if s := r.Stats(); !slices.Equal(sink.got(), count(1, 2)) || s.Refused != 1 || s.Sent != 1 || s.Failures != 0 {
				t.Errorf("%d: got %v, %+v", status, sink.got(), s)
			}
		}
		// Of these an operator can mend the cause.
		for _, status := range []int{301, 401, 403, 404, 429, 500, 503} {
			sink := newMemory()
			sink.refuse = func(attempt int) error {
				if attempt == 1 {
					return &Refusal{Status: status}
				}
				return nil
			}
			r := started(t, quiet(t, sink), time.Millisecond)
			r.Record(number(0))
			time.Sleep(time.Minute)
			closed(t, r)
			if !slices.Equal(sink.got(), count(0, 1)) {
				t.Errorf("%d: got %v", status, sink.got())
			}
		}
	})
}

// TestSpoolFolder is about what an earlier process, or a machine that went down,
// leaves behind.
func TestSpoolFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		options := quiet(t, sink)
		if err := os.MkdirAll(options.Spool, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			"0000000000000007-2.ndjson":  "{\"number\":1}\n{\"number\":2}\n",
			"0000000000000003-1.ndjson":  "{\"number\":0}\n",
			"0000000000000010-3.ndjson":  "{\"number\":3}\n{\"number\":4}\n{\"num", // cut
			"0000000000000011-2.ndjson":  "",                                       // all of it
			temporary + "12":             "{\"number\":99}\n",
			"notes.txt":                  "not ours",
			"1-1.ndjson":                 "not ours",
			"00000000000000013-1.ndjson": "not ours",
		} {
			if err := os.WriteFile(filepath.Join(options.Spool, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := started(t, options, time.Millisecond)
		r.Record(number(5))
		time.Sleep(time.Second)
		if got, s := sink.got(), r.Stats(); !slices.Equal(got, count(0, 6)) || s.Displaced != 3 || s.Spooled != 0 || s.SpoolBytes != 0 {
			t.Errorf("got %v, %+v", got, s)
		}
		// One process at a time.
		if _, err := Start(options); !errors.Is(err, errInUse) {
			t.Errorf("a second process: %v", err)
		}
		closed(t, r)
		var names []string
		entries, err := os.ReadDir(options.Spool)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		if want := []string{"00000000000000013-1.ndjson", "1-1.ndjson", "lock", "notes.txt"}; !slices.Equal(names, want) {
			t.Errorf("the folder has %q, want %q", names, want)
		}
	})
	options := quiet(t, newMemory())
	if err := os.WriteFile(options.Spool, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(options); err == nil || !strings.HasPrefix(err.Error(), "telemetry spool: ") {
		t.Errorf("a file for a folder: %v", err)
	}
}

// TestMinutes adds up what is alike, and loses nothing when names are made up.
func TestMinutes(t *testing.T) {
	var lines bytes.Buffer
	m := newMinutes(slog.NewJSONHandler(&lines, nil))
	at := time.Date(2026, 3, 1, 9, 14, 3, 0, time.UTC)
	record := func(at time.Time, ms float64, attrs ...slog.Attr) {
		r := slog.NewRecord(at, slog.LevelInfo, "request", 0)
		r.AddAttrs(slog.String("method", "GET"), slog.Int("status", 200), slog.Int("bytes", 1000), slog.Float64("ms", ms), slog.String("mac", "001565aabb01"))
		r.AddAttrs(attrs...)
		m.add(r)
	}
	ok := []slog.Attr{slog.String("tenant", "acme"), slog.String("vendor", "yealink"), slog.String("file", "config"), slog.String("outcome", "ok")}
	record(at, 1.5, ok...)
	record(at.Add(56*time.Second), 2.5, ok...)
	record(at.Add(30*time.Second), 1, append(ok, slog.String("cohort", "early"))...)
	record(at.Add(57*time.Second), 4, ok...)
	record(at, 1, slog.String("outcome", "malformed"))
	m.flush()
	got := strings.Split(strings.TrimSpace(lines.String()), "\n")
	slices.Sort(got)
	want := []string{
		`{"time":"2026-03-01T09:14:00Z","level":"INFO","msg":"minute","outcome":"malformed","status":200,"requests":1,"bytes":1000,"ms":1,"ms_max":1}`,
		`{"time":"2026-03-01T09:14:00Z","level":"INFO","msg":"minute","tenant":"acme","vendor":"yealink","file":"config","outcome":"ok","cohort":"early","status":200,"requests":1,"bytes":1000,"ms":1,"ms_max":1}`,
		`{"time":"2026-03-01T09:14:00Z","level":"INFO","msg":"minute","tenant":"acme","vendor":"yealink","file":"config","outcome":"ok","status":200,"requests":2,"bytes":2000,"ms":4,"ms_max":2.5}`,
		`{"time":"2026-03-01T09:15:00Z","level":"INFO","msg":"minute","tenant":"acme","vendor":"yealink","file":"config","outcome":"ok","status":200,"requests":1,"bytes":1000,"ms":4,"ms_max":4}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lines.Reset()
	for n := range 3 * maxGroups {
		record(at, 1, slog.String("tenant", fmt.Sprint("made-up-", n)))
		if len(m.groups) > maxGroups {
			t.Fatalf("%d groups", len(m.groups))
		}
	}
	m.flush()
	if n := strings.Count(lines.String(), `"requests":1,`); n != 3*maxGroups {
		t.Errorf("%d records", n)
	}

	synctest.Test(t, func(t *testing.T) {
		kept := new(kept)
		options := quiet(t, kept)
		options.PerMinute = true
		r := started(t, options, 30*time.Second)
		for n := range 100 {
			r.Record(number(n))
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := strings.Count(string(*kept), `"requests":100,`); n != 1 || strings.Count(string(*kept), "\n") != 1 {
			t.Errorf("%s", *kept)
		}
		closed(t, r)
	})
}

// kept is a sink that keeps the lines.
type kept []byte

func (k *kept) Send(_ context.Context, lines []byte) error {
	*k = append(*k, lines...)
	return nil
}

// TestConcurrent records from many sides while the recorder flushes and closes.
func TestConcurrent(t *testing.T) {
	const sides, records = 8, 3000
	for _, perMinute := range []bool{false, true} {
		sink := new(kept)
		options := quiet(t, sink)
		options.Interval, options.PerMinute, options.Buffer = 5*time.Millisecond, perMinute, 64*pieceSize
		r, err := Start(options)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for side := range sides {
			all.Go(func() {
				for n := range records {
					r.Record(number(side*records + n))
					if n%100 == 0 {
						_ = r.Stats()
					}
				}
			})
		}
		all.Wait()
		closed(t, r)
		total := 0
		if perMinute {
			for line := range bytes.Lines(*sink) {
				var m struct{ Requests int }
				if err := json.Unmarshal(line, &m); err != nil {
					t.Fatal(err)
				}
				total += m.Requests
			}
		} else {
			got := numbers(*sink)
			slices.Sort(got)
			total = len(slices.Compact(got))
		}
		if total != sides*records {
			t.Errorf("%d of %d records, %+v", total, sides*records, r.Stats())
		}
	}
}

// TestFirstOfProcesses asks real processes of this machine for their D.
func TestFirstOfProcesses(t *testing.T) {
	seen := map[string]bool{}
	for range 3 {
		c := spawn(t, "http://127.0.0.1:9", filepath.Join(t.TempDir(), "spool"), 24*time.Hour)
		seen[c.ask("first")] = true
		c.terminate()
	}
	if len(seen) != 3 {
		t.Errorf("three processes have drawn %v", seen)
	}
}
