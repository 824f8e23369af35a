package spread

import "github.com/cespare/xxhash/v2"

// Shares is how many parts of a fleet a rollout can tell apart: a share is a
// hundredth of a per cent, ten phones of a hundred thousand.
const Shares = 10000

// Cohort is where a device stands in the order in which a rollout reaches the
// devices of a fleet.
type Cohort struct {
	// Hash is the xxHash64 of the key with seed 0.
	Hash uint64
	// Place is 0 to Shares-1. A device is in the cohort when its place is below
	// the share, so that a larger share only ever adds devices.
	Place uint64
}

// CohortKey is what is hashed for a rollout: a key that no timer has, so that the
// phones which are first to change have values from all over a window. Another id
// is another order: the same phones are not always the first.
func CohortKey(mac, id string) string { return mac + "|rollout|" + id }

// CohortOf finds the place of the device with this MAC in the rollout of this id.
func CohortOf(mac, id string) Cohort {
	var key [64]byte
	h := xxhash.Sum64(append(append(append(key[:0], mac...), "|rollout|"...), id...))
	// The upper half of the hash as a fraction of one; a remainder would make the
	// first places a little more likely.
	return Cohort{Hash: h, Place: h >> 32 * Shares >> 32}
}
