package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// NewFile returns a sink that appends to a file, readable for its owner only. The
// file is opened for each flush: when it has been renamed there is a new one.
func NewFile(path string) (Sink, error) {
	s := file{path}
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	return s, f.Close()
}

type file struct{ path string }

func (s file) open() (*os.File, error) {
	// Opening a pipe would wait for its reader.
	if info, err := os.Stat(s.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", s.path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func (s file) Send(_ context.Context, lines []byte) (err error) {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	n, err := f.Write(lines)
	if err == nil {
		return nil
	}
	// Half of it would be there twice, and the last line broken. Unless somebody
	// else has written since.
	if after, e := f.Stat(); e == nil && after.Size() == before.Size()+int64(n) {
		err = errors.Join(err, f.Truncate(before.Size()))
	}
	return err
}
