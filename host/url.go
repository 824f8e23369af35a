package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"stagger/edge/provision"
)

func urlCommand(w *world) *cobra.Command {
	var (
		from   sourceFlags
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "url (--fleet FILE | --kv wrangler:BINDING --tenant NAME) [MAC...]",
		Short: "print the provisioning URL of devices",
		Long: `Prints the provisioning URL of the devices named, or of all of them: what is typed
into a phone or a redirection service once. It holds the device's token: whoever
has it gets the device's passwords. For tenants that ask for Basic or Digest, user and
password follow.`,
		Example: `  stagger url --fleet fleet.jsonl
  stagger url --fleet fleet.jsonl 00:15:65:AA:BB:01`,
		RunE: func(c *cobra.Command, args []string) error {
			macs := make([]string, len(args))
			for i, arg := range args {
				mac, err := parseMAC(arg)
				if err != nil {
					return err
				}
				macs[i] = mac
			}
			secrets, err := from.keys.read(w)
			if err != nil {
				return err
			}
			documents, err := from.open(w)
			if err != nil {
				return err
			}
			if len(macs) == 0 {
				if macs, err = documents.macs(); err != nil {
					return err
				}
			}
			encoder := json.NewEncoder(w.stdout)
			for _, mac := range macs {
				d, err := documents.find(c.Context(), mac)
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
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line: mac, tenant, url, file, user, password")
	from.add(c)
	return c
}
