package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"stagger/host/inspect"
	"stagger/host/kv"
	"stagger/host/seal"
)

func kvCommand(w *world) *cobra.Command {
	var (
		keys           keyFlags
		old, out       string
		sealed, asJSON bool
	)
	c := &cobra.Command{
		Use:   "kv FILE --out DIR [--changed-since OLD] [--seal]",
		Short: "write the files that load a fleet into Workers KV",
		Long: fmt.Sprintf(`Writes a fleet as files for "wrangler kv bulk put", put-0001.json and so on, of at most
%d pairs and %d MB each. With --changed-since only what is not in OLD, or is
different there, and the keys of what is no longer in FILE as files for "wrangler kv
bulk delete", delete-0001.json and so on. Load first, then delete.

FILE and OLD are fleet files: JSON Lines, or exports of KV in the form of these
files, whose sealed documents are opened. A document that the core would refuse is
not written, and then nothing is. The folder must not be there yet; it appears
complete or not at all, and is readable for its owner only.

--seal seals every document with AES-256-GCM, under a key that is derived from the
master key for its tenant: who can read KV sees no password, and nobody can change a
document or put it in the place of another. The Worker and "stagger serve" open it
with the master key. Documents are compared as they are before they are sealed.

With two live keys everything opens that is sealed under either, and --seal takes the
current one. So after a rotation ("stagger rotate"), and before the old key goes, seal
everything anew: without --changed-since, or with an export of KV as OLD, of which all
that is not sealed under the current key counts as changed.

When all is sealed, set STAGGER_SEALED=required for the Worker, or --require-sealed of
"stagger serve": documents that are not sealed are then refused, so that nobody who
can write to KV can plant one. Load sealed documents first, or phones get errors.`, kv.MaxPairs, kv.MaxBytes/1_000_000),
		Example: `  stagger kv fleet.jsonl --out load
  stagger kv fleet.jsonl --changed-since loaded.jsonl --seal --out load
  for f in load/put-*.json; do npx wrangler kv bulk put "$f" --binding FLEET --remote; done
  for f in load/delete-*.json; do npx wrangler kv bulk delete "$f" --binding FLEET --remote; done`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case out == "":
				return misuse(errors.New("--out: the folder for the files is required"))
			case args[0] == "-" && old == "-":
				return misuse(errors.New("FILE and --changed-since cannot both be standard input"))
			}
			// Before the work, and once more when the folder is put in its place.
			if _, err := os.Lstat(out); err == nil {
				return misuse(fmt.Errorf("--out: %s exists", out))
			}
			var load kv.Load
			unseal := unsealer{w: w, keys: keys}
			if sealed {
				secrets, err := keys.read(w)
				if err != nil {
					return err
				}
				load.Seal = seal.New(secrets)
			}
			var err error
			if load.Fleet, err = unseal.open(args[0], inspect.Check); err != nil {
				return err
			}
			if old != "" {
				stale := map[string]bool{}
				load.Old, err = unseal.read(old, nil, func(key, text string) (string, error) {
					document, current, err := unseal.document(key, text)
					stale[key] = seal.Sealed(text) != sealed || sealed && !current
					return document, err
				})
				if err != nil {
					return err
				}
				// A fleet file does not say how its documents lie in KV.
				if load.Old.Export() {
					load.Stale = stale
				}
			}
			show, clear := w.progress()
			load.Show = func(share float64) { show("writing", share) }
			var summary *kv.Summary
			err = newFolder(filepath.Clean(out), func(folder string) (err error) {
				summary, err = load.Write(folder)
				return err
			})
			clear()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(w.stdout).Encode(summary)
			}
			return printLoad(w, out, summary)
		},
	}
	flags := c.Flags()
	flags.StringVar(&out, "out", "", "folder for the files, which must not be there yet")
	flags.StringVar(&old, "changed-since", "", "what was loaded before: only what is different from it is written; - for standard input")
	flags.BoolVar(&sealed, "seal", false, "seal every document under the master key")
	flags.BoolVar(&asJSON, "json", false, "one JSON object: put delete (file pairs bytes) added changed form deleted unchanged sealed")
	keys.add(c)
	return c
}

func printLoad(w *world, folder string, s *kv.Summary) error {
	table := tabwriter.NewWriter(w.stdout, 0, 0, 2, ' ', 0)
	for _, f := range slices.Concat(s.Put, s.Delete) {
		fmt.Fprintf(table, "%s\t%d pairs\t%d bytes\n", filepath.Join(folder, f.Name), f.Pairs, f.Bytes)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w.stderr, "%d added, %d changed, %d in another form, %d deleted, %d unchanged\n", s.Added, s.Changed, s.Form, s.Deleted, s.Unchanged)
	return nil
}
