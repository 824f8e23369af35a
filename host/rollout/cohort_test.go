package rollout

import (
	"fmt"
	"testing"
)

// Whoever a share reaches a larger one reaches too, and the counts say so.
func TestCohort(t *testing.T) {
	const devices = 500
	count := func(before, after Rollout) (c Cohort) {
		for i := range devices {
			c.Count(before, after, fmt.Sprintf("001565%06x", i))
		}
		return c
	}
	at := func(share int64) Rollout { return Rollout{ID: "w49", Share: share} }
	last := 0
	for share := int64(0); share < 10000; share += 250 {
		up, down := count(at(share), at(share+250)), count(at(share+250), at(share))
		if up.Devices != devices || up.Back != 0 || up.Before != last || up.After != last+up.In {
			t.Errorf("raised from %d: %+v, before it there were %d", share, up, last)
		}
		if want := (Cohort{devices, up.After, up.Before, 0, up.In}); down != want {
			t.Errorf("lowered to %d: %+v, want %+v", share, down, want)
		}
		last = up.After
	}
	if last != devices {
		t.Errorf("100%% are %d devices", last)
	}
	if c := count(Rollout{}, at(0)); c != (Cohort{Devices: devices}) {
		t.Errorf("nobody: %+v", c)
	}
	// Another id is another order.
	if c := count(at(5000), Rollout{ID: "w50", Share: 5000}); c.In == 0 || c.Back == 0 {
		t.Errorf("another id: %+v", c)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[int64]string{0: "0%", 1: "0.01%", 150: "1.50%", 2500: "25%", 10000: "100%"} {
		if got := Percent(share); got != want {
			t.Errorf("%d is %s, want %s", share, got, want)
		}
	}
}
