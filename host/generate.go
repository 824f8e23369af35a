package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stagger/edge/record"
	"stagger/host/generate"
)

func generateCommand(w *world) *cobra.Command {
	var (
		o     = generate.Options{Seed: 1}
		only  []string
		out   string
		force bool
	)
	c := &cobra.Command{
		Use:   "generate --devices N [--out FILE]",
		Short: "make up a fleet, to try things with",
		Long: `Makes up a fleet of devices of all vendors and models, shared out among tenants, with
lines, keys, languages and time zones as real ones have them, and writes a fleet file:
one document a line, every tenant with its devices behind it. The core takes each of
them. The same numbers and the same seed give the same file.

Its passwords can be made by everybody who knows the seed. They are for trying out.`,
		Example: `  stagger generate --devices 100000 --out fleet.jsonl
  stagger generate --devices 500 --tenants 3 --vendors yealink,snom --seed 7 | stagger validate --fleet -`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Devices < 1 || o.Devices > generate.MaxDevices {
				return misuse(fmt.Errorf("--devices: from 1 to %d", generate.MaxDevices))
			}
			if !c.Flags().Changed("tenants") {
				o.Tenants = max(1, o.Devices/250)
			}
			if o.Tenants < 1 || o.Tenants > o.Devices {
				return misuse(errors.New("--tenants: from 1 to as many as there are devices"))
			}
			if bad := record.Base.Check(o.URL); bad != "" {
				return misuse(fmt.Errorf("--url: %s", bad))
			}
			packs, err := descriptors(only)
			if err != nil {
				return err
			}
			if err := writable(out, force); err != nil {
				return misuse(fmt.Errorf("--out: %w", err))
			}
			show, clear := w.progress()
			defer clear()
			o.Show = func(share float64) { show("making devices", share) }
			if out != "" && out != "-" {
				f, err := stage(out, force, func(w io.Writer) error { return generate.Write(w, packs, o) })
				if err != nil {
					return err
				}
				return commit([]*newFile{f})
			}
			buffer := bufio.NewWriterSize(w.stdout, 64<<10)
			if err := generate.Write(buffer, packs, o); err != nil {
				return err
			}
			return buffer.Flush()
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Devices, "devices", 0, "how many devices")
	flags.IntVar(&o.Tenants, "tenants", 0, "how many tenants (default: one for 250 devices)")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "another seed makes another fleet")
	flags.StringSliceVar(&only, "vendors", nil, "vendors of the devices (default: all)")
	flags.StringVar(&o.URL, "url", "https://prov.example.com", "the tenants' url")
	flags.StringVar(&out, "out", "", "file for the documents (default: standard output)")
	flags.BoolVar(&force, "force", false, "replace a file that exists")
	return c
}
