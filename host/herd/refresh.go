package herd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Refresh says when a phone renews what it was given for a number of seconds.
// Vendors differ: at the end, at a share of it, some seconds before it, or at a
// moment of the phone's own choice. The zero value is the end.
type Refresh struct {
	// from and to are shares of the value, 0 for 1; the phone draws one between
	// them each time.
	from, to float64
	// before is seconds before the end.
	before float64
}

// ParseRefresh reads a rule: "full"; "50%" of the value; "-60", that many seconds
// before the end but never before its half; or "50%-75%", drawn anew each time.
func ParseRefresh(text string) (Refresh, error) {
	wrong := fmt.Errorf("%q is no rule such as full, 50%%, -60 or 50%%-75%%", text)
	if text == "full" {
		return Refresh{}, nil
	}
	if seconds, ok := strings.CutPrefix(text, "-"); ok {
		n, err := strconv.ParseUint(seconds, 10, 31)
		if err != nil || n == 0 {
			return Refresh{}, wrong
		}
		return Refresh{before: float64(n)}, nil
	}
	low, high, ranged := strings.Cut(text, "-")
	from, ok := percent(low)
	to := from
	if ok && ranged {
		to, ok = percent(high)
	}
	if !ok || to < from {
		return Refresh{}, wrong
	}
	return Refresh{from: from, to: to}, nil
}

func percent(text string) (float64, bool) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 8)
	return float64(n) / 100, ok && err == nil && n >= 1 && n <= 100
}

// String is the text that ParseRefresh reads.
func (r Refresh) String() string {
	switch {
	case r.before > 0:
		return fmt.Sprintf("-%.0f", r.before)
	case r.from == 0 || r.from == 1 && r.to == 1:
		return "full"
	case r.from == r.to:
		return fmt.Sprintf("%.0f%%", r.from*100)
	}
	return fmt.Sprintf("%.0f%%-%.0f%%", r.from*100, r.to*100)
}

// Range is after how many seconds a phone with this value comes again: between
// low and high, which are equal unless the phone draws.
func (r Refresh) Range(value float64) (low, high float64) {
	switch {
	case r.before > 0:
		p := math.Max(value-r.before, value/2)
		return p, p
	case r.from == 0:
		return value, value
	}
	return value * r.from, value * r.to
}

// Draws says whether the phone draws a new moment each time.
func (r Refresh) Draws() bool { return r.from != r.to }
