// Package build_test holds the toolchain to its word.
package build_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The module depends on its sources and the pinned tools alone: built again, and
// in another folder, it is the same bytes.
func TestModuleIsReproducible(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(root, "build/out/edge.wasm"))
	if err != nil {
		t.Fatalf("%v (make wasm builds it)", err)
	}
	tinygo, err := exec.Command(filepath.Join(root, "build/tinygo.sh")).Output()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "another folder")
	for _, name := range []string{"edge", "vendors", "go.mod", "go.sum", "build/wasm.sh", "build/target.json"} {
		to := filepath.Join(elsewhere, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-r", filepath.Join(root, name), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, folder := range []string{root, elsewhere} {
		file := filepath.Join(t.TempDir(), "edge.wasm")
		build := exec.Command(filepath.Join(folder, "build/wasm.sh"), "-o", file)
		build.Env = append(os.Environ(), "TINYGO="+strings.TrimSpace(string(tinygo)),
			"WASMOPT="+filepath.Join(root, "build/node_modules/.bin/wasm-opt"))
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", folder, err, out)
		}
		again, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, first) {
			t.Errorf("built in %s the module has %d bytes and differs from build/out/edge.wasm, which has %d", folder, len(again), len(first))
		}
	}
}

// The budget of the module, compressed as it is uploaded.
func TestModuleIsSmall(t *testing.T) {
	module, err := os.ReadFile("out/edge.wasm")
	if err != nil {
		t.Fatalf("%v (make wasm builds it)", err)
	}
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(module); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if budget := 150 << 10; compressed.Len() > budget {
		t.Errorf("%d bytes of gzip, the budget is %d", compressed.Len(), budget)
	}
	t.Logf("%d bytes, %d of gzip", len(module), compressed.Len())
}
