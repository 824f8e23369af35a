package kv

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stagger/host/fleet"
	"stagger/host/seal"
)

// fleetOf is a tenant with devices, each with a password of its own.
func fleetOf(t *testing.T, passwords map[string]string) *fleet.Store {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"tenant":"demo","name":"<&>` + "\u2028" + `"}` + "\n")
	for mac, password := range passwords {
		fmt.Fprintf(&b, `{"device":"%s","tenant":"demo","lines":[{"password":"%s"}]}`+"\n", mac, password)
	}
	store, err := fleet.Read("f", strings.NewReader(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func macs(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprintf("001565%06x", i)] = fmt.Sprintf("password-%d", i)
	}
	return m
}

// read reads the files of a load back the way wrangler does.
func read(t *testing.T, folder string, s *Summary) (put map[string]string, gone []string) {
	t.Helper()
	put = map[string]string{}
	content := func(f File) []byte {
		data, err := os.ReadFile(filepath.Join(folder, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) != f.Bytes {
			t.Errorf("%s: %d bytes, said to be %d", f.Name, len(data), f.Bytes)
		}
		return data
	}
	for _, f := range s.Put {
		var pairs []pair
		if err := json.Unmarshal(content(f), &pairs); err != nil || len(pairs) != f.Pairs {
			t.Fatalf("%s: %d pairs, said to be %d: %v", f.Name, len(pairs), f.Pairs, err)
		}
		for _, p := range pairs {
			put[p.Key] = p.Value
		}
	}
	for _, f := range s.Delete {
		var keys []string
		if err := json.Unmarshal(content(f), &keys); err != nil || len(keys) != f.Pairs {
			t.Fatalf("%s: %d keys, said to be %d: %v", f.Name, len(keys), f.Pairs, err)
		}
		gone = append(gone, keys...)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(s.Put)+len(s.Delete) {
		t.Errorf("%d files in the folder, %v", len(files), err)
	}
	return put, gone
}

// Whatever was there, after the load there is what the fleet says.
func TestLoad(t *testing.T) {
	keys := seal.New([]string{strings.Repeat("k", 32)})
	before := macs(25)
	after := macs(20)
	after["001565000007"] = "another"
	after["0015650000ff"] = "new"
	for _, c := range []struct {
		name  string
		load  Load
		most  limits
		want  Summary
		files int
	}{
		{"everything", Load{Fleet: fleetOf(t, after)}, limits{MaxPairs, MaxBytes}, Summary{Added: 22}, 1},
		{"in files of five pairs", Load{Fleet: fleetOf(t, after)}, limits{5, MaxBytes}, Summary{Added: 22}, 5},
		{"in files of 500 bytes", Load{Fleet: fleetOf(t, after)}, limits{MaxPairs, 500}, Summary{Added: 22}, 7},
		{"what changed", Load{Fleet: fleetOf(t, after), Old: fleetOf(t, before)}, limits{3, MaxBytes}, Summary{Added: 1, Changed: 1, Deleted: 5, Unchanged: 20}, 3},
		{"nothing changed", Load{Fleet: fleetOf(t, after), Old: fleetOf(t, after)}, limits{3, MaxBytes}, Summary{Unchanged: 22}, 0},
		{"sealed", Load{Fleet: fleetOf(t, after), Old: fleetOf(t, before), Seal: keys}, limits{MaxPairs, MaxBytes}, Summary{Added: 1, Changed: 1, Deleted: 5, Unchanged: 20, Sealed: true}, 2},
		{"in another form", Load{Fleet: fleetOf(t, after), Old: fleetOf(t, after), Seal: keys, Stale: map[string]bool{"tenant:demo": true}}, limits{MaxPairs, MaxBytes}, Summary{Form: 1, Unchanged: 21, Sealed: true}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			s, err := c.load.write(folder, c.most)
			if err != nil {
				t.Fatal(err)
			}
			put, gone := read(t, folder, s)
			there := map[string]string{}
			if c.load.Old != nil {
				for _, key := range c.load.Old.Keys() {
					there[key], _ = get(c.load.Old, key)
				}
			}
			for key, value := range put {
				if c.load.Seal != nil {
					if value, _, err = keys.Open(key, value); err != nil {
						t.Errorf("%s %v", key, err)
					}
				}
				there[key] = value
			}
			for _, key := range gone {
				delete(there, key)
			}
			want := map[string]string{}
			for _, key := range c.load.Fleet.Keys() {
				want[key], _ = get(c.load.Fleet, key)
			}
			if !maps.Equal(there, want) {
				t.Errorf("after the load: %d documents, want %d", len(there), len(want))
			}
			for _, f := range slices.Concat(s.Put, s.Delete) {
				if f.Pairs > c.most.pairs || f.Bytes > c.most.bytes {
					t.Errorf("%+v", f)
				}
			}
			if n := len(s.Put) + len(s.Delete); n != c.files {
				t.Errorf("%d files, want %d", n, c.files)
			}
			if s.Put, s.Delete = nil, nil; fmt.Sprint(*s) != fmt.Sprint(c.want) {
				t.Errorf("%+v, want %+v", *s, c.want)
			}
		})
	}
	one := Load{Fleet: fleetOf(t, macs(1))}
	if _, err := one.write(t.TempDir(), limits{MaxPairs, 80}); err == nil || strings.Contains(err.Error(), "password") {
		t.Errorf("a document that is larger than a request: %v", err)
	}
}
