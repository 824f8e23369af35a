package rollout

import (
	"fmt"

	"stagger/edge/spread"
)

// Reaches says whether a device with this MAC has the settings.
func (r Rollout) Reaches(mac string) bool {
	return r.Share > 0 && spread.CohortOf(mac, r.ID).Place < uint64(r.Share)
}

// A Cohort counts the devices of a tenant by whether a rollout reaches them.
type Cohort struct {
	Devices int `json:"devices"`
	// Before and After are those that it reaches before a change and after it. In and
	// Back are those that enter and leave.
	Before int `json:"before"`
	After  int `json:"after"`
	In     int `json:"in"`
	Back   int `json:"back"`
}

// Count counts a device.
func (c *Cohort) Count(before, after Rollout, mac string) {
	was, is := before.Reaches(mac), after.Reaches(mac)
	c.Devices++
	if was {
		c.Before++
	}
	if is {
		c.After++
	}
	switch {
	case is && !was:
		c.In++
	case was && !is:
		c.Back++
	}
}

// Percent writes a share for people.
func Percent(share int64) string {
	if share%100 == 0 {
		return fmt.Sprintf("%d%%", share/100)
	}
	return fmt.Sprintf("%d.%02d%%", share/100, share%100)
}
