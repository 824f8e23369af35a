package diff

import (
	"math"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// 1,000 phones with two lines and 8 lamps each, which check in once in 2.5 hours.
func TestLoad(t *testing.T) {
	h := newHerd()
	for range 1000 {
		h.add(checkin{seconds: 9000}, 2, 8)
	}
	l := h.Load()
	if l.Devices != 1000 || l.Registers != 2000 || l.Subscribes != 8000 || l.Seconds != 9000 || len(l.Reboots) != 3 {
		t.Fatalf("%+v", l)
	}
	for i, want := range []float64{400, 400, 200} {
		near(t, "an hour", l.Reboots[i], want)
	}
	near(t, "the peak", l.Peak, 400)
	near(t, "REGISTER", l.RegisterRate, 2000.0/9000)
	near(t, "SUBSCRIBE", l.SubscribeRate, 8000.0/9000)

	// One check-in for all and one line: the formula in closed form.
	one := newHerd()
	for range 5000 {
		one.add(checkin{seconds: 3600}, 1, 20)
	}
	load := one.Load()
	s := load.Step(20, 2)
	near(t, "the share", s.Share, 20.0*3600/(5000*(1+20)*2))
	if s.Steps != 3 || s.Seconds != 3*3600 {
		t.Errorf("%+v", s)
	}
	if s := load.Step(1e6, 2); s.Share != 1 || s.Steps != 1 {
		t.Errorf("%+v", s)
	}
	if s := (&Load{}).Step(1, 2); s.Share != 1 || s.Steps != 1 || s.Seconds != 0 {
		t.Errorf("%+v", s)
	}
}

// Phones with a time of the day come in its minute.
func TestDaily(t *testing.T) {
	h := newHerd()
	for range 60 {
		h.add(readCheckin("02:17"), 1, 2)
	}
	for range 30 {
		h.add(readCheckin("02:18"), 1, 0)
	}
	h.add(readCheckin("00:00"), 1, 0)
	for range 48 {
		h.add(readCheckin("86400"), 1, 0)
	}
	l := h.Load()
	if len(l.Reboots) != 24 || l.Devices != 139 || l.Seconds != 86400 {
		t.Fatalf("%+v", l)
	}
	near(t, "midnight", l.Reboots[0], 3)
	near(t, "two o'clock", l.Reboots[2], 92)
	near(t, "the peak", l.Peak, 92)
	near(t, "REGISTER", l.RegisterRate, 1+48.0/86400)
	near(t, "SUBSCRIBE", l.SubscribeRate, 2)
}

func TestReadCheckin(t *testing.T) {
	for text, want := range map[string]checkin{
		"76140": {76140, false}, "02:17": {2*3600 + 17*60, true}, "00:00": {0, true}, "23:59": {86340, true}, "": {day, false}, "0": {day, false}, "x": {day, false}, "1:x": {day, false},
	} {
		if got := readCheckin(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestWith(t *testing.T) {
	a, b := newHerd(), newHerd()
	a.add(checkin{seconds: 60}, 1, 2)
	a.add(checkin{}, 1, 0)
	b.add(checkin{seconds: 60}, 3, 4)
	both := a.With(b).Load()
	if both.Devices != 3 || both.Registers != 5 || both.Subscribes != 6 || both.Seconds != day || a.Load().Devices != 2 {
		t.Errorf("%+v", both)
	}
	if !slices.Equal(a.With(b).Load().Reboots, b.With(a).Load().Reboots) {
		t.Error("the order counts")
	}
}
