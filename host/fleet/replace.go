package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Replace copies a fleet file with another document on one line, which has to hold
// the old one. Everything else stays as it is, to the byte.
func Replace(w io.Writer, r io.Reader, line int, old, document string) error {
	in := bufio.NewReaderSize(r, MaxLine+2)
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')
		if n == line {
			if string(bytes.TrimSpace(text)) != old {
				return fmt.Errorf("line %d is not the document that it was", line)
			}
			before, after, _ := bytes.Cut(text, []byte(old))
			if _, err := w.Write(bytes.Join([][]byte{before, after}, []byte(document))); err != nil {
				return err
			}
			_, err := in.WriteTo(w)
			return err
		}
		for {
			if _, err := w.Write(text); err != nil {
				return err
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
			text, err = in.ReadSlice('\n')
		}
		if err == io.EOF {
			return fmt.Errorf("there is no line %d", line)
		}
		if err != nil {
			return err
		}
	}
}
