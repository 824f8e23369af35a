package spread

import (
	"fmt"
	"math"
	"testing"
)

// The published vectors: anybody can check them with an xxHash64 at hand.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		mac, timer                    string
		interval, window, floor, unit uint64
		hash, slots, modulo, jump     uint64
	}{
		{"001565aabbcc", "checkin", 86400, 14400, 3600, 1, 0xae1639020d1bb569, 14400, 86359, 82641},
		{"001565aabbcc", "register.1", 3600, 600, 60, 1, 0xcf19972a07da98da, 600, 3150, 3386},
		{"001565aabbcc", "register.2", 3600, 600, 60, 1, 0x267661387edf4f2f, 600, 3161, 3256},
		{"001565aabbcc", "subscribe", 3600, 600, 60, 1, 0xdc39eb3659cd3db4, 600, 3444, 3174},
		{"001565aabbcc", "register.1", 300, 600, 60, 1, 0xcf19972a07da98da, 241, 180, 86},
		{"001565aabbcc", "register.1", 3600, 600, 60, 60, 0xcf19972a07da98da, 10, 3600, 3480},
		{"0004f2000001", "register.1", 3600, 600, 60, 1, 0x20360c643acee7a9, 600, 3263, 3156},
		{"0004f2000002", "register.1", 3600, 600, 60, 1, 0xa289370ac3cbc5b0, 600, 3320, 3364},
	} {
		timer := Timer{Interval: c.interval, Window: c.window, Floor: c.floor, Unit: c.unit, Place: Modulo}
		m := timer.For(c.mac, c.timer)
		timer.Place = Jump
		j := timer.For(c.mac, c.timer)
		if m.Hash != c.hash || m.Slots != c.slots || m.Seconds != c.modulo || j.Seconds != c.jump {
			t.Errorf("%s|%s I=%d W=%d: hash %x slots %d modulo %d jump %d, want %x %d %d %d", c.mac, c.timer,
				c.interval, c.window, m.Hash, m.Slots, m.Seconds, j.Seconds, c.hash, c.slots, c.modulo, c.jump)
		}
	}
}

// Jump consistent hash as published, in floating point. The integer form must
// agree wherever both are exact, which is everywhere that a window reaches.
func TestJumpIsThePublishedAlgorithm(t *testing.T) {
	published := func(key uint64, n int64) int64 {
		var b, j int64 = -1, 0
		for j < n {
			b = j
			key = key*2862933555777941757 + 1
			j = int64(float64(b+1) * (float64(int64(1)<<31) / float64((key>>33)+1)))
		}
		return b
	}
	for i := uint64(0); i < 200_000; i++ {
		key := i * 0x9e3779b97f4a7c15
		n := 1 + i*7919%90_000
		if got, want := jump(key, n), uint64(published(key, int64(n))); got != want {
			t.Fatalf("jump(%x, %d) = %d, published algorithm says %d", key, n, got, want)
		}
	}
}

// Bounds hold for every combination, odd ones too.
func FuzzBounds(f *testing.F) {
	f.Add(uint64(3600), uint64(600), uint64(60), uint64(1), uint64(0), uint64(7), true)
	f.Add(uint64(300), uint64(600), uint64(60), uint64(60), uint64(2), uint64(1), false)
	f.Add(uint64(60), uint64(600), uint64(60), uint64(60), uint64(0), uint64(3), false)
	f.Add(uint64(60), uint64(625), uint64(0), uint64(1), uint64(0), uint64(0), false) // found by fuzzing: no floor gave zero
	f.Fuzz(func(t *testing.T, interval, window, floor, unit, minimum, device uint64, modulo bool) {
		timer := Timer{
			Interval: interval % (1 << 31), Window: window % (1 << 31), Floor: floor % (1 << 31),
			Unit: []uint64{1, 60, 3600}[unit%3], Min: minimum % 100_000,
		}
		if modulo {
			timer.Place = Modulo
		}
		if !timer.InRange() {
			t.Skip()
		}
		v := timer.For(fmt.Sprintf("%012x", device%(1<<48)), "register.1")
		switch ceiling := timer.Interval / timer.Unit * timer.Unit; {
		case v.Seconds > timer.Interval, v.Seconds+v.Offset != ceiling, v.Seconds%timer.Unit != 0, v.Units*timer.Unit != v.Seconds:
			t.Fatalf("%+v: %+v", timer, v)
		case v.Seconds == 0:
			t.Fatalf("%+v: a timer of zero", timer)
		case timer.Window > 0 && v.Offset >= max(timer.Window, 1):
			t.Fatalf("%+v: offset %d reaches the window", timer, v.Offset)
		case v.Offset > 0 && (v.Seconds < timer.Floor || v.Units < timer.Min):
			t.Fatalf("%+v: value %d below the floor", timer, v.Seconds)
		case (v.Slots == 1) != (v.Limits&Fixed != 0):
			t.Fatalf("%+v: %d slots but limits %b", timer, v.Slots, v.Limits)
		}
	})
}

// The worst real case: the phones of one carton after the other.
const herd = 1_000_000

func macs(yield func(int, string) bool) {
	for i := range herd {
		if !yield(i, fmt.Sprintf("001565%06x", i)) {
			return
		}
	}
}

// chiSquareLimit is the value that a chi-square with k degrees of freedom exceeds
// with probability 1e-6 (Wilson and Hilferty). The devices are fixed, so the
// tests either pass always or never.
func chiSquareLimit(k float64) float64 {
	const z = 4.753 // standard normal quantile of 1 - 1e-6
	a := 2 / (9 * k)
	return k * math.Pow(1-a+z*math.Sqrt(a), 3)
}

func chiSquare(cells []int, total int) float64 {
	want := float64(total) / float64(len(cells))
	sum := 0.0
	for _, n := range cells {
		sum += (float64(n) - want) * (float64(n) - want) / want
	}
	return sum
}

func TestUniform(t *testing.T) {
	for _, place := range []Place{Jump, Modulo} {
		for _, window := range []uint64{60, 600, 3600, 14688, 86400} {
			timer := Timer{Interval: 100_000, Window: window, Floor: 60, Unit: 1, Place: place}
			cells := make([]int, window)
			for _, mac := range macs {
				cells[timer.For(mac, "checkin").Offset]++
			}
			if got, limit := chiSquare(cells, herd), chiSquareLimit(float64(window-1)); got > limit {
				t.Errorf("place %d window %d: chi-square %.0f exceeds %.0f", place, window, got, limit)
			}
		}
	}
}

// A correlation test sees nothing even for broken hashes, so independence is
// tested on the joint grid and in the difference of the two offsets.
func TestTimersAreIndependent(t *testing.T) {
	const grid = 60
	for _, place := range []Place{Jump, Modulo} {
		timer := Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 1, Place: place}
		for _, pair := range [][2]string{
			{"register.1", "register.2"}, {"register.1", "subscribe"}, {"checkin", "subscribe"},
		} {
			joint, difference := make([]int, grid*grid), make([]int, 600)
			for _, mac := range macs {
				a, b := timer.For(mac, pair[0]).Offset, timer.For(mac, pair[1]).Offset
				joint[a*grid/600*grid+b*grid/600]++
				difference[(a+600-b)%600]++
			}
			if got, limit := chiSquare(joint, herd), chiSquareLimit(grid*grid-1); got > limit {
				t.Errorf("place %d %v: joint chi-square %.0f exceeds %.0f", place, pair, got, limit)
			}
			if got, limit := chiSquare(difference, herd), chiSquareLimit(599); got > limit {
				t.Errorf("place %d %v: difference chi-square %.0f exceeds %.0f", place, pair, got, limit)
			}
		}
	}
}

// A window that the floor cuts must not pile phones on the floor.
func TestNobodyGathersAtTheFloor(t *testing.T) {
	for _, c := range []struct{ interval, window, floor uint64 }{{300, 600, 60}, {3600, 600, 60}, {3600, 7200, 3000}} {
		timer := Timer{Interval: c.interval, Window: c.window, Floor: c.floor, Unit: 1}
		atFloor, slots := 0, uint64(0)
		for _, mac := range macs {
			v := timer.For(mac, "register.1")
			slots = v.Slots
			if v.Seconds == c.floor || v.Offset == v.Slots-1 {
				atFloor++
			}
		}
		if limit := 2 * herd / int(slots); atFloor > limit {
			t.Errorf("%+v: %d phones at the lowest value, more than twice 1/%d", c, atFloor, slots)
		}
	}
}

// Raising a window moves as few phones as possible with jump placement.
func TestWideningMovesTheLeast(t *testing.T) {
	for place, want := range map[Place]float64{Jump: 1.0 / 3, Modulo: 2.0 / 3} {
		narrow := Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 1, Place: place}
		wide := narrow
		wide.Window = 900
		moved := 0
		for _, mac := range macs {
			if narrow.For(mac, "register.1").Offset != wide.For(mac, "register.1").Offset {
				moved++
			}
		}
		if got := float64(moved) / herd; math.Abs(got-want) > 0.003 {
			t.Errorf("place %d: widening 600 to 900 moves %.3f of the phones, want %.3f", place, got, want)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	for _, c := range []struct {
		timer Timer
		want  Limits
	}{
		{Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 1}, 0},
		{Timer{Interval: 300, Window: 600, Floor: 60, Unit: 1}, Floor},
		{Timer{Interval: 300, Window: 600, Floor: 10, Unit: 1, Min: 30}, Minimum},
		{Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 60}, Unit},
		{Timer{Interval: 60, Window: 600, Floor: 60, Unit: 1}, Floor | Fixed},
		{Timer{Interval: 3600, Window: 0, Floor: 60, Unit: 1}, Fixed},
	} {
		if got := c.timer.For("001565aabbcc", "checkin").Limits; got != c.want {
			t.Errorf("%+v: limits %b, want %b", c.timer, got, c.want)
		}
	}
}

func BenchmarkFor(b *testing.B) {
	timer := Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 1}
	b.ReportAllocs()
	for b.Loop() {
		timer.For("001565aabbcc", "register.1")
	}
}
