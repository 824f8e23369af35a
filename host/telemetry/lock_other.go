//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package telemetry

// lock relies on the operator here: there is no lock that ends with the process in
// the standard library.
func lock(string) (unlock func() error, err error) { return func() error { return nil }, nil }
