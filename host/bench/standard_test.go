package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/vendors"
)

// The comparison is worth something only while both give the same bytes.
func TestStandardLibraryGivesTheSameBytes(t *testing.T) {
	data, err := os.ReadFile("../../testdata/bench/fleet.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tenant, device, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	key := strings.Repeat("k", 32)
	const mac = "001565aabb10"
	token := provision.Token(key, "bench", mac, 0)
	s, err := newStandard("../../vendors")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.render([]byte(key), token, mac, tenant, device)
	if err != nil {
		t.Fatal(err)
	}
	_, out := provision.New(vendors.Packs).Handle(wire.AppendRequest(nil, &wire.Request{
		Flags: wire.FlagTLS, Method: "GET", Target: "/bench/" + token + "/" + mac + ".cfg", Keys: []string{key},
		Documents: []wire.Document{{Key: "tenant:bench", Value: string(tenant)}, {Key: "device:bench:" + mac, Value: string(device)}},
	}))
	var response wire.Response
	if err := wire.DecodeResponse(string(out), &response); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, response.Body) {
		t.Errorf("standard library:\n%s\ncore:\n%s", got, response.Body)
	}
}

func BenchmarkStandard(b *testing.B) {
	data, _ := os.ReadFile("../../testdata/bench/fleet.jsonl")
	tenant, device, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	key := strings.Repeat("k", 32)
	token := provision.Token(key, "bench", "001565aabb10", 0)
	s, err := newStandard("../../vendors")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.render([]byte(key), token, "001565aabb10", tenant, device)
	}
}
