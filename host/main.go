// Command stagger serves the core on an operator's own machine, and answers an
// engineer's and a planner's questions about a fleet.
//
// The exit status is 0 when all went well, 1 when a command found something or
// could not do it, and 2 when it was asked wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFound  = 1
	exitMisuse = 2
)

// world is what a command knows of the machine. Tests have their own.
type world struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// executable is the path of this program.
	executable func() (string, error)
}

// commands are the commands below the root. Each has a file of its own.
var commands = []func(*world) *cobra.Command{
	serveCommand,
	renderCommand,
	urlCommand,
	explainCommand,
	rotateCommand,
	vendorsCommand,
	planCommand,
	simulateCommand,
	drainCommand,
	wavesCommand,
	herdCommand,
	importCommand,
	validateCommand,
	rolloutCommand,
	generateCommand,
	diffCommand,
	kvCommand,
	getCommand,
}

func main() {
	w := &world{os.Getenv, os.Stdin, os.Stdout, os.Stderr, os.Executable}
	os.Exit(w.run(context.Background(), os.Args[1:]))
}

// run runs the command that args name and returns the exit status.
func (w *world) run(ctx context.Context, args []string) int {
	root := w.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line != "" {
			fmt.Fprintln(w.stderr, line)
		}
	}
	// Whatever cobra itself refuses (a flag, an argument, a command that is not
	// there) is misuse; it never gets as far as a command.
	if f := new(failure); errors.As(err, &f) {
		return f.status
	}
	return exitMisuse
}

func (w *world) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stagger",
		Short: "hand desk phones their configuration without ever moving them in step",
		Example: `  stagger serve --fleet fleet.jsonl
  stagger serve --help`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	for _, command := range commands {
		c := command(w)
		work := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error { return found(work(c, args)) }
		root.AddCommand(c)
	}
	return root
}

// A failure is an error of a command and the exit status that it means.
type failure struct {
	err    error
	status int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// misuse marks an error as one of how the command was called.
func misuse(err error) error { return &failure{err, exitMisuse} }

// found marks an error of a command that is not marked yet.
func found(err error) error {
	if err == nil || errors.As(err, new(*failure)) {
		return err
	}
	return &failure{err, exitFound}
}
