package herd

import (
	"math"
	"slices"
)

// Peak is the largest number of requests in one second of period k, which is
// [(k-1)*I, k*I) after the event; the requests of the start itself are left out.
// It is 0 for a period that was not simulated.
func (r *Run) Peak(k int) uint32 { return r.most(float64(k-1)*r.Interval, float64(k)*r.Interval) }

// RoundPeak is that of the time around the k-th repeat, from half an interval
// before k*I to half an interval after: as long as rounds do not meet, the k-th
// round and no other.
func (r *Run) RoundPeak(k int) uint32 {
	return r.most((float64(k)-0.5)*r.Interval, (float64(k)+0.5)*r.Interval)
}

func (r *Run) most(from, to float64) uint32 {
	low, high := min(max(0, int(from)), len(r.Counts)), min(max(0, int(to)), len(r.Counts))
	if low >= high {
		return 0
	}
	return slices.Max(r.Counts[low:high])
}

// Periods is how many periods were simulated.
func (r *Run) Periods() int { return int(math.Ceil(float64(len(r.Counts)) / r.Interval)) }

// Mean is the mean of requests a second over the last period.
func (r *Run) Mean() float64 {
	n := int(r.Interval)
	last := r.Counts[max(0, len(r.Counts)-n):]
	sum := 0.0
	for _, c := range last {
		sum += float64(c)
	}
	return sum / float64(len(last))
}

// Noise is the peak that a perfectly even load of this mean still has over n
// seconds, since arrivals are random: about 1 + sqrt(2 ln n / mean) times it.
func Noise(mean float64, n int) float64 {
	if mean <= 0 || n < 2 {
		return mean
	}
	return mean + math.Sqrt(2*math.Log(float64(n))*mean)
}

// Density is the expected rate just before the end of period k, where it is
// highest in a period, as a multiple of phones/interval: when all started at one
// instant and values are even over a window of w intervals. Round j lasts from
// j(1-w) to j with a density of 1/(j w); Density is the sum of those that meet.
func Density(k int, w float64) float64 {
	sum := 0.0
	for j := k; float64(j)*(1-w) < float64(k)-1e-9; j++ {
		sum += 1 / (float64(j) * w)
	}
	return sum
}

// LongRun is the rate that Density tends to: -ln(1-w)/w.
func LongRun(w float64) float64 { return -math.Log1p(-w) / w }

// Settled is the first period from which on the expected rate stays within
// tolerance of its long-run mean. Rounds come and go, so it is left and reached
// some times before.
func Settled(w, tolerance float64) int {
	// About 1/w rounds meet at first, one more with every 1/w periods; from then
	// on one more or less is less than the tolerance.
	last := 0
	for k := 1; float64(k) < 4/(w*tolerance); k++ {
		if Density(k, w) > LongRun(w)*(1+tolerance) {
			last = k
		}
	}
	return last + 1
}
