package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"stagger/edge/profile"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/waves"
)

// users are the SIP users that a device registers as.
func users(store *fleet.Store, d *inspect.Device) []waves.User {
	if d.State != profile.Active {
		return nil
	}
	ctx := context.Background()
	tenant, _, _ := store.Get(ctx, fleet.TenantKey(d.Tenant))
	device, _, _ := store.Get(ctx, fleet.DeviceKey(d.Tenant, d.MAC))
	usual := gjson.Get(tenant, "line")
	var list []waves.User
	for _, line := range gjson.Get(device, "lines").Array() {
		enabled, server := line.Get("enabled"), line.Get("server").Str
		if !enabled.Exists() {
			enabled = usual.Get("enabled")
		}
		if server == "" {
			server = usual.Get("server").Str
		}
		if user := line.Get("user").Str; user != "" && !(enabled.Exists() && !enabled.Bool()) {
			list = append(list, waves.User{Name: user, Server: server})
		}
	}
	return list
}

func wavesCommand(w *world) *cobra.Command {
	var (
		fleetFile, tenant  string
		rate, every, after int
		asJSON             bool
	)
	c := &cobra.Command{
		Use:   "waves --fleet FILE --rate N",
		Short: "list a fleet in waves for a paced resync",
		Long: `Lists the devices of a fleet in waves of at most N phones, one wave a second: which
SIP user your own server sends a NOTIFY (Event: check-sync) to, and when. Stagger
sends nothing itself.

A NOTIFY goes to a SIP user, and every phone that is registered as that user reacts.
So a phone is named with a user that no other phone has, if there is one; else the
column "also" names those that react too, and all of them count. The order is that
of a hash of the MAC, not of sites or deliveries, and is the same each time.
Devices that are staged, disabled or without a line are left out.

When to stop: look at the check-ins that arrive. Stop sending when, of the phones of
the waves from two to one minutes ago, fewer than 90% have come, or when anything is
answered 5xx, or when the registrar is slower than you accept. Nothing is lost by
stopping: who was not told keeps what it has and comes on its own timer. When the
cause is mended go on behind the last wave k that was sent, with --after k and the
same fleet and rate. Offsets are then counted from there.`,
		Example: `  stagger waves --fleet fleet.jsonl --rate 20
  stagger waves --fleet fleet.jsonl --rate 20 --after 117 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if rate < 1 || every < 1 || after < 0 {
				return misuse(errors.New("--rate and --every: 1 or more; --after: 0 or more"))
			}
			store, err := openFleet(w, fleetFile)
			if err != nil {
				return err
			}
			if tenant != "" && !store.HasTenant(tenant) {
				return misuse(fmt.Errorf("--tenant: the fleet has no tenant %q", tenant))
			}
			devices, err := fleetDevices(store)
			if err != nil {
				return err
			}
			var list []waves.Device
			for _, d := range devices {
				if tenant == "" || d.Tenant == tenant {
					list = append(list, waves.Device{MAC: d.MAC, Users: users(store, d)})
				}
			}
			calls, err := waves.Plan(list, rate, every)
			if err != nil {
				return err
			}
			calls = waves.After(calls, after)
			if asJSON {
				encoder := json.NewEncoder(w.stdout)
				for _, call := range calls {
					if err := encoder.Encode(call); err != nil {
						return err
					}
				}
				return nil
			}
			table := csv.NewWriter(w.stdout)
			// An error of one line is that of Flush.
			_ = table.Write([]string{"wave", "offset", "mac", "user", "server", "phones", "also"})
			for _, call := range calls {
				_ = table.Write([]string{strconv.Itoa(call.Wave), strconv.Itoa(call.Offset), call.MAC, call.Name, call.Server, strconv.Itoa(call.Phones), strings.Join(call.Also, " ")})
			}
			table.Flush()
			return table.Error()
		},
	}
	flags := c.Flags()
	flags.StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line; - for standard input")
	flags.StringVar(&tenant, "tenant", "", "devices of this tenant only")
	flags.IntVar(&rate, "rate", 0, "phones in any second at most")
	flags.IntVar(&every, "every", 1, "seconds from one wave to the next")
	flags.IntVar(&after, "after", 0, "go on after this wave")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line: wave offset mac user server phones also")
	for _, name := range []string{"fleet", "rate"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}
