package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"stagger/edge/provision"
	"stagger/host/inspect"
)

func urlCommand(w *world) *cobra.Command {
	var (
		fleetFile string
		keys      keyFlags
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "url --fleet FILE [MAC...]",
		Short: "print the provisioning URL of devices",
		Long: `Prints the provisioning URL of the devices named, or of all of them: what is typed
into a phone or a redirection service once. It holds the device's token: whoever
has it gets the device's passwords. For tenants that ask for Basic or Digest, user and
password follow.`,
		Example: `  stagger url --fleet fleet.jsonl
  stagger url --fleet fleet.jsonl 00:15:65:AA:BB:01`,
		RunE: func(_ *cobra.Command, args []string) error {
			macs := make([]string, len(args))
			for i, arg := range args {
				mac, err := parseMAC(arg)
				if err != nil {
					return err
				}
				macs[i] = mac
			}
			secrets, err := keys.read(w)
			if err != nil {
				return err
			}
			store, err := (&unsealer{w: w, keys: keys}).open(fleetFile, inspect.Check)
			if err != nil {
				return err
			}
			if len(macs) == 0 {
				macs = store.MACs()
			}
			encoder := json.NewEncoder(w.stdout)
			for _, mac := range macs {
				d, err := find(store, mac)
				if err != nil {
					return err
				}
				token := provision.Token(secrets[0], d.Tenant, mac, d.Generation)
				user, password := "", ""
				switch d.Auth {
				case "open":
					token = provision.OpenToken
				case "basic", "digest":
					user, password = mac, provision.Password(secrets[0], d.Tenant, mac, d.Generation)
				}
				if !asJSON {
					line := mac + "\t" + d.URL(token)
					if user != "" {
						line += "\t" + user + "\t" + password
					}
					fmt.Fprintln(w.stdout, line)
					continue
				}
				if err := encoder.Encode(struct {
					MAC      string `json:"mac"`
					Tenant   string `json:"tenant"`
					URL      string `json:"url"`
					File     string `json:"file"`
					User     string `json:"user,omitempty"`
					Password string `json:"password,omitempty"`
				}{mac, d.Tenant, d.URL(token), d.Config(), user, password}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line: mac, tenant, url, file, user, password")
	keys.add(c)
	return c
}
