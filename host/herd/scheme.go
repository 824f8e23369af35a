package herd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Scheme is a way to keep phones out of step, or not.
type Scheme struct {
	Name string
	// Spread gives every phone its own value; without, all have the interval.
	Spread bool
	// FirstDelay makes a phone wait a random part of its own period after the
	// start before it comes again.
	FirstDelay bool
	// BootDelay makes it wait up to that many seconds with the start's own
	// request.
	BootDelay float64
	// Registrar is the share by which the registrar shortens what it grants,
	// drawn anew each time.
	Registrar float64
	// Redraw draws a new value in the window each time, and the phone does not
	// mind.
	Redraw bool
	// Reboot is Redraw with a phone that minds: it compares, and reboots for
	// what changed.
	Reboot bool
}

// steady says whether a phone's period stays the same, unless its rule draws.
func (s Scheme) steady() bool { return !s.Redraw && !s.Reboot && s.Registrar == 0 }

// parts are the words of schemes, and what they mean in one line.
var parts = []struct{ word, text string }{
	{"fixed", "every phone has the configured interval"},
	{"spread", "this project: every phone has its own value, for ever"},
	{"first-delay", "after the start a phone waits a random part of its own period"},
	{"boot-delay", "a phone waits with its first request at a start, 60 s at most (boot-delay=N for N s)"},
	{"registrar", "the registrar shortens what it grants by 10% at most, anew each time (registrar=N%)"},
	{"redraw", "a random value at every request, and a phone that does not mind"},
	{"reboot", "a random value at every check-in, and a phone that reboots when its settings change"},
}

// Schemes lists the words of schemes, one a line.
func Schemes() string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "  %-12s %s\n", p.word, p.text)
	}
	return b.String()
}

// ParseScheme reads words joined by "+".
func ParseScheme(text string) (Scheme, error) {
	s := Scheme{Name: text}
	var seen []string
	for _, part := range strings.Split(text, "+") {
		word, value, valued := strings.Cut(part, "=")
		if slices.Contains(seen, word) {
			return s, fmt.Errorf("scheme %q: %s is there twice", text, word)
		}
		seen = append(seen, word)
		if valued && word != "boot-delay" && word != "registrar" {
			return s, fmt.Errorf("scheme %q: %s takes no value", text, word)
		}
		switch word {
		case "fixed":
		case "spread":
			s.Spread = true
		case "first-delay":
			s.FirstDelay = true
		case "boot-delay":
			s.BootDelay = 60
			if valued {
				n, err := strconv.ParseUint(value, 10, 16)
				if err != nil || n == 0 {
					return s, fmt.Errorf("scheme %q: %q is not a number of seconds", text, value)
				}
				s.BootDelay = float64(n)
			}
		case "registrar":
			s.Registrar = 0.10
			if valued {
				n, ok := percent(value)
				if !ok || n > 0.9 {
					return s, fmt.Errorf("scheme %q: %q is not a share from 1%% to 90%%", text, value)
				}
				s.Registrar = n
			}
		case "redraw":
			s.Redraw = true
		case "reboot":
			s.Reboot = true
		default:
			return s, fmt.Errorf("scheme %q: no word %q", text, part)
		}
	}
	switch {
	case slices.Contains(seen, "fixed") && (s.Spread || s.Redraw || s.Reboot),
		s.Redraw && s.Spread, s.Reboot && len(seen) > 1 && !(len(seen) == 2 && s.BootDelay > 0):
		return s, fmt.Errorf("scheme %q: these do not go together", text)
	}
	return s, nil
}
