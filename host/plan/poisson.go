package plan

import "math"

// Tail is the chance that a Poisson variable of this mean exceeds limit, exactly
// as far as floating point goes: a sum of terms, the first of them from
// logarithms so that neither a large mean nor a rare event is lost on the way.
func Tail(limit, mean float64) float64 {
	limit = math.Floor(limit)
	switch {
	case limit < 0:
		return 1
	case mean <= 0:
		return 0
	case mean > limit+1:
		// Beyond the mode: the terms above would begin with the small ones.
		return 1 - below(limit, mean)
	}
	k := limit + 1
	term := probability(k, mean)
	sum := 0.0
	for term > 0 {
		before := sum
		sum += term
		if sum == before {
			break
		}
		k++
		term *= mean / k
	}
	return sum
}

// below is the chance that the variable is at most limit, for a mean above it.
func below(limit, mean float64) float64 {
	term := probability(limit, mean)
	sum := 0.0
	for k := limit; k >= 0 && term > 0; k-- {
		sum += term
		term *= k / mean
	}
	return sum
}

func probability(k, mean float64) float64 {
	gamma, _ := math.Lgamma(k + 1)
	return math.Exp(k*math.Log(mean) - mean - gamma)
}

// Mean is the largest Poisson mean that exceeds limit with a chance of epsilon at
// most, 0 < epsilon <= 0.5. The tail grows with the mean, so bisection finds it.
func Mean(limit, epsilon float64) float64 {
	if limit < 0 {
		return 0
	}
	// At a mean of limit+1 the chance is above one half.
	low, high := 0.0, math.Floor(limit)+1
	for {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			return low
		}
		if Tail(limit, middle) <= epsilon {
			low = middle
		} else {
			high = middle
		}
	}
}

// MeanNormal is what textbooks take for Mean: the normal distribution with a
// correction of one half. It is always too large; Tail(limit, MeanNormal) says by
// how much. It is there to stand beside Mean, not to be used.
func MeanNormal(limit, epsilon float64) float64 {
	z := math.Sqrt2 * math.Erfinv(1-2*epsilon)
	root := (-z + math.Sqrt(z*z+4*(limit+0.5))) / 2
	return root * root
}
