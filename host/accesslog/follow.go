package accesslog

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// A Tail reads a file that grows, and goes on with the new one when it was renamed and
// another stands in its place, or from the beginning when it was cut to less than what
// was read.
type Tail struct {
	path   string
	file   *os.File
	offset int64
	last   byte
	files  int // how many times it began anew
}

// Follow opens a file that is to be followed, at its beginning.
func Follow(path string) (*Tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Tail{path: path, file: f, last: '\n'}, nil
}

// Close closes the file.
func (t *Tail) Close() error { return t.file.Close() }

// Read reads what is new, and answers ErrIdle when there is nothing.
func (t *Tail) Read(b []byte) (int, error) {
	for {
		n, err := t.file.Read(b)
		if n > 0 {
			t.offset += int64(n)
			t.last = b[n-1]
			return n, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		more, err := t.more()
		if err != nil {
			return 0, err
		}
		if !more {
			return 0, ErrIdle
		}
		// Half a line of what was before is a line of its own.
		if t.offset == 0 && t.last != '\n' && len(b) > 0 {
			t.last, b[0] = '\n', '\n'
			return 1, nil
		}
	}
}

// more says whether there is more to read: in this file, in this file from its
// beginning, or in another.
func (t *Tail) more() (bool, error) {
	there, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // renamed, and the new one is not made yet
	} else if err != nil {
		return false, err
	}
	own, err := t.file.Stat()
	if err != nil {
		return false, err
	}
	switch {
	case !os.SameFile(there, own):
		if own.Size() > t.offset {
			return true, nil // written to between reading and renaming
		}
		f, err := os.Open(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		err = t.file.Close()
		t.file, t.offset = f, 0
		t.files++
		return true, err
	case there.Size() < t.offset:
		_, err := t.file.Seek(0, io.SeekStart)
		t.offset = 0
		t.files++
		return true, err
	}
	return false, nil
}

// A Pipe reads what somebody else writes when they like, without waiting for it.
type Pipe struct {
	chunks chan []byte
	rest   []byte
	err    error // why there are no more chunks
}

// NewPipe starts to read r, and goes on until its end.
func NewPipe(r io.Reader) *Pipe {
	p := &Pipe{chunks: make(chan []byte, 16)}
	go func() {
		defer close(p.chunks)
		for {
			b := make([]byte, 64<<10)
			n, err := r.Read(b)
			if n > 0 {
				p.chunks <- b[:n]
			}
			if err != nil {
				p.err = err
				return
			}
		}
	}()
	return p
}

// Read reads what there is, and answers ErrIdle when there is nothing.
func (p *Pipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		select {
		case chunk, ok := <-p.chunks:
			if !ok {
				return 0, p.err
			}
			p.rest = chunk
		default:
			return 0, ErrIdle
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
