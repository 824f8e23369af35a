package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writable says whether a file may be written: it does not exist, or force, and it
// is none of those that are read.
func writable(file string, force bool, read ...string) error {
	if file == "" || file == "-" {
		return nil
	}
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.Lstat(file) // a link to nowhere is there too
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !force:
		return fmt.Errorf("%s exists; --force replaces it", file)
	case info != nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", file)
	}
	for _, other := range read {
		if o, err := os.Stat(other); err == nil && info != nil && os.SameFile(info, o) {
			return fmt.Errorf("%s is what is read", file)
		}
	}
	return nil
}

// A newFile is written beside its place, and complete before it is put there.
type newFile struct {
	temporary, file string
	force           bool
}

// stage writes a file beside its place, for its owner only. On an error nothing is
// left of it.
func stage(file string, force bool, write func(io.Writer) error) (*newFile, error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriterSize(f, 64<<10)
	err = write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &newFile{f.Name(), file, force}, nil
}

// staged lists what stage has left beside a place when it was killed, or is still writing.
func staged(file string) (list []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(file))
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "."+filepath.Base(file)+".")
		if _, bad := strconv.ParseUint(number, 10, 64); ok && bad == nil {
			list = append(list, filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
	return list, err
}

// stageAt is stage for what is written by path.
func stageAt(file string, force bool, write func(path string) error) (*newFile, error) {
	f, err := stage(file, force, func(io.Writer) error { return nil })
	if err != nil {
		return nil, err
	}
	if err := write(f.temporary); err != nil {
		return nil, errors.Join(err, os.Remove(f.temporary))
	}
	return f, nil
}

// replace writes a file in the place of another, whose mode and owner it keeps. Until
// it is complete the other one stays.
func replace(file string, write func(path string) error) error {
	// What a link names is replaced, and not the link.
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	f, err := stageAt(file, true, write)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil {
		keepOwner(f.temporary, info)
		if err := os.Chmod(f.temporary, info.Mode().Perm()); err != nil {
			discard([]*newFile{f})
			return err
		}
	}
	return commit([]*newFile{f})
}

// commit puts files in their places. When that fails with one, those that were new
// are taken away again.
func commit(files []*newFile) error {
	for i, f := range files {
		if err := f.put(); err != nil {
			discard(files[i:])
			for _, done := range files[:i] {
				if !done.force {
					err = errors.Join(err, os.Remove(done.file))
				}
			}
			return err
		}
	}
	return nil
}

// put moves the file to its place. A link fails where a file has come there in the
// meantime; a rename would replace it.
func (f *newFile) put() error {
	if f.force {
		return os.Rename(f.temporary, f.file)
	}
	if err := os.Link(f.temporary, f.file); err != nil {
		if _, there := os.Lstat(f.file); there == nil || !errors.Is(there, os.ErrNotExist) {
			return err
		}
		// A file system without links.
		return os.Rename(f.temporary, f.file)
	}
	return os.Remove(f.temporary)
}

func discard(files []*newFile) {
	for _, f := range files {
		_ = os.Remove(f.temporary) // there is an error already to tell
	}
}

// newFolder makes a folder, for its owner only, that is there with all that write
// puts into it or not at all. There must be none yet.
func newFolder(folder string, write func(folder string) error) error {
	temporary, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+".*") // mode 0700
	if err != nil {
		return err
	}
	if err = write(temporary); err == nil {
		err = os.Rename(temporary, folder)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temporary))
	}
	return nil
}
