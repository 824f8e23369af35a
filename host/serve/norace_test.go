//go:build !race

package serve

// loaded is how many phones a load test has.
const loaded = 50000
