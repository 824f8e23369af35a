package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"stagger/edge/provision"
	"stagger/host/accesslog"
	"stagger/host/masterkey"
)

func rotateCommand(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate",
		Short: "replace the master key without locking phones out",
		Long: `Replaces the master key. All provisioning URLs, and the passwords of Basic and
Digest, are derived from it, so the phones have to be told before the old one goes:

  1. stagger rotate new --out new.hex
  2. Serve with both: the new key as ` + masterkey.Variable + `, the old one as
     ` + masterkey.VariablePrevious + ` (or --master-key-file and
     --previous-key-file; at the edge, wrangler secret put). Both kinds of URL work,
     and every file carries the new one, whichever the phone came with.
  3. Wait for every phone's next check-in, and one more: the longest check-in
     interval of the fleet, twice.
  4. stagger rotate status --fleet fleet.jsonl access.log
     names the phones that have not come with the new URL yet.
  5. Where documents are sealed, seal all of them anew and load them (stagger kv
     --seal), while both keys are live: the new key is the one that seals.
  6. When no phone is left, serve without the previous key: the old URLs are refused.

A key that is known to have leaked should not wait for step 4: the phones that have
not moved by then have to be given their new URL by hand.`,
		Example: `  stagger rotate new --out new.hex
  stagger rotate status --fleet fleet.jsonl access.log`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, sub := range []*cobra.Command{rotateNewCommand(w), rotateStatusCommand(w)} {
		work := sub.RunE
		sub.RunE = func(c *cobra.Command, args []string) error { return found(work(c, args)) }
		c.AddCommand(sub)
	}
	return c
}

func rotateNewCommand(w *world) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "new --out FILE",
		Short: "make a master key",
		Long: `Makes a master key of 32 random bytes and writes it in hexadecimal to a new file
that only its owner can read. It never overwrites one.`,
		Example: `  stagger rotate new --out new.hex`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return misuse(errors.New("--out: the file for the new key is required"))
			}
			var key [provision.MinKey]byte
			if _, err := rand.Read(key[:]); err != nil {
				return err
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteString(hex.EncodeToString(key[:]) + "\n")
			if err = errors.Join(err, f.Close()); err != nil {
				return errors.Join(err, os.Remove(out))
			}
			fmt.Fprintf(w.stdout, "%s holds a new key; its URLs begin with %q where the token stands\n", out, string(provision.KeyID(string(key[:]))))
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "file for the new key; it must not exist")
	return c
}

func rotateStatusCommand(w *world) *cobra.Command {
	var (
		fleetFile string
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "status --fleet FILE LOG...",
		Short: "say which phones still come with the previous key",
		Long: `Reads logs of stagger serve or the Worker, as "stagger herd" does (- is standard
input), and says for every device of the fleet which key its last good request was
made with: "current", "previous", or "unseen". Exit status 1 while any device is not
on the current key: it would be locked out without the previous one.`,
		Example: `  stagger rotate status --fleet fleet.jsonl access.log
  journalctl -u stagger -o cat | stagger rotate status --fleet fleet.jsonl -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := openFleet(w, fleetFile)
			if err != nil {
				return err
			}
			last := map[accesslog.MAC]string{}
			for _, name := range args {
				if err := readLog(w, name, last); err != nil {
					return err
				}
			}
			counts := map[string]int{}
			encoder := json.NewEncoder(w.stdout)
			for _, mac := range store.MACs() {
				key := last[accesslog.ParseMAC(mac)]
				if key == "" {
					key = "unseen"
				}
				counts[key]++
				switch {
				case asJSON:
					if err := encoder.Encode(map[string]string{"mac": mac, "key": key}); err != nil {
						return err
					}
				case key != "current":
					fmt.Fprintf(w.stdout, "%s\t%s\n", mac, key)
				}
			}
			if n := counts["previous"] + counts["unseen"]; n > 0 {
				return fmt.Errorf("%d devices are not on the current key (%d previous, %d unseen): keep the previous key", n, counts["previous"], counts["unseen"])
			}
			if !asJSON {
				fmt.Fprintf(w.stdout, "all %d devices are on the current key: the previous one can go\n", counts["current"])
			}
			return nil
		},
	}
	c.Flags().StringVar(&fleetFile, "fleet", "", "fleet file, one JSON document a line")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line for every device: mac, key")
	return c
}

// readLog notes for each MAC the key of its last good request.
func readLog(w *world, name string, last map[accesslog.MAC]string) error {
	name, in, err := w.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := accesslog.Unzipped(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	log := accesslog.Open(name, text, accesslog.Options{Now: time.Now})
	for {
		r, err := log.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if r.Outcome == provision.OK && r.Key != "" {
			last[r.MAC] = r.Key
		}
	}
}
