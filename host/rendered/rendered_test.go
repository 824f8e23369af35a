package rendered

import (
	"context"
	"strings"
	"testing"

	"stagger/edge/profile"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/inspect"
)

// TestValue reads every timer of the demo fleet back from its files and wants
// what the rule says.
func TestValue(t *testing.T) {
	store, err := fleet.Open("../../testdata/fleets/demo.jsonl", nil, inspect.Check)
	if err != nil {
		t.Fatal(err)
	}
	core := engine.NewNative(1)
	defer core.Close(context.Background())
	r := Reader{Core: core, Store: store, Keys: []string{strings.Repeat("k", 32)}}
	seen := 0
	for _, mac := range store.MACs() {
		tenant, _ := store.TenantOf(mac)
		tenantDocument, _, _ := store.Get(t.Context(), fleet.TenantKey(tenant))
		deviceDocument, _, _ := store.Get(t.Context(), fleet.DeviceKey(tenant, mac))
		d, err := inspect.Read(tenantDocument, deviceDocument)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Timers {
			if s.Name == "boot" || d.State != profile.Active && s.Name != "checkin" {
				continue
			}
			got, err := r.Value(t.Context(), d, s)
			if err != nil {
				t.Fatal(err)
			}
			if got != s.Value.Seconds {
				t.Errorf("%s: %s: the file says %d, the rule %d", mac, s.Name, got, s.Value.Seconds)
			}
			seen++
		}
	}
	if seen < 6 {
		t.Errorf("%d timers", seen)
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		file, place string
		want        uint64
		ok          bool
	}{
		{"a = 1\nb = 22\n", "b = ", 22, true},
		{"<x>\n  <P193>77</P193>\n", "  <P193>", 77, true},
		{"b = x\n", "b = ", 0, false},
		{"b = 1\n", "", 0, false},
		{"b = 1\n", "c", 0, false},
	} {
		if got, ok := number(test.file, test.place); got != test.want || ok != test.ok {
			t.Errorf("%q: %d, %v", test.file, got, ok)
		}
	}
}

func TestDiffers(t *testing.T) {
	if got, err := differs("a = 1\nb = 1111\n", "a = 1\nb = 2222\n"); got != "b = " || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, same := range []string{"", "a\n"} {
		if got, err := differs(same, same); err == nil {
			t.Errorf("%q", got)
		}
	}
}

func TestTimeOfDay(t *testing.T) {
	for _, test := range []struct {
		file string
		want uint64
		ok   bool
	}{
		{"at: 02:47\n", 2*3600 + 47*60, true},
		{"at: 23h05\n", 23*3600 + 5*60, true},
		{"at: 671\n", 671 * 60, true},
		{"at: 24:00\n", 24 * 60, true}, // which a probe would not get back
		{"at: x\n", 0, false},
		{"to: 02:47\n", 0, false},
	} {
		if got, ok := timeOfDay(test.file, "at: ", 60); got != test.want || ok != test.ok {
			t.Errorf("%q: %d, %v", test.file, got, ok)
		}
	}
}
