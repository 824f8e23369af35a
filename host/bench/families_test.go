package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"stagger/host/engine"
	"stagger/vendors"
)

// The families of the bench are comparable: a phone of each with the same lines and busy lamps as the others.
func TestFamilies(t *testing.T) {
	const file = "../../testdata/bench/families.jsonl"
	list, err := families(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(vendors.Packs) || list[0].vendor != "yealink" {
		t.Errorf("%d families, of %d", len(list), len(vendors.Packs))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n"))[1:] {
		var d struct {
			Lines []any
			Keys  []struct{ Type string }
		}
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		lamps := 0
		for _, k := range d.Keys {
			if k.Type == "blf" {
				lamps++
			}
		}
		if len(d.Lines) != 4 || lamps != 20 {
			t.Errorf("%s has %d lines and %d busy lamps", list[i].vendor, len(d.Lines), lamps)
		}
	}
	native := engine.NewNative(1)
	for i := range list {
		if _, err := list[i].contenders(native, native); err != nil {
			t.Fatal(err)
		}
		if list[i].size < 3000 {
			t.Errorf("%s: a file of %d bytes", list[i].vendor, list[i].size)
		}
	}
}
