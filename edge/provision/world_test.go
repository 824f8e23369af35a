package provision_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"stagger/edge/escape/keyvalue"
	"stagger/edge/pack"
	"stagger/edge/profile"
	"stagger/edge/provision"
	"stagger/edge/template"
	"stagger/edge/template/compile"
	"stagger/edge/wire"
)

// Two vendors that do not exist. Both have a file "<mac>.cfg": which of them it
// is, only the device's document can tell.
var packs = []pack.Pack{
	{
		Vendor:      "acme",
		Models:      []pack.Model{{Name: "D2", Lines: 2, Keys: 2}, {Name: "D100", Lines: 100, Keys: 300}},
		Generations: []pack.Generation{{Name: "old", From: "1.0"}, {Name: "new", From: "2.0"}},
		Agents:      []string{"Acme {model} {firmware}", "Acme {model}"},
		Allow:       []string{"a.*"},
		Certificate: pack.Certificate{Attribute: "CN", Issuers: []string{"Acme Devices"}},
		Checkin:     pack.Timer{Unit: 60, Min: 1}, Register: pack.Timer{Unit: 1, Min: 30},
		Files: []pack.File{
			{Suffix: ".cfg", MAC: true, Kind: "config", Type: "text/plain; charset=utf-8", Variants: oldVariant, Program: program("acme.tmpl", `#!acme
url = {{.url}}
checkin = {{.checkin}}
{{range .lines}}line.{{.index}}.user = {{.user}}
line.{{.index}}.password = {{.password}}
line.{{.index}}.label = {{.label}}
line.{{.index}}.server = {{.server}}
line.{{.index}}.expires = {{.registration}}
{{end}}{{with .admin_password}}admin = {{.}}
{{end}}`), Versions: []pack.Version{{Name: "new", Program: program("new.tmpl", "#!acme, new\ncheckin = {{.checkin}}\n")}}},
			{Suffix: ".stop", MAC: true, Kind: "stop", Type: "text/plain; charset=utf-8", Program: program("stop.tmpl", `{{range .lines}}{{.password}}{{end}}
{{fail "the phone has no such thing"}}`)},
			{Suffix: "-local.cfg", MAC: true, Kind: "local"},
			{Prefix: "model##.cfg", Kind: "common"},
			{Prefix: "first##.cfg", Kind: "first", Type: "text/plain; charset=utf-8", Text: "# go on\n"},
		},
	},
	{
		Vendor:  "brand",
		Models:  []pack.Model{{Name: "B1", Lines: 1}},
		Checkin: pack.Timer{Unit: 3600, Min: 1}, Register: pack.Timer{Unit: 1, Min: 1},
		Files: []pack.File{
			{Suffix: ".cfg", MAC: true, Kind: "config", Type: "application/x-brand", Program: program("brand.tmpl", "{{.checkin}}\n")},
			{Suffix: ".xml", MAC: true, Kind: "xml", Type: "application/xml", Program: program("xml.tmpl", "{{.mac}}\n")},
		},
	},
}

// oldVariant is the body for old firmware.
var oldVariant = []pack.Variant{{Feature: "old", Program: program("old.tmpl", "url = {{.url}}\n")}}

func program(name, source string) *template.Program {
	p, err := compile.Compile(name, source, compile.Options{Root: profile.Phone})
	if err != nil {
		panic(err)
	}
	p.Escape = keyvalue.Append
	return p
}

// marker is in everything that may be in a phone's file and nowhere else: the
// keys, and the values of the documents.
const marker = "zq7"

var (
	currentKey  = "current." + marker + strings.Repeat("c", provision.MinKey)
	previousKey = "previous." + marker + strings.Repeat("p", provision.MinKey)
	strangeKey  = "strange." + marker + strings.Repeat("s", provision.MinKey)
)

const (
	goodMAC    = "001565aabb01"
	generation = 5

	goodTenant = `{"tenant":"demo","url":"https://zq7.example/p/","vendor":"acme","model":"D2","admin_password":"zq7admin","line":{"server":"zq7.example"}}`
	goodDevice = `{"device":"001565aabb01","tenant":"demo","generation":5,"lines":[{"user":"zq7-1001","password":"zq7password","label":"zq7 label"}]}`
	goodOther  = `{"device":"001565aabb02","tenant":"demo","generation":5,"lines":[{"user":"zq7-1002","password":"zq7password2","label":"zq7 label 2"}]}`
	goodLab    = `{"tenant":"lab","auth":"open","url":"https://zq7.example/p/","vendor":"acme","model":"D2","line":{"server":"zq7.example"}}`
	labDevice  = `{"device":"001565aabb01","tenant":"lab","lines":[{"user":"zq7-1003","password":"zq7password3"}]}`
)

const (
	tenantKey = "tenant:demo"
	deviceKey = "device:demo:" + goodMAC
)

// world is a request and the store behind it.
type world struct {
	wire.Request
	store map[string]wire.Document
}

// newWorld is a good request: the phone gets its file.
func newWorld() *world {
	w := &world{
		Request: wire.Request{Flags: wire.FlagTLS, Now: 1_800_000_000, Method: "GET", Keys: []string{currentKey}},
		store:   map[string]wire.Document{},
	}
	w.put(tenantKey, goodTenant)
	w.put(deviceKey, goodDevice)
	w.put("device:demo:001565aabb02", goodOther)
	w.put("tenant:lab", goodLab)
	w.put("device:lab:"+goodMAC, labDevice)
	w.target("demo", provision.Token(currentKey, "demo", goodMAC, generation), goodMAC+".cfg")
	return w
}

func (w *world) put(key, document string)       { w.store[key] = wire.Document{Key: key, Value: document} }
func (w *world) state(key string, s wire.State) { w.store[key] = wire.Document{Key: key, State: s} }
func (w *world) target(tenant, token, file string) {
	w.Target = "/" + tenant + "/" + token + "/" + file
}
func (w *world) fact(name, value string) {
	w.Facts = append(w.Facts, wire.Pair{Name: name, Value: value})
}

// edit changes a text in the document of this key, which has to have it.
func (w *world) edit(key, old, new string) {
	d := w.store[key]
	if !strings.Contains(d.Value, old) {
		panic("no " + old + " in " + d.Value)
	}
	w.put(key, strings.Replace(d.Value, old, new, 1))
}

func (w *world) clone() *world {
	c := &world{Request: w.Request, store: maps.Clone(w.store)}
	c.Facts, c.Keys = slices.Clone(w.Facts), slices.Clone(w.Keys)
	return c
}

// answer is how a conversation ended, and what the core asked for on the way.
type answer struct {
	wire.Response
	asked []string
	// calls are the outputs of all calls of Handle.
	calls []string
}

func (a *answer) audit(name string) string {
	for _, p := range a.Audit {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// answer in bytes, without the audit record.
func (a *answer) bytes() string {
	r := a.Response
	r.Audit = nil
	return string(wire.AppendResponse(nil, &r))
}

// ask plays the host: it fetches what the core needs and asks again.
func (w *world) ask(t testing.TB, c *provision.Core) *answer {
	t.Helper()
	a := &answer{}
	request := w.Request
	request.Documents = nil
	for range wire.MaxCalls {
		status, out := c.Handle(wire.AppendRequest(nil, &request))
		out = bytes.Clone(out)
		a.calls = append(a.calls, string(out))
		switch status {
		case wire.StatusResponse:
			if err := wire.DecodeResponse(string(out), &a.Response); err != nil {
				t.Fatal(err)
			}
			return a
		case wire.StatusNeed:
			keys, err := wire.DecodeNeed(string(out), nil)
			if err != nil || len(keys) == 0 {
				t.Fatalf("needs %q: %v", keys, err)
			}
			for _, key := range keys {
				if slices.Contains(a.asked, key) {
					t.Fatalf("asked for %s twice", key)
				}
				d, ok := w.store[key]
				if !ok {
					d = wire.Document{Key: key, State: wire.Absent}
				}
				request.Documents = append(request.Documents, d)
			}
			a.asked = append(a.asked, keys...)
		default:
			t.Fatalf("status %d: %s", status, out)
		}
	}
	t.Fatalf("no answer after %d calls", wire.MaxCalls)
	return nil
}
