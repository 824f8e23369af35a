package fleet

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

// An export of Workers KV is what "wrangler kv bulk put" takes: a list of pairs
//
//	{"key": "device:demo:001565aabb01", "value": "{...}"}
//
// whose value is a document, sealed or not. "base64" and "metadata" may be there as
// well; a pair that expires is no part of a fleet.

// errList is that of a file which begins like an export and is none. The decoder's
// own error would quote the file.
var errList = errors.New("not a list of JSON objects")

// isExport says whether a file begins like a list. It reads nothing of it.
func isExport(in *bufio.Reader) (bool, error) {
	for n := 1; ; n++ {
		b, err := in.Peek(n)
		if len(b) < n {
			if err == io.EOF || errors.Is(err, bufio.ErrBufferFull) {
				err = nil // blanks, and nothing else
			}
			return false, err
		}
		switch b[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return b[n-1] == '[', nil
		}
	}
}

// pairs reads lists of pairs, one behind the other: the files of a load as "cat" gives
// them.
func (s *scanner) pairs(in io.Reader) error {
	decoder := json.NewDecoder(in)
	for n := 0; ; {
		switch begin, err := decoder.Token(); {
		case err == io.EOF && n > 0:
			return nil
		case err != nil:
			return listError(err)
		case begin != json.Delim('['):
			return errors.New("has something behind the list that is no list")
		}
		for decoder.More() {
			n++
			var pair json.RawMessage
			if err := decoder.Decode(&pair); err != nil {
				return fmt.Errorf("pair %d: %w", n, listError(err))
			}
			key, text, wrong := readPair(string(pair))
			var d Document
			if len(wrong) == 0 {
				d, wrong = s.stored(key, text)
			}
			d.Offset, d.Length = decoder.InputOffset()-int64(len(pair)), len(pair)
			s.take(n, d, wrong)
		}
		if _, err := decoder.Token(); err != nil { // the "]"
			return listError(err)
		}
	}
}

// listError keeps what a reader says and not what the decoder does.
func listError(err error) error {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) || err == io.EOF || err == io.ErrUnexpectedEOF {
		return errList
	}
	return err
}

// stored makes a document of what lies under a key.
func (s *scanner) stored(key, text string) (d Document, wrong []string) {
	text, err := s.unseal(key, text)
	switch {
	case err != nil:
		return d, []string{err.Error()}
	case len(text) > MaxLine:
		return d, []string{fmt.Sprintf(tooLong, MaxLine)}
	}
	if d, wrong = identify(text); len(wrong) == 0 && d.Key() != key {
		wrong = []string{"lies under a key that is not its own"}
	}
	return d, wrong
}

// readPair reads a pair of an export.
func readPair(text string) (key, value string, wrong []string) {
	object := gjson.Parse(text)
	if !object.IsObject() {
		return "", "", []string{"not an object"}
	}
	var keyField, valueField gjson.Result
	encoded := false
	object.ForEach(func(name, v gjson.Result) bool {
		field := &keyField
		switch name.Str {
		case "value":
			field = &valueField
			fallthrough
		case "key":
			if field.Exists() {
				wrong = append(wrong, name.Str+" is there twice")
			}
			*field = v
		case "base64":
			encoded = v.Bool()
		case "metadata":
		case "expiration", "expiration_ttl":
			wrong = append(wrong, "expires")
		default:
			wrong = append(wrong, "has fields that no pair of KV has")
		}
		return true
	})
	if keyField.Type != gjson.String || valueField.Type != gjson.String {
		wrong = append(wrong, "key and value are not both there as text")
	}
	if len(wrong) > 0 {
		return "", "", wrong
	}
	key, value = keyField.Str, valueField.Str
	if encoded {
		b, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return "", "", []string{"value is not base64"}
		}
		value = string(b)
	}
	return key, value, nil
}
