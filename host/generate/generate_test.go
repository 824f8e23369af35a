package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"stagger/edge/pack/source"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/vendors"
)

func packs(t *testing.T) []*source.Descriptor {
	t.Helper()
	all, err := source.Descriptors(vendors.Descriptors)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func written(t *testing.T, o Options) string {
	t.Helper()
	o.URL = "https://prov.example.com"
	var b bytes.Buffer
	if err := Write(&b, packs(t), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFleet wants every vendor and model in a fleet that the core takes as a whole,
// with addresses of their vendors.
func TestFleet(t *testing.T) {
	text := written(t, Options{Devices: 8000, Tenants: 20, Seed: 1})
	store, err := fleet.Read("f", strings.NewReader(text), inspect.Check) // no device twice either
	if err != nil {
		t.Fatal(err)
	}
	if store.Devices() != 8000 || store.Tenants() != 20 {
		t.Errorf("%d devices, %d tenants", store.Devices(), store.Tenants())
	}
	seen := map[string]int{}
	known := map[string]*source.Descriptor{}
	for _, p := range packs(t) {
		known[p.Vendor] = p
	}
	last := ""
	for line := range strings.Lines(text) {
		var d deviceDocument
		decoder := json.NewDecoder(strings.NewReader(line))
		if err := decoder.Decode(&d); err != nil {
			t.Fatal(err)
		}
		if d.Device == "" {
			last = d.Tenant
			continue
		}
		seen[d.Vendor+" "+d.Model]++
		for what, is := range map[string]bool{
			"state " + d.State: d.State != "", "module": len(d.Keys) > 0 && d.Keys[len(d.Keys)-1].Module == 1, "generation": d.Generation > 0,
			"lamp": len(d.Keys) > 3, "lines": len(d.Lines) > 1, "language": d.Language != "", "codecs": d.Codecs != nil, "zone": d.TimeZone != "",
		} {
			if is {
				seen[what]++
			}
		}
		prefixes := known[d.Vendor].Addresses.Prefixes
		if len(prefixes) == 0 {
			prefixes = []string{local(d.Vendor)}
		}
		own := false
		for _, p := range prefixes {
			own = own || strings.HasPrefix(d.Device, p)
		}
		if !own || d.Tenant != last || len(d.Lines[0].Password) != 24 {
			t.Fatalf("%s of %s behind tenant %s", d.Device, d.Vendor, last)
		}
	}
	for _, p := range packs(t) {
		for _, m := range p.Models {
			if seen[p.Vendor+" "+m.Name] == 0 {
				t.Errorf("no %s %s", p.Vendor, m.Name)
			}
		}
	}
	for _, what := range []string{"state staged", "state disabled", "module", "generation", "lamp", "lines", "language", "codecs", "zone"} {
		if n := seen[what]; n == 0 || n == 8000 {
			t.Errorf("%s: %d times", what, n)
		}
	}
}

// The same seed gives the same bytes, on any number of processors; another gives
// others.
func TestSeed(t *testing.T) {
	o := Options{Devices: 700, Tenants: 3, Seed: 9}
	want := written(t, o)
	was := runtime.GOMAXPROCS(1)
	one := written(t, o)
	runtime.GOMAXPROCS(was)
	if one != want || written(t, o) != want {
		t.Error("one seed, two fleets")
	}
	o.Seed = 10
	if written(t, o) == want {
		t.Error("two seeds, one fleet")
	}
}

// TestAddresses goes through the largest fleet there is, without its documents.
func TestAddresses(t *testing.T) {
	g := &generator{Options: Options{Seed: 3}}
	var seen [MaxDevices / 8]byte
	for i := range MaxDevices {
		if i%97 > 0 && i < MaxDevices-100 {
			continue // one in 97 of each place in a run
		}
		at := 0
		for _, c := range []byte(g.mac(i, "")) {
			at = at<<4 | strings.IndexByte("0123456789abcdef", c)
		}
		if seen[at/8]&(1<<(at%8)) != 0 {
			t.Fatalf("device %d has the address of another", i)
		}
		seen[at/8] |= 1 << (at % 8)
	}
}

func TestSizes(t *testing.T) {
	for _, o := range []Options{{Devices: 1, Tenants: 1}, {Devices: 5, Tenants: 5}, {Devices: 1000, Tenants: 7}, {Devices: 1_000_000, Tenants: 4000}} {
		sum, least := 0, o.Devices
		sizes := (&generator{Options: o}).sizes()
		for _, n := range sizes {
			sum += n
			least = min(least, n)
		}
		if sum != o.Devices || least < 1 || len(sizes) != o.Tenants {
			t.Errorf("%+v: %d tenants with %d devices, the smallest has %d", o, len(sizes), sum, least)
		}
	}
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("unplugged")
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	for _, o := range []Options{{}, {Devices: 1}, {Devices: 1, Tenants: 2}, {Devices: MaxDevices + 1, Tenants: 1}} {
		if err := Write(io.Discard, packs(t), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if err := Write(io.Discard, nil, Options{Devices: 1, Tenants: 1}); err == nil {
		t.Error("no vendor, and no error")
	}
	// Half-way through, with most of the work undone.
	err := Write(&broken{100_000}, packs(t), Options{Devices: 5000, Tenants: 2, URL: "https://p.example"})
	if err == nil || err.Error() != "unplugged" {
		t.Error(err)
	}
	// What the core never takes is an error with the reason.
	bad := packs(t)[:1]
	bad[0].Models = []source.Model{{Name: "nonesuch", Lines: 1}}
	err = Write(io.Discard, bad, Options{Devices: 1, Tenants: 1, URL: "https://p.example"})
	if err == nil || !strings.Contains(err.Error(), "nonesuch: no document that the core takes: model: is not a model") {
		t.Error(err)
	}
}
