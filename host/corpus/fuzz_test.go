package corpus

import (
	"context"
	"testing"

	"stagger/edge/profile/cases"
	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
)

// FuzzNativeIsWasm holds the module to the native code: whatever a request and a
// document are, both answer the same bytes, and neither fails.
func FuzzNativeIsWasm(f *testing.F) {
	const mac, tenant = "001565aabb01", "demo"
	token := provision.Token(Current, tenant, mac, 0)
	tenants := map[bool]string{
		false: cases.TenantWith(`"url":"https://prov.example.com","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}`),
		true:  cases.TenantWith(`"url":"https://prov.example.com","auth":"digest","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}`),
	}
	all, err := Load("../../testdata/golden", "../../testdata/fleets")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range all {
		for _, s := range c.Steps {
			authorization := ""
			for _, h := range s.Headers {
				if h.Name == "authorization" {
					authorization = h.Value
				}
			}
			f.Add(s.Method, s.Target, authorization, c.Setup.Documents["device:demo:"+mac], authorization != "")
		}
	}
	target := "/" + tenant + "/" + token + "/" + mac + ".cfg"
	for _, c := range append([]cases.Good{}, cases.Accepted...) {
		if c.Kind == cases.Device {
			f.Add("GET", target, "", c.Document, false)
		}
	}
	for _, c := range cases.Refused {
		if c.Kind == cases.Device && len(c.Document) < 10_000 {
			f.Add("GET", target, "", c.Document, false)
		}
	}
	wasm, err := LoadModule("../../build/out/edge.wasm")
	if err != nil {
		f.Fatal(err)
	}
	native := Local{engine.NewNative(1)}
	f.Fuzz(func(t *testing.T, method, target, authorization, device string, digest bool) {
		documents := store{&Setup{Documents: map[string]string{"tenant:" + tenant: tenants[digest], "device:" + tenant + ":" + mac: device}}}
		var texts [2]string
		for i, e := range []engine.Engine{native.Engine, wasm.Engine} {
			response, err := exchange.Answer(context.Background(), e, documents, &wire.Request{
				Flags: wire.FlagTLS, Now: defaultNow, Method: method, Target: target, Keys: []string{Current, Previous},
				Facts: []wire.Pair{{Name: "authorization", Value: authorization}},
			})
			if err != nil {
				// A document beyond the limit of the ABI is the one thing that the
				// host itself may refuse.
				if len(method)+len(target)+len(authorization)+len(device)+4096 < wire.MaxInput {
					t.Fatalf("engine %d: %v", i, err)
				}
				return
			}
			texts[i] = Format(&response)
			for _, p := range response.Audit {
				texts[i] += p.Name + "=" + p.Value + "\n"
			}
		}
		if d := Difference(texts[1], texts[0]); d != "" {
			t.Fatal(d)
		}
	})
}
