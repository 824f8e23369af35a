package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"stagger/edge/pack"
	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/vendors"
)

// family is a phone of one vendor with the same lines and busy lamps as the others.
type family struct {
	vendor, model string
	request       []byte
	size          int // of the file
}

// families reads the documents: that of the tenant, and then a phone in each line.
func families(name string) ([]family, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	key := strings.Repeat("k", provision.MinKey)
	var list []family
	for _, line := range lines[1:] {
		var d struct{ Device, Vendor, Model string }
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, err
		}
		file, err := mainFile(d.Vendor, d.Model, d.Device)
		if err != nil {
			return nil, err
		}
		list = append(list, family{vendor: d.Vendor, model: d.Model, request: wire.AppendRequest(nil, &wire.Request{
			Flags: wire.FlagTLS, Now: 1_800_000_000, Method: "GET", Target: "/bench/" + provision.Token(key, "bench", d.Device, 0) + "/" + file,
			Keys:      []string{key},
			Documents: []wire.Document{{Key: "tenant:bench", Value: lines[0]}, {Key: "device:bench:" + d.Device, Value: line}},
		})})
	}
	return list, nil
}

// mainFile is the name by which a phone asks for its configuration.
func mainFile(vendor, model, mac string) (string, error) {
	i := slices.IndexFunc(vendors.Packs, func(p pack.Pack) bool { return p.Vendor == vendor })
	if i < 0 {
		return "", fmt.Errorf("no pack %q", vendor)
	}
	for _, f := range vendors.Packs[i].Files {
		if f.Kind == "config" {
			return strings.ReplaceAll(f.Prefix, "*", model) + mac + f.Suffix, nil
		}
	}
	return "", fmt.Errorf("%s has no configuration", vendor)
}

// contenders are the families, each in the core as it is and through the module,
// which have to give the same answer.
func (f *family) contenders(native, wasm engine.Engine) ([]*contender, error) {
	var all []*contender
	var first []byte
	for _, e := range []engine.Engine{native, wasm} {
		var out []byte
		c := &contender{name: f.vendor, engine: e, answer: func() ([]byte, error) {
			var err error
			_, out, err = e.Call(context.Background(), f.request, out[:0])
			return out, err
		}}
		answer, err := c.answer()
		if err != nil {
			return nil, err
		}
		var response wire.Response
		if err := wire.DecodeResponse(string(answer), &response); err != nil {
			return nil, err
		}
		if response.Status != 200 {
			return nil, fmt.Errorf("%s %s: status %d: %v", f.vendor, f.model, response.Status, response.Audit)
		}
		if first == nil {
			first = bytes.Clone(response.Body)
		} else if !bytes.Equal(first, response.Body) {
			return nil, fmt.Errorf("%s: the module gives another file", f.vendor)
		}
		f.size = len(response.Body)
		all = append(all, c)
	}
	return all, nil
}

// printFamilies prints a row for each family: the best of its turns, in those of the
// first. A best turn is one that nothing else has slowed down.
func printFamilies(w io.Writer, list []family, all []*contender) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\none phone of each family\tmodel\tbytes\tnative\twazero\t")
	for i, f := range list {
		fmt.Fprintf(t, "%s\t%s\t%d\t%.2f\t%.2f\t\n", f.vendor, f.model, f.size,
			slices.Min(all[2*i].samples)/slices.Min(all[0].samples), slices.Min(all[2*i+1].samples)/slices.Min(all[1].samples))
	}
	return t.Flush()
}
