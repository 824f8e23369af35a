// Package spread turns a MAC address and a timer into that phone's own value.
// It owns the rule and nothing else: integers in, integers out, the same for
// ever. It must never see a clock, a random source or a profile.
package spread

import "github.com/cespare/xxhash/v2"

// InRange says whether the interval itself is a value that the vendor accepts.
// Outside of it nothing may be rendered: the interval is never bent on the quiet.
func (t Timer) InRange() bool {
	if t.TimeOfDay() {
		return t.Interval%Day == 0 && t.Interval > 0 && t.Interval/Day <= t.Days
	}
	units := t.Interval / t.Unit
	return units >= max(t.Min, 1) && (t.Max == 0 || units <= t.Max)
}

// Key is what is hashed for the named timer ("checkin", "register.1",
// "subscribe") of the device with this MAC (12 lower-case hex digits). The name
// is the salt: with one offset for all, a phone would renew everything at once.
func Key(mac, timer string) string { return mac + "|" + timer }

// For derives the value of the named timer for the device with this MAC.
func (t Timer) For(mac, name string) Value {
	var key [64]byte
	v := Value{Hash: xxhash.Sum64(append(append(append(key[:0], mac...), '|'), name...))}

	// Everything is counted in the vendor's unit from here on. Rounding a value
	// afterwards would make uneven cells and could round up past the ceiling.
	interval := t.Interval / t.Unit
	floor := (t.Floor + t.Unit - 1) / t.Unit
	window := t.Window / t.Unit
	if t.Native {
		window = 0
		v.Limits |= Native
	} else if t.Unit > 1 && t.Window > 0 {
		v.Limits |= Unit
	}
	lowest := max(floor, t.Min, 1) // a timer of zero is none
	// The window shrinks at the floor. Clamping after the draw would pile
	// everyone who falls below it on the floor itself.
	v.Slots = window
	if t.TimeOfDay() {
		v.Slots = min(window, Day/t.Unit)
		if v.Slots < window {
			v.Limits |= OneDay
		}
	} else if lowest >= interval {
		v.Slots = 1
	} else if room := interval - lowest + 1; room < window {
		v.Slots = room
	}
	if v.Slots < window && !t.TimeOfDay() {
		if t.Min > floor {
			v.Limits |= Minimum
		} else {
			v.Limits |= Floor
		}
	}
	if v.Slots <= 1 {
		v.Slots = 1
		v.Limits |= Fixed
	}

	slot := v.Hash % v.Slots
	if t.Place == Jump {
		slot = jump(v.Hash, v.Slots)
	}
	v.Units = interval - slot
	if t.TimeOfDay() {
		// From the base on, and past midnight if need be. There is no ceiling here
		// and no floor, and the unit is what the phone's clock is set in.
		v.Units = (t.Base/t.Unit + slot) % (Day / t.Unit)
	}
	v.Offset = slot * t.Unit
	v.Seconds = v.Units * t.Unit
	return v
}

// jump is jump consistent hash with the division done in integers: floating
// point would make the answer depend on an engine's rounding. n is below 2^31.
func jump(key, n uint64) uint64 {
	var slot uint64
	for next := uint64(0); next < n; {
		slot = next
		key = key*2862933555777941757 + 1
		next = ((slot + 1) << 31) / (key>>33 + 1)
	}
	return slot
}
