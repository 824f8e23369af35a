package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// block is what the smallest file takes of a disk, in bytes.
const block = 4 << 10

// A spool is a folder in which pieces wait for the sink, a file each, named by a
// number that counts up and the number of its records. What is in it outlives the
// process; it is left to the system when it reaches the disk. One process has it
// at a time.
type spool struct {
	folder string
	limit  int64
	unlock func() error

	mu      sync.Mutex
	files   []stored // the oldest first
	next    uint64
	bytes   int64
	records int
	dropped uint64 // records that were deleted to make room
	sending uint64 // the number of the file that is with the sink, or 0
}

// stored is a file of a spool.
type stored struct {
	number  uint64
	records int
	bytes   int64 // of the disk
}

var storedName = regexp.MustCompile(`^([0-9]{16})-([0-9]{1,9})\.ndjson$`)

func (f stored) name() string { return fmt.Sprintf("%016d-%d.ndjson", f.number, f.records) }

// onDisk is what a file of this many bytes takes.
func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// openSpool opens the folder, which it makes when it is not there, and finds what
// an earlier process left.
func openSpool(folder string, limit int64) (*spool, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	s := &spool{folder: folder, limit: limit, unlock: unlock, next: 1}
	if err := s.find(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return s, nil
}

func (s *spool) find() error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries { // by name, which is by age
		if strings.HasPrefix(entry.Name(), temporary) {
			// Half a piece, whose process was killed.
			if err := os.Remove(filepath.Join(s.folder, entry.Name())); err != nil {
				return err
			}
			continue
		}
		match := storedName.FindStringSubmatch(entry.Name())
		if match == nil || !entry.Type().IsRegular() {
			continue // none of ours
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		// The pattern has bounded both.
		number, _ := strconv.ParseUint(match[1], 10, 64)
		records, _ := strconv.Atoi(match[2])
		s.add(stored{number, records, onDisk(info.Size())})
	}
	s.makeRoom(0)
	return nil
}

func (s *spool) add(f stored) {
	s.files = append(s.files, f)
	s.next = max(s.next, f.number+1)
	s.bytes += f.bytes
	s.records += f.records
}

var errInUse = errors.New("in use by another process")

// temporary begins the name of a file that is being written.
const temporary = ".piece-"

// put stores a piece; when the spool is full the oldest make room for it. It is
// there whole or not at all.
func (s *spool) put(p piece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := onDisk(int64(len(p.lines)))
	s.makeRoom(size)
	f := stored{s.next, p.records, size}
	part := filepath.Join(s.folder, temporary+strconv.FormatUint(s.next, 10))
	err := os.WriteFile(part, p.lines, 0o600)
	if err == nil {
		err = os.Rename(part, filepath.Join(s.folder, f.name()))
	}
	if err != nil {
		return errors.Join(err, removed(part))
	}
	s.add(f)
	return nil
}

// makeRoom deletes the oldest until there is room for size bytes more. What is
// with the sink stays: it may have it already.
func (s *spool) makeRoom(size int64) {
	for s.bytes+size > s.limit {
		oldest := slices.IndexFunc(s.files, func(f stored) bool { return f.number != s.sending })
		if oldest < 0 {
			return
		}
		s.dropped += uint64(s.files[oldest].records)
		// A file that cannot be removed is found again by the next process.
		_ = s.delete(oldest)
	}
}

// delete takes a file out of the list and the folder.
func (s *spool) delete(i int) error {
	f := s.files[i]
	s.files = slices.Delete(s.files, i, i+1)
	s.bytes -= f.bytes
	s.records -= f.records
	return removed(filepath.Join(s.folder, f.name()))
}

// removed removes a file that may be gone already.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// oldest is the piece that has waited longest; ok is false when none waits. What of
// it cannot be read is dropped, with an error, and that may be all of it. The
// caller answers with done or keep.
func (s *spool) oldest() (p piece, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) == 0 {
		return piece{}, false, nil
	}
	f := s.files[0]
	lines, err := os.ReadFile(filepath.Join(s.folder, f.name()))
	// A machine that went down may have cut the end off.
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	records := bytes.Count(lines, []byte("\n"))
	if lost := f.records - records; lost > 0 {
		s.dropped += uint64(lost)
		if err == nil {
			err = fmt.Errorf("%s is not whole", f.name())
		}
	}
	s.sending = f.number
	return piece{lines, records}, true, err
}

// done deletes what oldest gave: the sink has it.
func (s *spool) done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := slices.IndexFunc(s.files, func(f stored) bool { return f.number == s.sending })
	s.sending = 0
	return s.delete(sent)
}

// keep leaves what oldest gave for another time.
func (s *spool) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = 0
}

// state is how many bytes of the disk and records wait, and how many records made
// room for others.
func (s *spool) state() (bytes int64, records int, dropped uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.records, s.dropped
}

func (s *spool) close() error { return s.unlock() }
