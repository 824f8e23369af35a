package plan

import (
	"math"

	"stagger/host/herd"
)

// A Duty is one timer of one real device.
type Duty struct {
	// Value is what the phone was told, in seconds.
	Value, Requests float64
	// Daily is 0 for an interval. For a phone that comes at a time of the day it is
	// the seconds between two times, and Value the seconds after midnight.
	Daily   float64
	Refresh herd.Refresh
}

// Fullest is the fullest bucket after an event.
type Fullest struct {
	Requests float64 `json:"requests"`
	// At is when the bucket begins, in seconds after the event.
	At float64 `json:"at"`
	// Buckets is how many buckets somebody came in.
	Buckets int `json:"buckets"`
}

// Enumerate counts what comes in each bucket when all devices start at the same
// instant, at midnight, up to horizon, and returns the fullest bucket. With a fleet at hand no
// probability is needed: its values are known. A phone that draws its moment is
// counted in parts, as likely as it is to come in each bucket, and once.
func Enumerate(duties []Duty, bucket, horizon float64) Fullest {
	counts := make([]float64, int(horizon/bucket)+1)
	for _, d := range duties {
		if d.Daily > 0 {
			for at := d.Value; at <= horizon; at += d.Daily {
				counts[int(math.Floor(at/bucket))] += d.Requests
			}
			continue
		}
		low, high := d.Refresh.Range(d.Value)
		if d.Refresh.Draws() {
			for i := int(low / bucket); i < len(counts) && float64(i)*bucket < high; i++ {
				begin, end := max(low, float64(i)*bucket), min(high, float64(i+1)*bucket)
				counts[i] += d.Requests * (end - begin) / (high - low)
			}
			continue
		}
		for k := 1.0; low > 0 && k*low <= horizon; k++ {
			counts[int(math.Floor(k*low/bucket))] += d.Requests
		}
	}
	var f Fullest
	for i, n := range counts {
		if n > 0 {
			f.Buckets++
		}
		if n > f.Requests {
			f.Requests, f.At = n, float64(i)*bucket
		}
	}
	return f
}
