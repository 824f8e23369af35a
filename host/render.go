package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stagger/edge/wire"
	"stagger/host/probe"
)

func renderCommand(w *world) *cobra.Command {
	var (
		from sourceFlags
		core engineFlags
	)
	c := &cobra.Command{
		Use:   "render (--fleet FILE | --kv wrangler:BINDING --tenant NAME) MAC [FILENAME]",
		Short: "print the file that a phone would get",
		Long: `Prints the body that a phone would get for a file, its configuration unless another
is named: the bytes, and nothing else. It goes the whole way of a request: token,
checks, and user and password where the tenant asks for them.`,
		Example: `  stagger render --fleet fleet.jsonl 001565aabb01
  stagger render --fleet fleet.jsonl 00:15:65:AA:BB:01 001565aabb01.boot --engine native
  stagger render --kv wrangler:FLEET --kv-config wrangler.toml --tenant demo 001565aabb01`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			mac, err := parseMAC(args[0])
			if err != nil {
				return err
			}
			secrets, err := from.keys.read(w)
			if err != nil {
				return err
			}
			documents, err := from.open(w)
			if err != nil {
				return err
			}
			machine, err := core.open(c.Context(), w)
			if err != nil {
				return err
			}
			defer machine.Close(context.Background())
			ask := asker{dialer: new(probe.Dialer), documents: documents, core: machine, keys: secrets}
			v, err := ask.visitor(c.Context(), location{tls: true}, mac)
			if err != nil {
				return err
			}
			v.agent = "" // which is of no matter for the bytes
			name := v.device.Config()
			if len(args) == 2 {
				name = args[1]
			}
			response, err := ask.here(c.Context(), v, name)
			if err != nil {
				return err
			}
			if response.Status != 200 {
				return fmt.Errorf("%s: %s", name, refusal(response))
			}
			_, err = w.stdout.Write(response.Body)
			return err
		},
	}
	from.add(c)
	core.add(c)
	return c
}

// refusal says in words why a phone gets no file.
func refusal(r *wire.Response) string {
	text := fmt.Sprintf("the phone gets %d", r.Status)
	for _, p := range r.Audit {
		switch p.Name {
		case "outcome":
			text += " (" + p.Value + ")"
		case "error":
			text += ": " + p.Value
		}
	}
	return text
}
