package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"stagger/edge/wire"
)

// memoryLimit is how far the memory of an instance can grow, in pages of 64 KiB:
// 64 MiB. Above it the guest's allocation fails, it traps, and is discarded.
const memoryLimit = 1024

// abi is every function that a module must export, and its type.
var abi = map[string]signature{
	"_initialize":   {},
	"stagger_abi_1": {},
	"input":         {params: []api.ValueType{api.ValueTypeI32}, results: []api.ValueType{api.ValueTypeI32}},
	"handle":        {params: []api.ValueType{api.ValueTypeI32}, results: []api.ValueType{api.ValueTypeI32}},
	"output_ptr":    {results: []api.ValueType{api.ValueTypeI32}},
	"output_len":    {results: []api.ValueType{api.ValueTypeI32}},
	"heap_top":      {results: []api.ValueType{api.ValueTypeI32}},
}

type signature struct{ params, results []api.ValueType }

func (s signature) String() string {
	names := func(types []api.ValueType) string {
		list := make([]string, len(types))
		for i, t := range types {
			list[i] = api.ValueTypeName(t)
		}
		return "(" + strings.Join(list, ", ") + ")"
	}
	return names(s.params) + " -> " + names(s.results)
}

// WasmOptions are the choices that a Wasm leaves open. The zero value is good.
type WasmOptions struct {
	// Size is how many instances there may be; 0 means GOMAXPROCS.
	Size int
	// CacheDir, unless empty, is a directory for compiled code. It is worth it
	// for short commands over a module built by Go (a second of compilation),
	// not for TinyGo's (tens of milliseconds).
	CacheDir string
}

// Wasm runs the core as WebAssembly on wazero. All instances share one compiled
// module; each serves one call at a time and is put back to the state it had
// after _initialize when the call is over.
type Wasm struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	globals  int
	pool     *pool[*instance]
	tally    tally

	// snapshot is the state after _initialize. It is the same for all
	// instances, which makes it one copy that stays in the processor's cache.
	snapshot *snapshot
}

var _ Engine = (*Wasm)(nil)

// NewWasm compiles module, checks that it keeps ABI v1 and makes one instance,
// so that a bad module fails here and not at the first request.
func NewWasm(ctx context.Context, module []byte, options WasmOptions) (*Wasm, error) {
	module, globals, err := exportGlobals(module)
	if err != nil {
		return nil, err
	}
	// WithCloseOnContextDone stays off: its checks made a call six times slower.
	// What bounds a call is wire.MaxInput.
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryLimit).WithDebugInfoEnabled(false)
	w := &Wasm{globals: globals, pool: newPool[*instance](poolSize(options.Size))}
	if options.CacheDir != "" {
		if w.cache, err = wazero.NewCompilationCacheWithDir(options.CacheDir); err != nil {
			return nil, fmt.Errorf("compilation cache: %w", err)
		}
		config = config.WithCompilationCache(w.cache)
	}
	w.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := w.load(ctx, module); err != nil {
		return nil, errors.Join(err, w.release(ctx))
	}
	return w, nil
}

func (w *Wasm) load(ctx context.Context, module []byte) (err error) {
	if w.compiled, err = w.runtime.CompileModule(ctx, module); err != nil {
		return fmt.Errorf("compile the module: %w", err)
	}
	if err := checkExports(w.compiled); err != nil {
		return err
	}
	wasi, err := checkImports(w.compiled)
	if err != nil {
		return err
	}
	if wasi {
		if _, err := wasi_snapshot_preview1.Instantiate(ctx, w.runtime); err != nil {
			return err
		}
	}
	first, err := w.instantiate(ctx)
	if err != nil {
		return err
	}
	w.pool.idle = append(w.pool.idle, first)
	return nil
}

// checkImports allows no import, or those that Go's own runtime needs. wasi says
// whether there are any.
func checkImports(compiled wazero.CompiledModule) (wasi bool, err error) {
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module != wasi_snapshot_preview1.ModuleName {
			return false, fmt.Errorf("the module imports %s.%s: the core may import nothing", module, name)
		}
		wasi = true
	}
	return wasi, nil
}

// checkExports names everything that is missing or wrong, not only the first.
func checkExports(compiled wazero.CompiledModule) error {
	var wrong []string
	exports := compiled.ExportedFunctions()
	for _, name := range slices.Sorted(maps.Keys(abi)) {
		want := abi[name]
		f, ok := exports[name]
		if !ok {
			wrong = append(wrong, "no function "+name)
			continue
		}
		got := signature{f.ParamTypes(), f.ResultTypes()}
		if !slices.Equal(got.params, want.params) || !slices.Equal(got.results, want.results) {
			wrong = append(wrong, fmt.Sprintf("%s is %v and should be %v", name, got, want))
		}
	}
	if _, ok := compiled.ExportedMemories()["memory"]; !ok {
		wrong = append(wrong, "no memory")
	}
	if wrong != nil {
		return fmt.Errorf("the module does not export ABI v1: %s", strings.Join(wrong, ", "))
	}
	return nil
}

// instantiate makes an instance whose state is the snapshot.
func (w *Wasm) instantiate(ctx context.Context) (*instance, error) {
	// No arguments, environment, files or start function. wazero's clocks are
	// made up and its randomness is a fixed sequence unless asked otherwise, so
	// that even a guest that imports them starts the same way each time.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := w.runtime.InstantiateModule(ctx, w.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("instantiate the module: %w", err)
	}
	i, err := newInstance(ctx, module, w.globals)
	if err == nil {
		if w.snapshot == nil {
			w.snapshot, err = i.capture()
		} else if !i.matches(w.snapshot) {
			err = errors.New("the module is not deterministic: after _initialize two instances differ")
		}
	}
	if err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	i.snapshot = w.snapshot
	return i, nil
}

// Call implements Engine.
func (w *Wasm) Call(ctx context.Context, in, out []byte) (uint32, []byte, error) {
	if len(in) > wire.MaxInput {
		return 0, out, w.tally.fail(TooLarge, nil)
	}
	i, ok, cause, err := w.pool.get(ctx)
	if err != nil {
		return 0, out, w.tally.fail(cause, err)
	}
	if !ok {
		// Not ctx: the instance outlives this request.
		if i, err = w.instantiate(context.Background()); err != nil {
			w.pool.drop()
			return 0, out, w.tally.fail(Start, err)
		}
	}
	w.tally.calls.Add(1)
	status, output, fault := i.call(in, out)
	if fault != nil {
		w.discard(i, fault.Cause)
		w.tally.failures[fault.Cause].Add(1)
		return 0, out, fault
	}
	// The answer has been copied out and stands, whatever becomes of the instance.
	if fault := i.restore(); fault != nil {
		w.discard(i, fault.Cause)
	} else {
		w.pool.put(i)
	}
	return status, output, nil
}

// discard throws an instance away; whoever takes its slot next makes a new one.
func (w *Wasm) discard(i *instance, cause Cause) {
	w.tally.discards[cause].Add(1)
	i.close()
	w.pool.drop()
}

// Stats implements Engine.
func (w *Wasm) Stats() Stats { return w.tally.stats(w.pool.size(), w.pool.inUse()) }

// Close implements Engine.
func (w *Wasm) Close(ctx context.Context) error {
	if err := w.pool.close(ctx); err != nil {
		return err
	}
	return w.release(ctx)
}

func (w *Wasm) release(ctx context.Context) error {
	err := w.runtime.Close(ctx)
	if w.cache != nil {
		err = errors.Join(err, w.cache.Close(ctx))
	}
	return err
}

// A snapshot is the state of an instance after _initialize.
type snapshot struct {
	// memory is what lies below the heap, or everything when the guest cannot
	// tell where its heap ends.
	memory []byte
	// whole says the latter.
	whole bool
	// size is the size of the linear memory in bytes. What is not in memory is
	// zero.
	size    uint32
	globals []uint64
}

// equal compares the state that an instance has with s.
func (s *snapshot) equal(memory []byte, globals []uint64) bool {
	return uint64(len(memory)) == uint64(s.size) && bytes.Equal(memory[:len(s.memory)], s.memory) &&
		slices.Equal(globals, s.globals)
}
