package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/exchange"
	"stagger/host/inspect"
)

func renderCommand(w *world) *cobra.Command {
	var (
		fleetFile string
		core      engineFlags
		keys      keyFlags
	)
	c := &cobra.Command{
		Use:   "render --fleet FILE MAC [FILENAME]",
		Short: "print the file that a phone would get",
		Long: `Prints the body that a phone would get for a file, its configuration unless another
is named: the bytes, and nothing else. It goes the whole way of a request, token and
checks included.`,
		Example: `  stagger render --fleet fleet.jsonl 001565aabb01
  stagger render --fleet fleet.jsonl 00:15:65:AA:BB:01 001565aabb01.boot --engine native`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			mac, err := parseMAC(args[0])
			if err != nil {
				return err
			}
			secrets, err := keys.read(w)
			if err != nil {
				return err
			}
			store, err := (&unsealer{w: w, keys: keys}).open(fleetFile, inspect.Check)
			if err != nil {
				return err
			}
			d, err := find(store, mac)
			if err != nil {
				return err
			}
			name := d.Config()
			if len(args) == 2 {
				name = args[1]
			}
			machine, err := core.open(c.Context(), w)
			if err != nil {
				return err
			}
			defer machine.Close(context.Background())
			response, err := exchange.Answer(c.Context(), machine, store, &wire.Request{
				Flags: wire.FlagTLS, Method: "GET", Keys: secrets,
				Target: "/" + d.Tenant + "/" + provision.Token(secrets[0], d.Tenant, mac, d.Generation) + "/" + name,
			})
			if err != nil {
				return err
			}
			if response.Status != 200 {
				return fmt.Errorf("%s: %s", name, refusal(&response))
			}
			_, err = w.stdout.Write(response.Body)
			return err
		},
	}
	c.Flags().StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	core.add(c)
	keys.add(c)
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
