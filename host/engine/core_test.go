package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/wire"
)

// customer is a request of a tenant whose every secret can be looked for.
type customer struct {
	request []byte
	secrets []string
}

func newCustomer(tenant, mac string) customer {
	master := "master-key-of-" + tenant + strings.Repeat("#", provision.MinKey)
	secret := func(what string) string { return tenant + "SECRET" + what }
	token := provision.Token(master, tenant, mac, 0)
	password := provision.Password(master, tenant, mac, 0)
	return customer{
		request: wire.AppendRequest(nil, &wire.Request{
			Flags: wire.FlagTLS, Now: 1_800_000_000, Method: "GET", Target: "/" + tenant + "/" + token + "/" + mac + ".cfg",
			Keys:  []string{master},
			Facts: []wire.Pair{{Name: "authorization", Value: basic(mac, password)}},
			Documents: []wire.Document{
				{Key: "tenant:" + tenant, Value: `{"tenant":"` + tenant + `","url":"https://prov.example.com","auth":"basic","vendor":"yealink","model":"T46U","admin_password":"` + secret("admin") + `","line":{"server":"pbx.example.com"}}`},
				{Key: "device:" + tenant + ":" + mac, Value: `{"device":"` + mac + `","tenant":"` + tenant + `","lines":[{"user":"1","password":"` + secret("sip") + `","label":"` + secret("l\\u0061bel") + `"}]}`},
			},
		}),
		secrets: []string{master, token, token[4:], password, secret("admin"), secret("sip"), secret("label"), basic(mac, password)},
	}
}

// The module as it is deployed keeps nothing of a request: the memory of the
// instance is searched for every secret of it, and so is the next answer.
func TestCoreLeavesNothing(t *testing.T) {
	for _, file := range []string{"../../build/out/edge.wasm", "../../build/out/edge-go.wasm"} {
		module, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (make wasm builds it)", err)
		}
		ctx := context.Background()
		w, err := NewWasm(ctx, module, WasmOptions{Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close(ctx)
		a, b := newCustomer("acme", "001565aabb01"), newCustomer("bravo", "001565aabb02")
		wanted := func(c customer, out []byte) {
			t.Helper()
			var response wire.Response
			if err := wire.DecodeResponse(string(out), &response); err != nil {
				t.Fatal(err)
			}
			if response.Status != 200 || !bytes.Contains(response.Body, []byte(c.secrets[5])) {
				t.Fatalf("%s: status %d, %v", file, response.Status, response.Audit)
			}
		}

		// Without the restoring there would be something to find.
		i, ok, _, err := w.pool.get(ctx)
		if err != nil || !ok {
			t.Fatalf("no instance: %v", err)
		}
		_, out, fault := i.call(a.request, nil)
		if fault != nil {
			t.Fatal(fault)
		}
		wanted(a, out)
		if found := search(i.view(), a.secrets); len(found) < 4 {
			t.Errorf("%s: only %q found before the memory is put back: the search finds nothing", file, found)
		}
		if fault := i.restore(); fault != nil {
			t.Fatal(fault)
		}
		if found := search(i.view(), a.secrets); len(found) > 0 {
			t.Errorf("%s: left in memory after a request: %q", file, found)
		}
		w.pool.put(i)

		_, out, err = w.Call(ctx, b.request, nil)
		if err != nil {
			t.Fatal(err)
		}
		wanted(b, out)
		if found := search(out, a.secrets); len(found) > 0 {
			t.Errorf("%s: of another tenant in an answer: %q", file, found)
		}
		// Request n is request 1.
		_, again, err := w.Call(ctx, b.request, nil)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s: the same request gives another answer", file)
		}
	}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func search(memory []byte, secrets []string) (found []string) {
	for _, s := range secrets {
		if bytes.Contains(memory, []byte(s)) {
			found = append(found, s)
		}
	}
	return found
}
