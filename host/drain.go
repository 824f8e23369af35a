package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stagger/host/drain"
	"stagger/host/plan"
)

func drainCommand(w *world) *cobra.Command {
	var (
		q                             drain.Queue
		capacity, background, epsilon float64
		asJSON                        bool
	)
	c := &cobra.Command{
		Use:   "drain --backlog N --capacity MU",
		Short: "compare ways to drain a backlog of phones",
		Long: `Computes how a backlog drains: phones that all come in one second to a server that
can take some of them, while new ones arrive. What the others are told decides:

  constant      one Retry-After for all. It brings all of them back together
  random        a random Retry-After
  rfc5626       none; phones back off as RFC 5626 says, from 30 s to half an hour
  token bucket  when the next token is there, which is the same moment for all
  slots         a slot of their own, reserved one by one; what "serve --admit" does

For each: the requests that a phone makes until it is served, the fullest second
after the first, when half and when all have been served. No strategy is faster than
the backlog divided by the headroom less the new arrivals; when these are not below
the headroom the backlog never drains, and the exit status is 1.

Slots are handed out at the largest rate whose random arrivals overflow a second
with the chance of --epsilon, less the new arrivals. All rates are requests a second.`,
		Example: `  stagger drain --backlog 50000 --capacity 250 --background 50
  stagger drain --backlog 50000 --capacity 200 --arrivals 20 --retry 60 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q.Headroom = capacity - background
			if !(q.Headroom > 0 && background >= 0) {
				return misuse(fmt.Errorf("no headroom: a capacity of %g is not above the background of %g requests/s", capacity, background))
			}
			if !(q.Headroom <= 1e6) {
				return misuse(errors.New("--capacity: at most a million requests/s above the background"))
			}
			if !(epsilon > 0 && epsilon <= 0.5) {
				return misuse(errors.New("--epsilon: above 0 and at most 0.5"))
			}
			if !c.Flags().Changed("slots") {
				// Where chance alone would fill the room, slots take half of it.
				q.Slots = max(plan.Mean(q.Headroom, epsilon)-q.Arrivals, (q.Headroom-q.Arrivals)/2)
			}
			shortest, err := q.Shortest()
			if err != nil {
				return err
			}
			results, err := q.Compare()
			if err != nil {
				return misuse(err)
			}
			if asJSON {
				return json.NewEncoder(w.stdout).Encode(struct {
					Backlog    int            `json:"backlog"`
					Headroom   float64        `json:"headroom"`
					Arrivals   float64        `json:"arrivals"`
					Slots      float64        `json:"slots"`
					Shortest   float64        `json:"shortest"`
					Strategies []drain.Result `json:"strategies"`
				}{q.Backlog, q.Headroom, q.Arrivals, q.Slots, shortest, results})
			}
			return printDrain(w.stdout, q, shortest, results)
		},
	}
	flags := c.Flags()
	flags.IntVar(&q.Backlog, "backlog", 0, "phones that come in the first second")
	flags.Float64Var(&capacity, "capacity", 0, "requests a second that the server takes")
	flags.Float64Var(&background, "background", 0, "requests a second that come anyway and are served")
	flags.Float64Var(&q.Arrivals, "arrivals", 0, "new phones a second that come meanwhile, and are refused like the others")
	flags.Float64Var(&q.Burst, "burst", 0, "requests that the server takes at once after a pause (default: those of a second)")
	flags.IntVar(&q.Retry, "retry", 30, "Retry-After of the constant and the random strategy, in seconds")
	flags.Float64Var(&q.Slots, "slots", 0, "slots a second")
	flags.Float64Var(&epsilon, "epsilon", 1e-3, "accepted chance that a second overflows, for the default of --slots")
	flags.Uint64Var(&q.Seed, "seed", 1, "seed of what is random")
	flags.BoolVar(&asJSON, "json", false, "print everything as JSON")
	for _, name := range []string{"backlog", "capacity"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}

func printDrain(out io.Writer, q drain.Queue, shortest float64, results []drain.Result) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s phones wait for a headroom of %s/s, %s/s new ones come\n", thousands(float64(q.Backlog)), number(q.Headroom), number(q.Arrivals))
	fmt.Fprintf(&text, "no way is shorter than B/(H-a) = %s s\n\n", thousands(shortest))
	// The columns of numbers are to the right, and the words before and after not.
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%-12s\trequests/phone\tfullest second\thalf served\tall served\t  told\n", "strategy")
	for _, r := range results {
		last := thousands(float64(r.Last)) + " s"
		if !r.Drained {
			last = "not in " + last
		}
		fmt.Fprintf(table, "%-12s\t%.1f\t%s\t%s s\t%s\t  %s\n", r.Strategy, r.Attempts, thousands(float64(r.Peak)), thousands(float64(r.Half)), last, r.Text)
	}
	return flushTrimmed(out, table, &text)
}
