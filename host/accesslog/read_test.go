package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// row is a line of a log, and its time in seconds after 09:14.
func row(second float64, mac int) string {
	return fmt.Sprintf("2026-11-30T09:14:%06.3fZ 0015650000%02x\n", second, mac)
}

// all reads a source to its end, and returns the devices in their order.
func all(t *testing.T, s interface{ Next() (*Record, error) }) (macs []MAC) {
	t.Helper()
	for {
		r, err := s.Next()
		if err == io.EOF || err == ErrIdle {
			return macs
		} else if err != nil {
			t.Fatal(err)
		}
		macs = append(macs, r.MAC&0xff)
	}
}

func TestSource(t *testing.T) {
	log := row(1, 1) + "what\n\n" + row(2, 2) + strings.Repeat("x", maxLine+70000) + "\n" + row(3, 3) + strings.Repeat("y\n", 10) + strings.TrimSpace(row(4, 4))
	for name, r := range map[string]io.Reader{
		"at once":        strings.NewReader(log),
		"byte by byte":   iotest.OneByteReader(strings.NewReader(log)),
		"with its error": iotest.DataErrReader(strings.NewReader(log)),
	} {
		s := Open("a.log", r, options)
		if got := all(t, s); !slices.Equal(got, []MAC{1, 2, 3, 4}) {
			t.Errorf("%s: %v", name, got)
		}
		var problems []string
		for _, p := range s.Problems {
			problems = append(problems, p.Error())
		}
		if got := strings.Join(problems, "\n"); got != "a.log:2: no time\na.log:5: longer than 1048576 bytes\na.log:7: no time\na.log:8: no time\na.log:9: no time" || s.Lines != 17 || s.Bad != 12 {
			t.Errorf("%s: %d of %d lines\n%s", name, s.Bad, s.Lines, got)
		}
	}
	s := Open("a.log", iotest.ErrReader(errors.New("unplugged")), options)
	for range 2 {
		if _, err := s.Next(); err == nil || err.Error() != "read a.log: unplugged" {
			t.Error(err)
		}
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	for i := range 2 { // two members are one file
		z := gzip.NewWriter(&b)
		for n := range 500 {
			if _, err := io.WriteString(z, row(float64(i), n%200)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open := func(data []byte) *Source {
		r, err := Unzipped(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return Open("a.gz", r, options)
	}
	if got := all(t, open(b.Bytes())); len(got) != 1000 {
		t.Errorf("%d records", len(got))
	}
	cut := open(b.Bytes()[:b.Len()-20])
	if got := all(t, cut); len(got) < 500 || cut.Bad == 0 || !strings.Contains(cut.Problems[len(cut.Problems)-1].Error(), "unexpected EOF") {
		t.Errorf("%d records, %v", len(got), cut.Problems)
	}
	for _, short := range []string{"", "\x1f", row(1, 1)} {
		if got := all(t, open([]byte(short))); len(got) != len(short)/10/3 {
			t.Errorf("%q: %v", short, got)
		}
	}
}

// TestOrder puts three logs together, of which each is nearly in order.
func TestOrder(t *testing.T) {
	open := func(text string) *Source { return Open("x", strings.NewReader(text), options) }
	logs := []*Source{open(row(1, 1) + row(4, 4) + row(3.5, 3) + row(30, 8)), open(row(2, 2) + row(5, 5) + row(31, 9)), open(""), open(row(20, 6) + row(21, 7) + row(2, 99) + row(40, 10))}
	merged := Merge(logs...)
	o := Order{Lag: 5 * time.Second}
	var got []MAC
	take := func(r *Record) { got = append(got, r.MAC&0xff) }
	for {
		r, err := merged.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		o.Add(r, take)
	}
	o.Flush(take)
	if !slices.Equal(got, []MAC{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) || o.Late != 1 {
		t.Errorf("%v, %d late", got, o.Late)
	}

	// In any order, and of one time in the order in which they came.
	o, got = Order{Lag: time.Hour}, nil
	var want []MAC
	for n := range 1000 {
		second := int64(n * 7 % 100)
		o.Add(&Record{Time: second, MAC: MAC(second*1000 + int64(n))}, take)
		want = append(want, MAC(second*1000+int64(n)))
	}
	slices.Sort(want)
	for i := range want {
		want[i] &= 0xff
	}
	o.Flush(take)
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}

	// More than wait at most, all of one moment, and then older ones.
	o, got = Order{Lag: 5 * time.Second}, nil
	for n := range maxWaiting + 100 {
		o.Add(&Record{Time: 1e9, MAC: MAC(n & 0xff)}, take)
	}
	if len(got) != 100 {
		t.Errorf("%d are given", len(got))
	}
	o.Add(&Record{Time: 1e9 - 1}, take)
	o.Flush(take)
	if len(got) != maxWaiting+100 || o.Late != 1 {
		t.Errorf("%d are given, %d late", len(got), o.Late)
	}
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	rename := func() {
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
	}
	late := func(text string) {
		old := path
		path += ".1"
		write(text)
		path = old
	}
	if _, err := Follow(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	write(row(1, 1))
	tail, err := Follow(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := Open("a.log", tail, options)
	two := row(2, 2)
	for _, step := range []struct {
		name string
		do   func()
		want []MAC
	}{
		{"what is there", func() {}, []MAC{1}},
		{"nothing", func() {}, nil},
		{"half a line", func() { write(two[:20]) }, nil},
		{"its other half", func() { write(two[20:] + row(3, 3)) }, []MAC{2, 3}},
		{"renamed, and still written to", func() { rename(); late(row(4, 4) + "half") }, []MAC{4}},
		{"the other half in the old file, and a new one", func() { late(" 001565000005"); write(row(6, 6)) }, []MAC{6}},
		{"more", func() { write(row(7, 7)) }, []MAC{7}},
		{"cut", func() {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			write(row(8, 8))
		}, []MAC{8}},
		{"gone", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"made again", func() { write(row(9, 9)) }, []MAC{9}},
	} {
		step.do()
		if got := all(t, s); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

// TestPipe reads what another writes, without waiting for it.
func TestPipe(t *testing.T) {
	r, w := io.Pipe()
	s := Open("pipe", NewPipe(r), options)
	if _, err := s.Next(); err != ErrIdle {
		t.Error(err)
	}
	// What was written has been taken when the next write returns.
	for _, text := range []string{row(1, 1), row(2, 2), ""} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := all(t, s); len(got) < 1 || got[0] != 1 {
		t.Errorf("%v", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := s.Next(); err == io.EOF {
			break
		} else if err != nil && err != ErrIdle {
			t.Fatal(err)
		}
	}
}
