//go:build race

package serve

// loaded is how many phones a load test has. The race detector makes them slow,
// and finds nothing with many that it does not find with some.
const loaded = 5000
