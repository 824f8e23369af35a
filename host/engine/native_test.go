package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stagger/edge/wire"
)

type echo struct{ out []byte }

func (e *echo) Handle(in []byte) (uint32, []byte) {
	switch string(in) {
	case "panic":
		panic("SECRET")
	case "status":
		return 9, nil
	}
	e.out = append(e.out[:0], in...)
	return wire.StatusNeed, e.out
}

func TestNative(t *testing.T) {
	made := 0
	n := NewNativeOf(1, func() Handler { made++; return new(echo) })
	ask(t, n, "hello", wire.StatusNeed, "hello")
	ask(t, n, "again", wire.StatusNeed, "again")
	if made != 1 {
		t.Errorf("%d handlers were made for one call at a time", made)
	}
	fails(t, n, "panic", Trap)
	ask(t, n, "hello", wire.StatusNeed, "hello")
	fails(t, n, "status", Status)
	ask(t, n, "hello", wire.StatusNeed, "hello")
	fails(t, n, strings.Repeat("x", wire.MaxInput+1), TooLarge)
	if made != 3 {
		t.Errorf("%d handlers were made; one for the start and one for each fault", made)
	}
	if s := n.Stats(); s.Calls != 6 || s.Discards[Trap] != 1 || s.Discards[Status] != 1 || s.Size != 1 || s.InUse != 0 {
		t.Errorf("%+v", s)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	fails(t, n, "hello", Closed)
}

func TestNativeBusy(t *testing.T) {
	n := NewNativeOf(1, func() Handler { return new(echo) })
	if _, _, _, err := n.pool.get(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := n.Call(ctx, []byte("x"), nil)
	if fault := new(Error); !errors.As(err, &fault) || fault.Cause != Busy {
		t.Error(err)
	}
}

func TestCauses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Causes() {
		if c.String() == "" || seen[c.String()] {
			t.Errorf("cause %d is called %q", c, c)
		}
		seen[c.String()] = true
	}
	if got := Cause(200).String(); got != "cause 200" {
		t.Error(got)
	}
}
