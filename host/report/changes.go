package report

import (
	"slices"

	"stagger/host/chart"
	"stagger/host/diff"
)

// RebootsPerHour shows how many phones meet a change in each hour after it is there:
// those that reboot for it, and with those of which nobody knows. It is nil without
// any.
func RebootsPerHour(reboots, atWorst diff.Load) *chart.Figure {
	if atWorst.Devices == 0 {
		return nil
	}
	hours := float64(len(atWorst.Reboots))
	panel := chart.Panel{
		Title: "Each phone reboots at its next check-in",
		X:     chart.Axis{Label: "time after the change, hours", Max: hours},
		Y:     chart.Axis{Label: "reboots per hour, on average", Max: chart.Round(atWorst.Peak)},
	}
	add := func(name string, l diff.Load, color chart.Color) {
		if l.Devices == 0 {
			return
		}
		s := chart.Series{Name: name, Kind: chart.Bars, Color: color}
		for hour, n := range slices.Concat(l.Reboots, []float64{0}) {
			s.X, s.Y = append(s.X, float64(hour)), append(s.Y, n)
		}
		panel.Series = append(panel.Series, s)
	}
	if atWorst.Devices > reboots.Devices {
		add("with those of which it is unverified", atWorst, chart.Grey)
	}
	add("reboot", reboots, chart.Red)
	panel.Legend = len(panel.Series) > 1
	return &chart.Figure{
		Title:       "Reboots per hour",
		Description: "How many phones reboot in each hour after the change is there, when each meets it at its next check-in.",
		Panels:      []chart.Panel{panel},
	}
}
