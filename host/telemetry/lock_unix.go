//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package telemetry

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a file for this process. The system gives it back when the process
// ends, however it ends.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
