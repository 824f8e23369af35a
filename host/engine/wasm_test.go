package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stagger/edge/wire"
)

var (
	// goGuest is testdata/guest, compiled by Go itself.
	goGuest []byte
	// codeCache spares all tests but one its compilation, which takes a second,
	// and ten under the race detector.
	codeCache string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "guest")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "guest.wasm")
		build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "./testdata/guest")
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
		if out, err := build.CombinedOutput(); err != nil {
			panic("build testdata/guest: " + err.Error() + "\n" + string(out))
		}
		codeCache = filepath.Join(dir, "code")
		if goGuest, err = os.ReadFile(file); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func open(t testing.TB, module []byte, size int) *Wasm {
	t.Helper()
	w, err := NewWasm(t.Context(), module, WasmOptions{Size: size, CacheDir: codeCache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// ask calls with a request and wants its answer.
func ask(t testing.TB, e Engine, in string, wantStatus uint32, want string) {
	t.Helper()
	status, out, err := e.Call(t.Context(), []byte(in), []byte("before "))
	if err != nil || status != wantStatus || string(out) != "before "+want {
		t.Fatalf("%q: status %d, output %q, error %v; want status %d, output %q",
			in, status, out, err, wantStatus, "before "+want)
	}
}

// fails calls with a request and wants the cause of its failure.
func fails(t testing.TB, e Engine, in string, want Cause) {
	t.Helper()
	status, out, err := e.Call(t.Context(), []byte(in), []byte("before "))
	var fault *Error
	if !errors.As(err, &fault) || fault.Cause != want || status != 0 || string(out) != "before " {
		t.Fatalf("%.10q: status %d, output %q, error %v; want %v", in, status, out, err, want)
	}
	if strings.ContainsAny(err.Error(), "\n") {
		t.Errorf("%.10q: error %q is not one line", in, err)
	}
}

func TestModuleRefused(t *testing.T) {
	good := smallGuest()
	imports := func(module, name string, desc ...byte) assembly {
		a := good
		a.imports = append(append(named(module), named(name)...), desc...)
		if desc[0] == 0 {
			a.nimports = 1
		}
		return a
	}
	hidden := good
	hidden.hidden = true
	wide := good.with("handle", fn{"handle", 1, 1, num(0)})
	wide.wide = true
	late := good
	late.late = true
	above := good.with("_initialize", fn{"_initialize", 0, 0, store(heapBegins, num(1))})

	tests := []struct {
		name   string
		module []byte
		want   string
	}{
		{"nothing", nil, "not a WebAssembly module"},
		{"a text", []byte("(module)"), "not a WebAssembly module"},
		{"header alone", good.bytes()[:8], "does not export ABI v1"},
		{"cut short", good.bytes()[:200], "ends in the middle"},
		{"rubbish after", append(good.bytes(), 99, 1, 0), "compile the module"},
		{"memory not exported", hidden.bytes(), "no memory"},
		{"import", imports("env", "log", 0, 1).bytes(), "imports env.log: the core may import nothing"},
		{"imported memory", imports("env", "memory", 2, 0, 1).bytes(), `imports "memory" from "env"`},
		{"imported global", imports("wasi_snapshot_preview1", "g", 3, 0x7f, 1).bytes(), "not a function"},
		{"imported table", imports("env", "table", 1, 0x70, 0, 1).bytes(), "not a function"},
		{"no such WASI function", imports("wasi_snapshot_preview1", "nothing", 0, 1).bytes(), "nothing"},
		{"trap in _initialize", good.with("_initialize", fn{"_initialize", 0, 0, op(trap)}).bytes(), "_initialize: "},
		{"trap in heap_top", good.with("heap_top", fn{"heap_top", 0, 1, op(trap)}).bytes(), "heap_top: "},
		{"heap_top outside", good.with("heap_top", fn{"heap_top", 0, 1, num(65537)}).bytes(), "outside the memory"},
		{"something above heap_top", above.bytes(), "above heap_top"},
		{"globals after exports", late.bytes(), "out of order"},
		{"v128 variable", wide.bytes(), "cannot be put back"},
	}
	for name, want := range abi {
		f := fn{name, len(want.params) + 1, len(want.results), num(0)}
		if f.results == 0 {
			f.body = nil
		}
		tests = append(tests, struct {
			name   string
			module []byte
			want   string
		}{"no " + name, good.with(name, fn{}).bytes(), "no function " + name}, struct {
			name   string
			module []byte
			want   string
		}{"type of " + name, good.with(name, f).bytes(), name + " is "})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w, err := NewWasm(t.Context(), test.module, WasmOptions{})
			if err == nil {
				t.Fatal("accepted", w.Close(t.Context()))
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not contain %q", err, test.want)
			}
		})
	}
}

// TestFault goes through everything that a guest can do wrong in a call. With
// one instance the next request meets its replacement.
func TestFault(t *testing.T) {
	w := open(t, smallGuest().bytes(), 1)
	for _, test := range []struct {
		name, in string
		cause    Cause
	}{
		{"trap in handle", "t", Trap},
		{"trap in output_ptr", "T", Trap},
		{"trap in output_len", "L", Trap},
		{"trap in input", strings.Repeat("x", 100), Trap},
		{"no room", strings.Repeat("x", 101), Input},
		{"room outside", strings.Repeat("x", 102), Input},
		{"status 3", "u", Status},
		{"status -1", "U", Status},
		{"output outside", "p", Output},
		{"output too long", "n", Output},
		{"output wraps around", "o", Output},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := w.Stats()
			fails(t, w, test.in, test.cause)
			ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
			after := w.Stats()
			if after.Failures[test.cause] != before.Failures[test.cause]+1 ||
				after.Discards[test.cause] != before.Discards[test.cause]+1 {
				t.Errorf("not counted: %+v", after)
			}
			if after.Calls != before.Calls+2 || after.InUse != 0 {
				t.Errorf("calls %d, in use %d", after.Calls-before.Calls, after.InUse)
			}
		})
	}
}

// TestDiscardAfterAnswer goes through what makes an instance unfit for the next
// request after it has answered this one.
func TestDiscardAfterAnswer(t *testing.T) {
	w := open(t, smallGuest().bytes(), 1)
	for _, test := range []struct {
		name, in string
		cause    Cause
	}{
		{"memory grew", "m\x00", Grew},
		{"heap_top 0", "h\x00", Heap},
		{"heap_top below", "H\x00", Heap},
		{"heap_top outside", "b\x00", Heap},
		{"trap in heap_top", "B\x00", Trap},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := w.Stats()
			ask(t, w, test.in, wire.StatusResponse, test.in)
			ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
			after := w.Stats()
			if after.Discards[test.cause] != before.Discards[test.cause]+1 {
				t.Errorf("not counted: %+v", after)
			}
			if after.Failures != before.Failures {
				t.Errorf("counted as a failure: %+v", after)
			}
		})
	}
	before := w.Stats()
	ask(t, w, "f\x00", wire.StatusResponse, "f\x00") // more than memoryLimit: does not grow
	if after := w.Stats(); after.Discards != before.Discards {
		t.Errorf("discarded: %+v", after)
	}
}

func TestStatuses(t *testing.T) {
	w := open(t, smallGuest().bytes(), 1)
	ask(t, w, "x\x00 response", wire.StatusResponse, "x\x00 response")
	ask(t, w, "x\x01 need", wire.StatusNeed, "x\x01 need")
	ask(t, w, "x\x02 malformed", wire.StatusMalformed, "x\x02 malformed")
	ask(t, w, "e", wire.StatusResponse, "e")
}

// TestStateReturns looks into the instance: after a request it is in every byte
// and every global what it was before, which is more than that nothing leaks. It
// means that request n meets the same guest as request 1.
func TestStateReturns(t *testing.T) {
	long := strings.Repeat("SECRET", 5000)
	for name, guest := range map[string]struct {
		module   []byte
		requests []string
		discards uint64
	}{
		"small": {smallGuest().bytes(), []string{"c", "g", "x\x00" + long, "e" + long, "c", "g"}, 0},
		// "s" moves Go's stack, which memory alone would not undo. "a" allocates
		// without making the memory grow.
		"go": {goGuest, []string{"c", "sSECRET", "c", "a300", "sSECRET", "eSECRET", "nSECRET", "c"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, guest.module, 1)
			first := w.pool.idle[0]
			start := bytes.Clone(first.view())
			for _, in := range guest.requests {
				if _, _, err := w.Call(t.Context(), []byte(in), nil); err != nil {
					t.Fatalf("%.10q: %v", in, err)
				}
				i := w.pool.idle[0]
				if i != first {
					t.Fatalf("%.10q: the instance was discarded: %+v", in, w.Stats().Discards)
				}
				if !bytes.Equal(i.view(), start) {
					t.Errorf("%.10q: memory differs from the snapshot", in)
				}
				if !w.snapshot.equal(i.view(), i.values()) {
					t.Errorf("%.10q: globals differ from the snapshot", in)
				}
				if bytes.Contains(i.view(), []byte("SECRET")) {
					t.Errorf("%.10q: left in memory", in)
				}
			}
			ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
		})
	}
}

// TestSecretWasThere is the control of the test above: without restore the
// secret would be found.
func TestSecretWasThere(t *testing.T) {
	for name, module := range map[string][]byte{"small": smallGuest().bytes(), "go": goGuest} {
		t.Run(name, func(t *testing.T) {
			w := open(t, module, 1)
			i := w.pool.idle[0]
			if _, _, fault := i.call([]byte("sSECRET"), nil); name == "go" && fault != nil {
				t.Fatal(fault)
			}
			if n := bytes.Count(i.view(), []byte("SECRET")); n == 0 {
				t.Error("the guest kept nothing: the test proves nothing")
			}
			i.close()
			if bytes.Contains(i.view(), []byte("SECRET")) {
				t.Error("a discarded instance keeps the secret")
			}
			w.pool.idle = nil
		})
	}
}

func TestGoGuestFaults(t *testing.T) {
	w := open(t, goGuest, 1)
	for range 3 {
		fails(t, w, "t", Trap)
		ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
		fails(t, w, "u", Status)
		ask(t, w, "ehello", wire.StatusResponse, "hello")
		ask(t, w, "a20000", wire.StatusResponse, "20000")
		ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
	}
	if got := w.Stats().Discards; got[Trap] != 3 || got[Status] != 3 || got[Grew] != 3 {
		t.Errorf("discards %v", got)
	}
}

// TestFlat serves many requests of all kinds from one instance.
func TestFlat(t *testing.T) {
	for name, guest := range map[string]struct {
		module []byte
		n      int
	}{"small": {smallGuest().bytes(), 5000}, "go": {goGuest, 200}} {
		t.Run(name, func(t *testing.T) {
			w := open(t, guest.module, 1)
			first := w.pool.idle[0]
			for range guest.n {
				ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
				if _, _, err := w.Call(t.Context(), []byte("e\x00 and something to leave behind"), nil); err != nil {
					t.Fatal(err)
				}
			}
			if w.pool.idle[0] != first || !w.snapshot.equal(first.view(), first.values()) {
				t.Error("the instance is not what it was")
			}
		})
	}
}

func TestInputLimit(t *testing.T) {
	for name, module := range map[string][]byte{"small": smallGuest().bytes(), "go": goGuest} {
		w := open(t, module, 1)
		fails(t, w, strings.Repeat("e", wire.MaxInput+1), TooLarge)
		if s := w.Stats(); s.Calls != 0 {
			t.Errorf("%s: an instance saw it", name)
		}
	}
	w := open(t, goGuest, 1)
	ask(t, w, strings.Repeat("e", wire.MaxInput), wire.StatusResponse, strings.Repeat("e", wire.MaxInput-1))
	ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
}

func TestConcurrent(t *testing.T) {
	for name, module := range map[string][]byte{"small": smallGuest().bytes(), "go": goGuest} {
		t.Run(name, func(t *testing.T) {
			w := open(t, module, 3)
			var group sync.WaitGroup
			for n := range 8 {
				group.Go(func() {
					in := []byte("e\x00" + strings.Repeat(string(rune('a'+n)), 10+n))
					for round := range 30 {
						if round%10 == n {
							_, _, _ = w.Call(t.Context(), []byte("t"), nil)
						}
						_, out, err := w.Call(t.Context(), in, nil)
						if err != nil || !bytes.HasSuffix(in, out) {
							t.Errorf("%q: %q, %v", in, out, err)
							return
						}
					}
				})
			}
			group.Wait()
			if s := w.Stats(); s.InUse != 0 || len(w.pool.idle) > 3 || s.Discards[Trap] != 8*3 {
				t.Errorf("%d idle, %+v", len(w.pool.idle), s)
			}
		})
	}
}

func TestBusyAndClosed(t *testing.T) {
	w, err := NewWasm(t.Context(), smallGuest().bytes(), WasmOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	i, ok, _, err := w.pool.get(t.Context())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = w.Call(ctx, []byte("c"), nil)
	if fault := new(Error); !errors.As(err, &fault) || fault.Cause != Busy || !errors.Is(err, context.Canceled) {
		t.Errorf("busy: %v", err)
	}
	if err := w.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close with a call at work: %v", err)
	}
	w.pool.put(i)
	fails(t, w, "c", Closed)
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	fails(t, w, "c", Closed)
}

// TestInstancesDiffer covers a module whose instances do not begin alike. None
// can be built without an import, so the snapshot is changed instead.
func TestInstancesDiffer(t *testing.T) {
	w := open(t, smallGuest().bytes(), 1)
	w.pool.idle = nil
	w.snapshot.memory[3]++
	fails(t, w, "c", Start)
	w.snapshot.memory[3]--
	w.snapshot.globals[0]++
	fails(t, w, "c", Start)
	w.snapshot.globals[0]--
	ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
}

func TestCacheDir(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		w, err := NewWasm(t.Context(), smallGuest().bytes(), WasmOptions{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, w, "c", wire.StatusResponse, "\x01\x00\x00\x00")
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
		t.Error("nothing was cached", err)
	}
	if _, err := NewWasm(t.Context(), smallGuest().bytes(), WasmOptions{CacheDir: "/dev/null/x"}); err == nil {
		t.Error("accepted a directory that cannot be")
	}
}

func TestNoAllocations(t *testing.T) {
	w := open(t, smallGuest().bytes(), 1)
	in, out := []byte("e\x00 something"), make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { _, out, _ = w.Call(context.Background(), in, out[:0]) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func FuzzExportGlobals(f *testing.F) {
	f.Add(smallGuest().bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x06\x05\xff\xff\xff\xff\x0f\x07\x01\x00"))
	f.Fuzz(func(t *testing.T, module []byte) {
		with, n, err := exportGlobals(module)
		if err != nil {
			return
		}
		if again, m, err := exportGlobals(with); err != nil || m != n || len(again) < len(with) {
			t.Errorf("%x became %x: %d globals, then %d, %v", module, with, n, m, err)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	for _, guest := range []struct {
		name   string
		module []byte
	}{{"small", smallGuest().bytes()}, {"go", goGuest}} {
		w := open(b, guest.module, 0)
		in := []byte("e" + strings.Repeat("x", 2000))
		b.Run(guest.name, func(b *testing.B) {
			b.ReportAllocs()
			out := make([]byte, 0, 4096)
			for b.Loop() {
				var err error
				if _, out, err = w.Call(context.Background(), in, out[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(guest.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				out := make([]byte, 0, 4096)
				for pb.Next() {
					var err error
					if _, out, err = w.Call(context.Background(), in, out[:0]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkPutBack measures what a call pays for being forgotten: the memory
// below the heap of a TinyGo build (200 KiB) and all of a Go build (3.8 MiB).
func BenchmarkPutBack(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"200KiB", 200 << 10}, {"3840KiB", 3840 << 10}} {
		saved := make([]byte, size.bytes)
		memory := bytes.Clone(saved)
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(size.bytes))
			for b.Loop() {
				for at := 0; at < len(memory); at += len(memory) / 6 {
					memory[at]++
				}
				putBack(memory, saved)
			}
		})
	}
}
