package provision_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/vendors"
)

// benchRequest is the request that "make bench" measures: a phone with 4 lines and
// 20 busy lamps, all documents at hand.
func benchRequest(tb testing.TB) []byte {
	data, err := os.ReadFile("../../testdata/bench/fleet.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	tenant, device, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	key := strings.Repeat("k", provision.MinKey)
	return wire.AppendRequest(nil, &wire.Request{
		Flags: wire.FlagTLS, Now: 1_800_000_000, Method: "GET",
		Target: "/bench/" + provision.Token(key, "bench", "001565aabb10", 0) + "/001565aabb10.cfg",
		Facts:  []wire.Pair{{Name: "user-agent", Value: "Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:10"}},
		Keys:   []string{key},
		Documents: []wire.Document{
			{Key: "tenant:bench", Value: string(tenant)}, {Key: "device:bench:001565aabb10", Value: string(device)},
		},
	})
}

func BenchmarkHandle(b *testing.B) {
	in := benchRequest(b)
	core := provision.New(vendors.Packs)
	var response wire.Response
	_, out := core.Handle(in)
	if err := wire.DecodeResponse(string(out), &response); err != nil || response.Status != 200 {
		b.Fatalf("%v %+v", err, response)
	}
	b.SetBytes(int64(len(response.Body)))
	b.ReportAllocs()
	for b.Loop() {
		core.Handle(in)
	}
}
