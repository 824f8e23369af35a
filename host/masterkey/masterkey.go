// Package masterkey reads the master secrets, from the environment or a file.
//
// It owns where they come from and what makes one acceptable. It must never take
// one from a flag (command lines are visible to every user of a machine), and
// never put a digit of one into an error.
package masterkey

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The variables of the environment.
const (
	Variable         = "STAGGER_MASTER_KEY"
	VariablePrevious = "STAGGER_MASTER_KEY_PREVIOUS"
)

// minBytes is how long a secret is at least; maxFile bounds what is read of a file.
const (
	minBytes = 32
	maxFile  = 4 << 10
)

// ErrMissing says that there is no master secret at all.
var ErrMissing = errors.New("no master key: set " + Variable + " to 64 or more hexadecimal digits, or name a file that has them with --master-key-file")

// Read returns the live secrets as bytes (not digits), the current one first
// and then the previous one if there is one. Where both a variable and a file are
// given for one of them, Read refuses to choose. All its errors are misuse.
func Read(getenv func(string) string, file, previousFile string) ([]string, error) {
	current, err := read(getenv, Variable, file)
	if err != nil {
		return nil, err
	}
	previous, err := read(getenv, VariablePrevious, previousFile)
	if err != nil {
		return nil, err
	}
	switch {
	case current == "" && previous == "":
		return nil, ErrMissing
	case current == "":
		return nil, errors.New("there is a previous master key and no current one")
	case previous == "":
		return []string{current}, nil
	case previous == current:
		return nil, errors.New("the previous master key is the same as the current one")
	}
	return []string{current, previous}, nil
}

func read(getenv func(string) string, variable, file string) (string, error) {
	text, from := getenv(variable), variable
	if file != "" {
		if text != "" {
			return "", fmt.Errorf("both %s and the file %s are given: use one", variable, file)
		}
		var err error
		if text, err = contents(file); err != nil {
			return "", fmt.Errorf("master key file: %w", err)
		}
		from = file
	} else if text == "" {
		return "", nil
	}
	// Its error would quote a digit.
	key, err := hex.DecodeString(strings.TrimSpace(text))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: a master key is an even number of hexadecimal digits and nothing else", from)
	case len(key) < minBytes:
		return "", fmt.Errorf("%s: a master key has %d bytes (%d digits) or more, this one has %d", from, minBytes, 2*minBytes, len(key))
	}
	return string(key), nil
}

func contents(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(b) > maxFile {
		return "", fmt.Errorf("%s is too large to be one", file)
	}
	return string(b), err
}
