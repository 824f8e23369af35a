package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// progress returns a function that shows what share of some work is done, and one
// that takes the line away again. Both do nothing unless standard error is a
// terminal.
func (w *world) progress() (show func(what string, share float64), clear func()) {
	file, ok := w.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return func(string, float64) {}, func() {}
	}
	last := ""
	show = func(what string, share float64) {
		const wide = 30
		done := int(share * wide)
		line := fmt.Sprintf("%s%s %3.0f%% %s", strings.Repeat("#", done), strings.Repeat(".", wide-done), 100*share, what)
		if line != last {
			fmt.Fprintf(file, "\r\x1b[K%s", line)
			last = line
		}
	}
	return show, func() { fmt.Fprint(file, "\r\x1b[K") }
}
