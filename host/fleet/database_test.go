package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

// build makes a database and returns its path.
func build(t testing.TB, file string, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.db")
	if err := Build(path, "f", strings.NewReader(file), more); err != nil {
		t.Fatal(err)
	}
	return path
}

// fleetOf is a fleet file with so many devices, in no order that a tree would like.
func fleetOf(devices int) string {
	var b strings.Builder
	for n := range devices {
		tenant := []string{"demo", "other"}[n%2]
		fmt.Fprintf(&b, `{"device":"001565%06x","tenant":"%s","lines":[{"password":"SECRET"}],"x":"%s"}`+"\n", n*7919%devices, tenant, strings.Repeat("x", n%300))
	}
	return b.String() + demo + "\n" + other + "\n"
}

// A database answers what the file answers that it is made of.
func TestDatabaseIsTheFile(t *testing.T) {
	const devices = 3000
	text := fleetOf(devices)
	first, rest, _ := strings.Cut(text, "\n")
	want, err := Read("f", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	// One of the devices comes from elsewhere.
	got, err := Open(build(t, rest, first), nil, func(string, string) error { return errors.New("is judged again") })
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if got.Tenants() != want.Tenants() || got.Devices() != devices || want.Devices() != devices {
		t.Errorf("%d tenants, %d devices", got.Tenants(), got.Devices())
	}
	if !slices.Equal(got.Keys(), want.Keys()) || !slices.Equal(got.MACs(), want.MACs()) {
		t.Error("other keys")
	}
	if !got.HasTenant("demo") || got.HasTenant("nobody") || got.HasTenant("") {
		t.Error("HasTenant")
	}
	for _, key := range append(want.Keys(), "", "tenant:", "tenant:nobody", "device:demo:", "device:nobody:001565000001", "001565000001") {
		a, foundA, _ := want.Get(t.Context(), key)
		b, foundB, err := got.Get(t.Context(), key)
		if a != b || foundA != foundB || err != nil {
			t.Errorf("%q: %q %v %v, want %q", key, b, foundB, err, a)
		}
	}
	for _, mac := range append(want.MACs(), "", "x", "001565", "ffffffffffff") {
		a, foundA := want.TenantOf(mac)
		b, foundB := got.TenantOf(mac)
		if a != b || foundA != foundB {
			t.Errorf("%q: %q %v, want %q", mac, b, foundB, a)
		}
	}
}

func TestDatabaseIsConcurrent(t *testing.T) {
	store, err := Open(build(t, fleetOf(500)), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	macs := store.MACs()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for _, mac := range macs {
				tenant, _ := store.TenantOf(mac)
				if text, found, err := store.Get(context.Background(), DeviceKey(tenant, mac)); !found || err != nil || !strings.Contains(text, mac) {
					t.Errorf("%s: %v %v", mac, found, err)
				}
			}
		})
	}
	wait.Wait()
}

// A new database in the place of an open one is another file: who reads goes on.
func TestDatabaseIsReplaced(t *testing.T) {
	path := build(t, fleetOf(50))
	old, err := Open(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Rename(build(t, demo+"\n"+phone), path); err != nil {
		t.Fatal(err)
	}
	if _, found, err := old.Get(t.Context(), "device:other:001565000001"); !found && err != nil || old.Devices() != 50 || len(old.MACs()) != 50 {
		t.Errorf("%v %v", found, err)
	}
	newer, err := Open(path, nil, nil)
	if err != nil || newer.Devices() != 1 {
		t.Error(err)
	}
	newer.Close()
}

// Somebody writes into the file of an open database, and it is no longer there where it
// is mapped. That is an error for who asks, and the end of nothing.
func TestDatabaseIsWrittenInto(t *testing.T) {
	path := build(t, fleetOf(500))
	store, err := Open(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 2 * readers {
		wait.Go(func() {
			for range 5 {
				if _, found, err := store.Get(context.Background(), "tenant:demo"); found || err == nil {
					t.Errorf("%v %v", found, err)
				}
			}
		})
	}
	wait.Wait()
	if store.HasTenant("demo") || len(store.MACs()) > 0 {
		t.Error("there is something left")
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func TestLines(t *testing.T) {
	text := fleetOf(300)
	path := build(t, text)
	lines, err := OpenLines(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(want)
	for range 2 {
		all, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Error("other lines")
		}
		if end, err := lines.Seek(0, io.SeekEnd); err != nil || end != int64(len(all)) || end != int64(len(text)) {
			t.Errorf("it ends at %d, %v, and has %d bytes", end, err, len(all))
		}
		if n, err := lines.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("behind the end there are %d bytes, %v", n, err)
		}
		if _, err := lines.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lines.Seek(1, io.SeekStart); err == nil {
		t.Error("a place in the middle")
	}
	// The tenant's document in a copy, and nothing else.
	changed := filepath.Join(t.TempDir(), "changed.db")
	if err := lines.Replace(changed, "demo", `{"tenant":"demo","longer":"than before"}`); err != nil {
		t.Fatal(err)
	}
	was, _ := Open(path, nil, nil)
	is, err := Open(changed, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	defer is.Close()
	for _, key := range was.Keys() {
		a, _, _ := was.Get(t.Context(), key)
		b, _, _ := is.Get(t.Context(), key)
		if key == "tenant:demo" {
			a = `{"tenant":"demo","longer":"than before"}`
		}
		if a != b {
			t.Errorf("%s is %s, want %s", key, b, a)
		}
	}
	if is.database.version == was.database.version || is.database.bytes != was.database.bytes+int64(len(`{"tenant":"demo","longer":"than before"}`)-len(demo)) {
		t.Errorf("%+v", is.database)
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file, more, want string
	}{
		"twice":                 {demo + "\n" + phone + "\n" + phone, "", "device 001565aabb01 is there twice"},
		"in two tenants":        {demo + "\n" + other + "\n" + phone + "\n" + strings.Replace(phone, "demo", "other", 1), "", "device 001565aabb01 is there twice"},
		"again, from elsewhere": {demo + "\n" + other + "\n" + phone, strings.Replace(phone, "demo", "other", 1), "device 001565aabb01 is there twice"},
		"two tenants":           {demo + "\n" + demo, "", "tenant:demo is there twice"},
		"no tenant":             {other + "\n" + phone, "", "tenant:demo: its tenant is not in the file"},
		"no document":           {demo + "\nSECRET", "", "f:2: not JSON, or more than one value on the line"},
		"none from elsewhere":   {demo, "SECRET", "not JSON, or more than one value on the line"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var more []string
			if c.more != "" {
				more = append(more, c.more)
			}
			err := Build(filepath.Join(dir, "x"), "f", strings.NewReader(c.file), more)
			if err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.rough")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What is no database, or no good one, is an error, and no end of the program.
func TestDamagedDatabase(t *testing.T) {
	good := build(t, fleetOf(2000))
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	about := func(change func(*bbolt.Bucket) error) string {
		path := file(data)
		db, err := bbolt.Open(path, 0o600, nil)
		if err == nil {
			err = errors.Join(db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket(fleetBucket)) }), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	db, err := bbolt.Open(empty, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	for name, path := range map[string]string{
		"cut short":          file(data[:len(data)/2]),
		"a page":             file(data[:4096]),
		"another's":          empty,
		"another version's":  about(func(b *bbolt.Bucket) error { return b.Put(formatKey, []byte("2")) }),
		"without its counts": about(func(b *bbolt.Bucket) error { return b.Put(devicesKey, []byte("many")) }),
	} {
		store, err := Open(path, nil, nil)
		if err == nil {
			store.Close()
			t.Errorf("%s: is opened", name)
		} else if !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenLines(empty); err == nil {
		t.Error("lines of another's database")
	}
	// Pages of nothing and of noise: whatever an answer is, there is one.
	for n := range 40 {
		bad := slices.Clone(data)
		page := 4096 * (2 + n*37%(len(bad)/4096-2))
		for i := page; i < page+4096; i++ {
			bad[i] = byte(n % 2 * i * 31)
		}
		store, err := Open(file(bad), nil, nil)
		if err != nil {
			continue
		}
		for _, key := range store.Keys() {
			_, _, _ = store.Get(t.Context(), key)
		}
		store.Close()
	}
	// Lines of a fleet file are none, nor is a file of no length.
	for _, text := range []string{"", "x", demo + "\n" + phone} {
		f, err := os.Open(file([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if IsDatabase(f) {
			t.Errorf("%q is a database", text)
		}
		if rest, _ := io.ReadAll(f); string(rest) != text {
			t.Errorf("of %q %q is left", text, rest)
		}
		f.Close()
	}
}

// BenchmarkDatabase looks devices up among a million. Building takes a minute or two.
func BenchmarkDatabase(b *testing.B) {
	const devices = 1_000_000
	path := filepath.Join(b.TempDir(), "fleet.db")
	r, w := io.Pipe()
	go func() {
		fmt.Fprintln(w, demo)
		for n := range devices {
			fmt.Fprintf(w, `{"device":"001565%06x","tenant":"demo","model":"T46U","lines":[{"user":"%d","password":"%s"}],"keys":[{"type":"line"},{"type":"blf","value":"1002","label":"Bob"}]}`+"\n", n*7919%devices, n, strings.Repeat("p", 24))
		}
		w.Close()
	}()
	if err := Build(path, "f", r, nil); err != nil {
		b.Fatal(err)
	}
	store, err := Open(path, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n = (n + 104729) % devices
		if _, found, err := store.Get(context.Background(), fmt.Sprintf("device:demo:001565%06x", n)); !found || err != nil {
			b.Fatal(err)
		}
	}
}
