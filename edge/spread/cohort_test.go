package spread

import (
	"fmt"
	"testing"
)

// Anybody can check these with an xxHash64 at hand: the place is the upper half of
// the hash, times 10000, over 2^32.
func TestCohortVectors(t *testing.T) {
	for _, c := range []struct {
		mac, id     string
		hash, place uint64
	}{
		{"001565aabbcc", "2026-w49", 0x3d1d97c1fcfc505d, 2387},
		{"001565aabbcc", "2026-w50", 0x9537438423f24a08, 5828},
		{"0004f2000001", "2026-w49", 0xedaac014dcedac65, 9283},
		{"0004f2000002", "2026-w49", 0xf9e9154a631751e6, 9762},
	} {
		if got := CohortOf(c.mac, c.id); got.Hash != c.hash || got.Place != c.place {
			t.Errorf("%s: hash %016x place %d, want %016x %d", CohortKey(c.mac, c.id), got.Hash, got.Place, c.hash, c.place)
		}
	}
}

// A share has as many devices as it says, also among the phones of one carton; and
// since the places are those of the devices, a larger share has all of a smaller one.
func TestCohortsAreUniform(t *testing.T) {
	for _, id := range []string{"a", "2026-w49"} {
		cells := make([]int, Shares)
		for _, mac := range macs {
			c := CohortOf(mac, id)
			if c.Place >= Shares {
				t.Fatalf("%s: place %d", mac, c.Place)
			}
			cells[c.Place]++
		}
		if got, limit := chiSquare(cells, herd), chiSquareLimit(Shares-1); got > limit {
			t.Errorf("id %s: chi-square %.0f exceeds %.0f", id, got, limit)
		}
	}
}

// The first to change must not be those whose timers come first, nor those that
// were first the last time.
func TestCohortsAreIndependent(t *testing.T) {
	const grid, window = 50, 500 // both divide Shares
	timer := Timer{Interval: 3600, Window: window, Floor: 60, Unit: 1}
	for _, place := range []Place{Jump, Modulo} {
		timer.Place = place
		offset := func(name string) func(string) int {
			return func(mac string) int { return int(timer.For(mac, name).Offset) }
		}
		for name, other := range map[string]func(mac string) int{
			"checkin": offset("checkin"), "register.1": offset("register.1"), "subscribe": offset("subscribe"),
			"another id": func(mac string) int { return int(CohortOf(mac, "2026-w50").Place * window / Shares) },
		} {
			joint, difference := make([]int, grid*grid), make([]int, window)
			for _, mac := range macs {
				a, b := int(CohortOf(mac, "2026-w49").Place*window/Shares), other(mac)
				joint[a*grid/window*grid+b*grid/window]++
				difference[(a+window-b)%window]++
			}
			if got, limit := chiSquare(joint, herd), chiSquareLimit(grid*grid-1); got > limit {
				t.Errorf("place %d, %s: joint chi-square %.0f exceeds %.0f", place, name, got, limit)
			}
			if got, limit := chiSquare(difference, herd), chiSquareLimit(window-1); got > limit {
				t.Errorf("place %d, %s: difference chi-square %.0f exceeds %.0f", place, name, got, limit)
			}
		}
	}
}

// FuzzCohort: share 0 is nobody, the full share everybody, whatever the id.
func FuzzCohort(f *testing.F) {
	f.Add(uint64(0x001565aabb01), "2026-w49")
	f.Add(uint64(0), "")
	f.Add(uint64(1)<<48-1, "an id longer than every buffer that one might think of for it, by far")
	f.Fuzz(func(t *testing.T, device uint64, id string) {
		mac := fmt.Sprintf("%012x", device%(1<<48))
		c := CohortOf(mac, id)
		if c.Place >= Shares || c != CohortOf(mac, id) {
			t.Fatalf("%s: %+v", CohortKey(mac, id), c)
		}
	})
}

func BenchmarkCohortOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		CohortOf("001565aabbcc", "2026-w49")
	}
}
