package telemetry

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; none is asserted to be short.
const patience = 30 * time.Second

// childVariable makes this test binary a process that records what it is told to.
const childVariable = "TELEMETRY_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child(os.Args[1], os.Args[2], os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// child records until SIGTERM, as "stagger serve" does. It answers a line of
// standard input with a line: "first" with its D, "record FROM TO" when those are
// recorded, "flush" after a flush that began later.
func child(to, spool, every string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	u, err := ParseURL(to)
	fail(err)
	interval, err := time.ParseDuration(every)
	fail(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	r, err := Start(Options{
		Sink: NewNDJSON(u, nil), Interval: interval, Spool: spool, SpoolLimit: MinSpool, Buffer: MinBuffer,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	fail(err)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			var from, to int
			switch text := in.Text(); {
			case text == "first":
				fmt.Println(r.First())
			case text == "flush":
				// One may have begun already.
				for until := r.Stats().Flushes + 2; r.Stats().Flushes < until; {
					time.Sleep(time.Millisecond)
				}
				fmt.Println("flushed")
			default:
				_, err := fmt.Sscanf(text, "record %d %d", &from, &to)
				fail(err)
				for n := from; n < to; n++ {
					r.Record(number(n))
				}
				fmt.Println("recorded")
			}
		}
	}()
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	fail(r.Close(grace))
}

// process is a child.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func spawn(t *testing.T, to, spool string, every time.Duration) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], to, spool, every.String())
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &process{t, cmd, in, bufio.NewReader(out)}
}

// ask sends a line and returns the answer.
func (p *process) ask(line string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		text, _ := p.out.ReadString('\n')
		answer <- strings.TrimSpace(text)
	}()
	select {
	case text := <-answer:
		if text == "" {
			p.t.Fatalf("%s: the process has ended", line)
		}
		return text
	case <-time.After(patience):
		p.t.Fatalf("%s: no answer", line)
		return ""
	}
}

// terminate asks the process to end, which it has to do well.
func (p *process) terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Error(err)
	}
}

// kill ends the process without a warning.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait()
}

// collectorServer is a sink over HTTP that is well, or has one of the ailments.
type collectorServer struct {
	*httptest.Server
	mu      sync.Mutex
	numbers []int
	// asked tells of a request.
	asked   chan struct{}
	release chan struct{}
}

func newCollectorServer(t *testing.T, ailment string) *collectorServer {
	s := &collectorServer{asked: make(chan struct{}, 1), release: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		switch ailment {
		case "slow":
			// It has the records and never says so.
			s.take(r)
			<-s.release
			return
		case "reset":
			_, _ = io.CopyN(io.Discard, r.Body, 10)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		case "429":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			s.take(r)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(s.release) })
	if ailment == "refuses" {
		s.Listener.Close()
	}
	return s
}

func (s *collectorServer) take(r *http.Request) {
	lines, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed; it counts for nothing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers = append(s.numbers, numbers(lines)...)
}

// got are the numbers that arrived, in their order.
func (s *collectorServer) got() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.numbers)
}

// TestProcessEnds ends a process whose sink is not well, and looks at what its
// successor brings to one that is.
func TestProcessEnds(t *testing.T) {
	for _, ailment := range []string{"", "slow", "refuses", "reset", "429"} {
		for _, way := range []string{"SIGTERM", "kill -9"} {
			t.Run(strings.TrimSpace(ailment+" "+way), func(t *testing.T) {
				t.Parallel()
				sick, spool := newCollectorServer(t, ailment), filepath.Join(t.TempDir(), "spool")
				p := spawn(t, sick.URL, spool, 20*time.Millisecond)
				p.ask("record 0 100")
				p.ask("flush")
				p.ask("record 100 200")
				p.ask("flush")
				p.ask("record 200 250") // after the last flush that is known of
				if ailment != "refuses" {
					select {
					case <-sick.asked:
					case <-time.After(patience):
						t.Fatal("the sink was never asked")
					}
				}
				want := count(0, 250)
				if way == "SIGTERM" {
					p.terminate()
				} else {
					p.kill()
					want = count(0, 200)
				}
				well := newCollectorServer(t, "")
				next := spawn(t, well.URL, spool, time.Hour)
				next.ask("record 250 260")
				next.terminate()
				got := well.got()
				if !slices.IsSorted(got) {
					t.Errorf("the oldest are not the first: %v", got)
				}
				if ailment == "" {
					got = append(got, sick.got()...)
					slices.Sort(got)
				}
				for _, n := range slices.Concat(want, count(250, 260)) {
					if _, there := slices.BinarySearch(got, n); !there {
						t.Fatalf("record %d is lost: %v", n, got)
					}
				}
			})
		}
	}
}
