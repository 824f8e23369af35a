package fleet

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"stagger/host/seal"
)

// exported writes pairs as KV has them, one a line.
func exported(pairs ...[2]string) string {
	var lines []string
	for _, p := range pairs {
		line, err := json.Marshal(map[string]string{"key": p[0], "value": p[1]})
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(line))
	}
	return "[" + strings.Join(lines, ",\n") + "\n]\n"
}

func TestReadExport(t *testing.T) {
	tenant, device := [2]string{"tenant:demo", demo}, [2]string{"device:demo:001565aabb01", phone}
	keys := seal.New([]string{strings.Repeat("k", 32)})
	sealed := func(p [2]string) [2]string {
		text, err := keys.Seal(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		return [2]string{p[0], text}
	}
	for name, file := range map[string]string{
		"plain":            exported(device, tenant),
		"blanks before":    " \r\n\t\n" + exported(tenant, device),
		"two lists":        exported(tenant) + exported(device),
		"an empty list":    exported(tenant, device) + "[]",
		"sealed":           exported(sealed(device), sealed(tenant)),
		"one of them":      exported(tenant, sealed(device)),
		"metadata":         strings.Replace(exported(tenant, device), `{"key"`, `{"metadata":{"a":1},"key"`, 1),
		"base64":           `[{"base64":true,"key":"tenant:demo","value":"` + base64.StdEncoding.EncodeToString([]byte(demo)) + `"}]` + exported(device),
		"blanks in values": exported([2]string{tenant[0], tenant[1] + " "}, device),
	} {
		t.Run(name, func(t *testing.T) {
			store, err := Reader{Unseal: seal.Opener{Keys: keys}.Document}.Read("f", strings.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if !store.Export() || store.Tenants() != 1 || store.Devices() != 1 {
				t.Errorf("export %v, %d tenants, %d devices", store.Export(), store.Tenants(), store.Devices())
			}
			if got, _, _ := store.Get(t.Context(), device[0]); got != phone {
				t.Errorf("%q", got)
			}
		})
	}
	if store, err := Read("f", strings.NewReader(demo), nil); err != nil || store.Export() {
		t.Errorf("JSON Lines: %v", err)
	}
}

func TestExportErrors(t *testing.T) {
	pair := func(key, value string) string { return strings.TrimSpace(exported([2]string{key, value})) }
	lines := []struct{ text, want string }{
		{`{"key":"tenant:demo","value":7}`, "key and value are not both there as text"},
		{`{"key":"tenant:demo"}`, "key and value are not both there as text"},
		{`{"key":"tenant:demo","value":"SECRET","value":"{}"}`, "value is there twice"},
		{`{"key":"tenant:demo","value":"SECRET","expiration_ttl":60}`, "expires"},
		{`{"key":"tenant:demo","value":"SECRET","SECRET":60}`, "has fields that no pair of KV has"},
		{`{"key":"tenant:demo","value":"SECRET!","base64":true}`, "value is not base64"},
		{`"SECRET"`, "not an object"},
		{`["SECRET"]`, "not an object"},
		{`{"key":"tenant:demo","value":"SECRET"}`, "not JSON, or more than one value on the line"},
		{`{"key":"SECRET","value":"{\"tenant\":\"demo\"}"}`, "lies under a key that is not its own"},
		{strings.Trim(pair("tenant:other", demo), "[]"), "lies under a key that is not its own"},
		{strings.Trim(pair("device:demo:001565aabb02", phone), "[]"), "lies under a key that is not its own"},
		{strings.Trim(pair("tenant:demo", "stagger-seal:1:a:SECRET"), "[]"), seal.ErrForm.Error()},
		{strings.Trim(pair("tenant:demo", "stagger-seal:1:a:SECR"), "[]"), seal.ErrNoKey.Error()},
		{strings.Trim(pair("tenant:demo", demo+strings.Repeat(" ", MaxLine)), "[]"), "longer than 262144 bytes"},
		{strings.Trim(pair("device:demo:001565aabb01", phone), "[]"), NoTenant},
	}
	var texts []string
	var want strings.Builder
	for i, l := range lines {
		texts = append(texts, l.text)
		want.WriteString((&Error{"f", i + 1, l.want}).Error() + "\n")
	}
	_, err := Read("f", strings.NewReader("["+strings.Join(texts, ",\n")+"]"), nil)
	var all *Errors
	if !errors.As(err, &all) || err.Error()+"\n" != want.String() {
		t.Errorf("got\n%v\nwant\n%s", err, want.String())
	}
	for text, want := range map[string]string{
		"[":                        "read f: not a list of JSON objects",
		`[{"key":"SECRET"`:         "read f: pair 1: not a list of JSON objects",
		exported() + "[{} SECRET]": "read f: pair 2: not a list of JSON objects",
		exported([2]string{"tenant:demo", demo}) + "SECRET": "read f: not a list of JSON objects",
		exported([2]string{"tenant:demo", demo}) + "{}":     "read f: has something behind the list that is no list",
	} {
		if _, err := Read("f", strings.NewReader(text), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	required := Reader{Unseal: seal.Opener{Keys: seal.New(nil), Required: true}.Document}
	if _, err := required.Read("f", strings.NewReader(demo+"\n\n"+phone)); err == nil || err.Error() != "f:1: is not sealed\nf:3: is not sealed" {
		t.Errorf("JSON Lines where sealed documents are required: %v", err)
	}
}

// Whatever an export holds, reading it ends, and nothing of it is in an error.
func FuzzReadExport(f *testing.F) {
	f.Add(exported([2]string{"tenant:demo", demo}, [2]string{"device:demo:001565aabb01", phone}))
	f.Add(`[{"key":"tenant:demo","value":"e30=","base64":true},{"a":1},7]`)
	f.Add(`[[[["`)
	f.Fuzz(func(t *testing.T, text string) {
		store, err := Read("f", strings.NewReader("["+text), nil)
		if err != nil {
			if strings.Contains(text, "SECRET") && strings.Contains(err.Error(), "SECRET") {
				t.Fatal(err)
			}
			return
		}
		for _, key := range store.Keys() {
			document, _, _ := store.Get(t.Context(), key)
			if d, wrong := identify(document); len(wrong) > 0 || d.Key() != key {
				t.Fatalf("%s: %q, %q", key, document, wrong)
			}
		}
	})
}
