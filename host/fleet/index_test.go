package fleet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagger/host/seal"
)

func index(t *testing.T, text string) (*Index, error) {
	t.Helper()
	return Reader{}.Index("f", strings.NewReader(text))
}

// An index gives the documents that Read gives, byte for byte, wherever they stand.
func TestIndex(t *testing.T) {
	var file strings.Builder
	file.WriteString("\n \t" + demo + " \r\n")
	for i := range 3000 {
		fmt.Fprintf(&file, "%s{\"device\":\"001565%06x\",\"tenant\":\"%s\",\"lines\":[{\"label\":\"é%s\"}]}%s", strings.Repeat(" ", i%3), (i*7919)%1_000_003, []string{"demo", "other"}[i%2],
			strings.Repeat("x", i%50), []string{"\n", "\r\n", " \n\n"}[i%3])
	}
	file.WriteString(other)
	path := filepath.Join(t.TempDir(), "fleet.jsonl")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := Reader{}.Index(path, f)
	if err != nil {
		t.Fatal(err)
	}
	store, err := Read("f", strings.NewReader(file.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Devices() != store.Devices() || len(x.TenantDocuments()) != store.Tenants() {
		t.Fatalf("%d devices, %d tenants", x.Devices(), len(x.TenantDocuments()))
	}
	last := ""
	for i := range x.Devices() {
		mac, tenant := x.Device(i)
		text, err := x.Document(i)
		want, _, _ := store.Get(t.Context(), DeviceKey(tenant, mac))
		if err != nil || text != want || mac <= last {
			t.Fatalf("%s behind %s: %q, %v, want %q", mac, last, text, err, want)
		}
		last = mac
	}
	for tenant, text := range x.TenantDocuments() {
		if want, _, _ := store.Get(t.Context(), TenantKey(tenant)); text != want {
			t.Errorf("%s: %q, want %q", tenant, text, want)
		}
	}
	// A file that has become shorter in the meantime is an error and no document.
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Document(x.Devices() / 2); err == nil || !strings.HasPrefix(err.Error(), "read "+path) {
		t.Error(err)
	}
}

// Documents of an export are opened when they are read.
func TestIndexExport(t *testing.T) {
	keys := seal.New([]string{strings.Repeat("k", 32)})
	second := strings.Replace(phone, "01\"", "02\"", 1)
	sealed, err := keys.Seal("device:demo:001565aabb02", second)
	if err != nil {
		t.Fatal(err)
	}
	file := " " + exported([2]string{"device:demo:001565aabb02", sealed}, [2]string{"tenant:demo", demo}) + exported([2]string{"device:demo:001565aabb01", phone})
	x, err := Reader{Unseal: seal.Opener{Keys: keys}.Document}.Index("f", strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{phone, second} {
		if text, err := x.Document(i); err != nil || text != want {
			t.Errorf("%q, %v", text, err)
		}
	}
	if x.Devices() != 2 || x.TenantDocuments()["demo"] != demo {
		t.Errorf("%d devices, %q", x.Devices(), x.TenantDocuments())
	}
	if _, err := (Reader{}).Index("f", strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), seal.ErrNoKey.Error()) {
		t.Error(err)
	}
}

// The index of a database is that of the fleet file it is made of.
func TestIndexDatabase(t *testing.T) {
	text := fleetOf(500)
	want, err := index(t, text)
	if err != nil {
		t.Fatal(err)
	}
	path := build(t, text)
	lines, err := OpenLines(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	got, err := Reader{}.Index(path, lines)
	if err != nil || got.Devices() != want.Devices() || !maps.Equal(got.TenantDocuments(), want.TenantDocuments()) {
		t.Fatalf("%v, %d devices, %q", err, got.Devices(), got.TenantDocuments())
	}
	Pairs(got, want, func(i, j int) bool {
		mac, tenant := got.Device(max(i, 0))
		wantMAC, wantTenant := want.Device(max(j, 0))
		a, err := got.Document(max(i, 0))
		b, _ := want.Document(max(j, 0))
		if i != j || mac != wantMAC || tenant != wantTenant || a != b || err != nil {
			t.Errorf("%d %s of %s: %q, %v, want %d %s of %s: %q", i, mac, tenant, a, err, j, wantMAC, wantTenant, b)
		}
		return !t.Failed()
	})
	// A file that has become shorter in the meantime is an error and no document.
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := got.Document(0); err == nil || !strings.HasPrefix(err.Error(), "read "+path) {
		t.Error(err)
	}
	if _, err := (Reader{}).Index(path, lines); err == nil || !strings.HasPrefix(err.Error(), "read "+path) {
		t.Error(err)
	}
}

// A part of an index has the devices of one tenant, and another document of it.
func TestIndexOf(t *testing.T) {
	x, err := index(t, fleetOf(9))
	if err != nil {
		t.Fatal(err)
	}
	of := x.Of("other", "{}")
	if of.Devices() != 4 || len(of.TenantDocuments()) != 1 || of.TenantDocuments()["other"] != "{}" || x.Devices() != 9 || x.TenantDocuments()["other"] != other {
		t.Errorf("%d devices, %q", of.Devices(), of.TenantDocuments())
	}
	for i := range of.Devices() {
		mac, tenant := of.Device(i)
		if text, err := of.Document(i); err != nil || tenant != "other" || !strings.Contains(text, mac) {
			t.Errorf("%s of %s: %q, %v", mac, tenant, text, err)
		}
	}
	if none := x.Of("nobody", "{}"); none.Devices() != 0 {
		t.Errorf("%d devices of nobody", none.Devices())
	}
}

// An index finds wrong what Read finds wrong, in the same words.
func TestIndexErrors(t *testing.T) {
	second := strings.Replace(phone, "01\"", "02\"", 1)
	moved := strings.Replace(phone, "demo", "other", 1)
	for name, lines := range map[string][]string{
		"not a document":     {demo, phone, "SECRET", "[]"},
		"a tenant twice":     {demo, phone, demo, other},
		"a device twice":     {demo, phone, second, phone, phone},
		"in another tenant":  {demo, other, moved, second, phone},
		"no tenant":          {demo, moved, second},
		"no tenant, twice":   {moved, moved, demo},
		"not there, nothing": {phone},
		"too long":           {demo, strings.Repeat("x", MaxLine+1), phone},
	} {
		text := strings.Join(lines, "\n")
		_, got := index(t, text)
		_, want := Read("f", strings.NewReader(text), nil)
		var e, all *Errors
		if !errors.As(want, &all) {
			t.Fatalf("%s: %v", name, want)
		}
		if !errors.As(got, &e) || e.Error() != all.Error() {
			t.Errorf("%s:\n%v\nwant\n%v", name, got, want)
		}
	}
	if x, err := index(t, ""); err != nil || x.Devices() != 0 {
		t.Error(err)
	}
}

func TestPairs(t *testing.T) {
	fleet := func(macs string) *Index {
		text := demo
		for _, c := range macs {
			text += fmt.Sprintf("\n{\"device\":\"00156500000%c\",\"tenant\":\"demo\"}", c)
		}
		x, err := index(t, text)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""}, {"312", "231", "11 22 33"}, {"1", "", "1-"}, {"", "21", "-1 -2"}, {"135", "452", "1- -2 3- -4 55"},
	} {
		old, new := fleet(c.old), fleet(c.new)
		name := func(x *Index, i int) string {
			if i < 0 {
				return "-"
			}
			mac, _ := x.Device(i)
			return mac[11:]
		}
		got, n := "", 0
		Pairs(old, new, func(i, j int) bool {
			got += " " + name(old, i) + name(new, j)
			return true
		})
		if strings.TrimPrefix(got, " ") != c.want {
			t.Errorf("%s and %s: %s, want %s", c.old, c.new, got, c.want)
		}
		Pairs(old, new, func(int, int) bool { n++; return false })
		if n > 1 {
			t.Error("it went on")
		}
	}
}
