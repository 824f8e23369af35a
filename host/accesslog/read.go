package accesslog

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line in bytes that is looked at.
const maxLine = 1 << 20

// maxProblems is how many bad lines are named; all are counted.
const maxProblems = 5

// ErrIdle is what a log that is followed answers while there is nothing new.
var ErrIdle = errors.New("nothing new")

// A Problem is a line that was not understood.
type Problem struct {
	File string
	Line int
	What string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What) }

// A Source is one log.
type Source struct {
	// Name is how problems call it.
	Name string
	// Lines and Bad count lines; Problems are the first bad ones.
	Lines, Bad int
	Problems   []*Problem

	in     io.Reader
	parser *Parser
	buffer []byte
	// buffer[begin:end] is read and not taken; looked at up to seen.
	begin, end, seen int
	long             bool
	queue            []Record // of one line
	taken            int      // of the queue
	// before counts the lines of earlier files of this name, of which there were files.
	before, files int
	ended         error
}

// Open makes a source of what is read from r: text, or text compressed with gzip. A
// reader that answers ErrIdle may be asked again later.
func Open(name string, r io.Reader, o Options) *Source {
	return &Source{Name: name, in: r, parser: NewParser(o), buffer: make([]byte, 64<<10)}
}

// Unzipped returns what is read from r, uncompressed if it begins as gzip does.
func Unzipped(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(2)
	if err == nil && head[0] == 0x1f && head[1] == 0x8b {
		return gzip.NewReader(b)
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// Next returns the next record, io.EOF behind the last one, or ErrIdle. The record is
// good until the next call.
func (s *Source) Next() (*Record, error) {
	for {
		if s.taken < len(s.queue) {
			s.taken++
			return &s.queue[s.taken-1], nil
		}
		if s.ended != nil {
			return nil, s.ended
		}
		line, err := s.line()
		if err == ErrIdle {
			return nil, err
		}
		if line == nil {
			s.ended = io.EOF
			var corrupt flate.CorruptInputError
			switch {
			case err == io.EOF:
			case err == io.ErrUnexpectedEOF || err == gzip.ErrChecksum || err == gzip.ErrHeader || errors.As(err, &corrupt):
				// A compressed log that is cut off: what was before it is good.
				s.problem(err.Error())
			default:
				s.ended = fmt.Errorf("read %s: %w", s.Name, err)
			}
			if err := s.parser.End(); err != nil {
				s.problem(err.Error())
			}
			continue
		}
		s.Lines++
		if err != nil {
			s.problem(err.Error())
			continue
		}
		s.queue, s.taken = s.queue[:0], 0
		if err := s.parser.Line(line, func(r *Record) { s.queue = append(s.queue, *r) }); err != nil {
			s.problem(err.Error())
		}
	}
}

func (s *Source) problem(what string) {
	s.Bad++
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, &Problem{s.Name, s.Lines - s.before, what})
	}
}

var errLong = fmt.Errorf("longer than %d bytes", maxLine)

// line returns the next line without its end, or nil and why there is none. A line
// that is too long is returned with an error.
func (s *Source) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(s.buffer[s.seen:s.end], '\n'); i >= 0 {
			line := s.buffer[s.begin : s.seen+i]
			s.seen += i + 1
			s.begin = s.seen
			if s.long || len(line) > maxLine {
				s.long = false
				return line, errLong
			}
			return line, nil
		}
		s.seen = s.end
		if s.long || s.end-s.begin > maxLine {
			s.long = true
			s.seen, s.end = s.begin, s.begin
		}
		if s.begin > 0 {
			copy(s.buffer, s.buffer[s.begin:s.end])
			s.seen, s.end, s.begin = s.seen-s.begin, s.end-s.begin, 0
		}
		if s.end == len(s.buffer) {
			s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
		}
		n, err := s.in.Read(s.buffer[s.end:])
		if t, ok := s.in.(*Tail); ok && t.files != s.files {
			s.files, s.before = t.files, s.Lines
			if s.end > s.begin {
				s.before++ // half a line, which ends now
			}
		}
		s.end += n
		if n > 0 || err == nil {
			continue
		}
		if err == ErrIdle {
			return nil, err
		}
		// The last line may have no end.
		if s.end > s.begin || s.long {
			line := s.buffer[s.begin:s.end]
			s.begin, s.seen = s.end, s.end
			if s.long {
				s.long = false
				return line, errLong
			}
			return line, nil
		}
		return nil, err
	}
}
