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

// daily is a check-in at a time of the day.
func daily(base, window, unit uint64) Timer {
	return Timer{Interval: Day, Window: window, Floor: 3600, Unit: unit, Days: 1, Base: base}
}

// Vectors of times of the day: the hash and the slot are those of an interval with the
// same window, and the value is counted from the base.
func TestTimesOfDay(t *testing.T) {
	for _, c := range []struct {
		timer        Timer
		slots        uint64
		modulo, jump string
	}{
		{daily(2*3600, 14400, 60), 240, "02:41", "02:33"},
		{daily(0, Day, 60), 1440, "00:41", "04:24"},
		{daily(23*3600, 14400, 60), 240, "23:41", "23:33"},
		{daily(23*3600+1800, 14400, 60), 240, "00:11", "00:03"}, // past midnight
		{daily(2*3600, 14400, 3600), 4, "03:00", "03:00"},
		{daily(2*3600+1800, 14400, 3600), 4, "03:00", "03:00"}, // the base has a unit too
		{daily(2*3600, 0, 60), 1, "02:00", "02:00"},
	} {
		c.timer.Place = Modulo
		m := c.timer.For("001565aabbcc", "checkin")
		c.timer.Place = Jump
		j := c.timer.For("001565aabbcc", "checkin")
		if m.Hash != 0xae1639020d1bb569 || m.Slots != c.slots || string(AppendClock(nil, m.Seconds)) != c.modulo || string(AppendClock(nil, j.Seconds)) != c.jump {
			t.Errorf("%+v: %d slots, modulo %s, jump %s, want %d, %s, %s", c.timer, m.Slots, AppendClock(nil, m.Seconds), AppendClock(nil, j.Seconds), c.slots, c.modulo, c.jump)
		}
	}
}

// A time of the day is in its window, on the unit, and of one day.
func FuzzTimeOfDay(f *testing.F) {
	f.Add(uint64(7200), uint64(14400), uint64(1), uint64(7), false)
	f.Add(uint64(86340), uint64(100_000), uint64(1), uint64(1), true)
	f.Add(uint64(0), uint64(0), uint64(2), uint64(1), true)
	f.Fuzz(func(t *testing.T, base, window, unit, device uint64, modulo bool) {
		timer := daily(base%Day/60*60, window%(1<<31), []uint64{1, 60, 3600}[unit%3])
		if modulo {
			timer.Place = Modulo
		}
		if !timer.InRange() {
			t.Fatalf("%+v is out of range", timer)
		}
		v := timer.For(fmt.Sprintf("%012x", device%(1<<48)), "checkin")
		first := timer.Base / timer.Unit * timer.Unit
		switch after := (v.Seconds + Day - first) % Day; {
		case v.Seconds >= Day, v.Seconds%timer.Unit != 0, v.Units*timer.Unit != v.Seconds:
			t.Fatalf("%+v: %+v", timer, v)
		case after != v.Offset, after >= max(timer.Window, 1) && after > 0:
			t.Fatalf("%+v: %d seconds after the base", timer, after)
		case (v.Slots == 1) != (v.Limits&Fixed != 0), (timer.Window/timer.Unit > v.Slots && v.Slots > 1) != (v.Limits&OneDay != 0):
			t.Fatalf("%+v: %d slots but limits %b", timer, v.Slots, v.Limits)
		}
	})
}

func TestDaysInRange(t *testing.T) {
	for _, c := range []struct {
		interval, days uint64
		ok             bool
	}{{Day, 1, true}, {2 * Day, 1, false}, {2 * Day, 364, true}, {364 * Day, 364, true}, {365 * Day, 364, false}, {0, 1, false}, {Day - 1, 364, false}, {Day + 3600, 364, false}} {
		timer := Timer{Interval: c.interval, Unit: 60, Days: c.days}
		if timer.InRange() != c.ok {
			t.Errorf("%d seconds of %d days: %v", c.interval, c.days, !c.ok)
		}
	}
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

func TestTimesOfDayAreUniform(t *testing.T) {
	for _, place := range []Place{Jump, Modulo} {
		for _, window := range []uint64{3600, 14400, Day} {
			timer := daily(22*3600, window, 60)
			timer.Place = place
			cells := make([]int, window/60)
			for _, mac := range macs {
				cells[(timer.For(mac, "checkin").Units+1440-22*60)%1440]++
			}
			if got, limit := chiSquare(cells, herd), chiSquareLimit(float64(window/60-1)); got > limit {
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
		{Timer{Interval: 3600, Window: 600, Floor: 60, Unit: 60, Native: true}, Native | Fixed},
		{daily(0, 14400, 60), Unit},
		{daily(0, 2*Day, 1), OneDay},
		{daily(0, 0, 60), Fixed},
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
