package provision_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/wire"
)

// A guard is a change to a good request, and the check that has to stop it. Every
// check of the core has one that nothing but this check stops.
type guard struct {
	check   string
	change  func(w *world)
	status  uint32
	outcome string
	// error is the text in the audit record.
	error string
}

// token gives the request a token that is proper in all but what the caller says.
func token(key, tenant, mac string, generation int64) func(w *world) {
	return func(w *world) { w.target("demo", provision.Token(key, tenant, mac, generation), goodMAC+".cfg") }
}

// mac is a request with the token and the document of this MAC.
func mac(address string) func(w *world) {
	return func(w *world) {
		w.target("demo", provision.Token(currentKey, "demo", strings.ToLower(address), generation), address+".cfg")
		w.put("device:demo:"+strings.ToLower(address), strings.ReplaceAll(goodDevice, goodMAC, strings.ToLower(address)))
	}
}

func file(name string) func(w *world) {
	return func(w *world) { w.Target = w.Target[:strings.LastIndexByte(w.Target, '/')+1] + name }
}

func method(name string) func(w *world) { return func(w *world) { w.Method = name } }
func keys(keys ...string) func(w *world) {
	return func(w *world) { w.Keys = keys }
}
func target(f func(good string) string) func(w *world) {
	return func(w *world) { w.Target = f(w.Target) }
}
func edit(key, old, new string) func(w *world) { return func(w *world) { w.edit(key, old, new) } }
func state(key string, s wire.State) func(w *world) {
	return func(w *world) { w.state(key, s) }
}
func all(changes ...func(w *world)) func(w *world) {
	return func(w *world) {
		for _, change := range changes {
			change(w)
		}
	}
}

// open is a request without a token to a tenant whose document allows that, where
// the operator has named these tenants.
func open(tenant, named string) func(w *world) {
	return func(w *world) {
		w.target(tenant, provision.OpenToken, goodMAC+".cfg")
		w.fact("open", named)
	}
}

func plain(named string) func(w *world) {
	return func(w *world) {
		w.Flags = 0
		w.fact("plain-http", named)
	}
}

// basic is a tenant that asks for a password as well, and the header that the
// phone sends. (Package provision's other tests are about what may be in it.)
func basic(header string) func(w *world) {
	return func(w *world) {
		w.edit(tenantKey, `"model"`, `"auth":"basic","model"`)
		if header != "" {
			w.fact("authorization", header)
		}
	}
}

func basicHeader(key, tenant, mac string, generation int64) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(mac+":"+standardPassword(key, tenant, mac, generation)))
}

// certificate is a tenant that asks for the phone's own certificate, and what the
// host knows of it: all good, but for these facts.
func certificate(facts map[string]string) func(w *world) {
	return func(w *world) {
		w.edit(tenantKey, `"model"`, `"client_cert":true,"model"`)
		for _, good := range []wire.Pair{
			{Name: "cert-presented", Value: "1"}, {Name: "cert-verified", Value: "SUCCESS"}, {Name: "cert-revoked", Value: "0"},
			{Name: "cert-subject", Value: "CN=" + goodMAC + ",O=Acme"}, {Name: "cert-issuer", Value: "O=Acme,CN=Acme Devices"},
		} {
			if bad, ok := facts[good.Name]; ok {
				good.Value = bad
			}
			w.fact(good.Name, good.Value)
		}
	}
}

func nothing(*world) {}

var guards = []guard{
	{"good", nothing, 200, provision.OK, ""},

	{"method: PUT", method("PUT"), 405, provision.Method, ""},
	{"method: POST", method("POST"), 405, provision.Method, ""},
	{"method: lower case", method("get"), 405, provision.Method, ""},
	{"method: none", method(""), 405, provision.Method, ""},
	{"method: before all else", all(method("DELETE"), keys(), target(func(string) string { return "" })), 405, provision.Method, ""},

	{"keys: none", keys(), 500, provision.NoKey, ""},
	{"keys: none, open tenant", all(keys(), open("lab", "lab")), 500, provision.NoKey, ""},
	{"keys: empty", keys(""), 500, provision.NoKey, ""},
	{"keys: first too short", all(keys(currentKey[:provision.MinKey-1]), token(currentKey[:provision.MinKey-1], "demo", goodMAC, generation)), 500, provision.NoKey, ""},
	{"keys: second too short", keys(currentKey, previousKey[:provision.MinKey-1]), 500, provision.NoKey, ""},
	{"keys: just long enough", all(keys(currentKey[:provision.MinKey]), token(currentKey[:provision.MinKey], "demo", goodMAC, generation)), 200, provision.OK, ""},
	{"keys: two", keys(currentKey, previousKey), 200, provision.OK, ""},
	{"keys: three", keys(currentKey, previousKey, strangeKey), 500, provision.NoKey, ""},

	{"target: 512 bytes", target(func(s string) string { return (s + "?" + strings.Repeat("q", 512))[:512] }), 200, provision.OK, ""},
	{"target: 513 bytes", target(func(s string) string { return (s + "?" + strings.Repeat("q", 513))[:513] }), 404, provision.Malformed, ""},

	{"path: empty", target(func(string) string { return "" }), 404, provision.Malformed, ""},
	{"path: root", target(func(string) string { return "/" }), 404, provision.Malformed, ""},
	{"path: no slash first", target(func(s string) string { return "x" + s[1:] }), 404, provision.Malformed, ""},
	{"path: two slashes first", target(func(s string) string { return "/" + s }), 404, provision.Malformed, ""},
	{"path: slash last", target(func(s string) string { return s + "/" }), 404, provision.Malformed, ""},
	{"path: a segment more", target(func(s string) string { return s + "/x.css" }), 404, provision.Malformed, ""},
	{"path: a segment less", target(func(s string) string { return s[5:] }), 404, provision.Malformed, ""},
	{"path: dot segment", target(func(s string) string { return strings.Replace(s, "/001", "/./001", 1) }), 404, provision.Malformed, ""},
	{"path: dot dot segment", target(func(s string) string { return "/x/.." + s }), 404, provision.Malformed, ""},
	{"path: no token", target(func(string) string { return "/demo//" + goodMAC + ".cfg" }), 404, provision.Malformed, ""},
	{"path: no file", target(func(s string) string { return s[:len(s)-16] }), 404, provision.Malformed, ""},
	{"path: percent", target(func(s string) string { return strings.Replace(s, "001565", "%30%301565", 1) }), 404, provision.Malformed, ""},
	{"path: backslash", target(func(s string) string { return strings.Replace(s, "/001", `\001`, 1) }), 404, provision.Malformed, ""},
	{"path: line feed", target(func(s string) string { return s + "\n" }), 404, provision.Malformed, ""},
	{"path: high byte", target(func(s string) string { return s + "\xff" }), 404, provision.Malformed, ""},
	{"path: fragment", target(func(s string) string { return s + "#x" }), 404, provision.Malformed, ""},
	{"path: absolute", target(func(s string) string { return "https://prov.example" + s }), 404, provision.Malformed, ""},
	{"path: tenant in upper case", target(func(s string) string { return strings.Replace(s, "demo", "Demo", 1) }), 404, provision.Malformed, ""},
	{"path: tenant with a dot", target(func(s string) string { return strings.Replace(s, "demo", "de.mo", 1) }), 404, provision.Malformed, ""},
	{"path: query", target(func(s string) string { return s + "?mac=001565aabb02&\xff" }), 200, provision.OK, ""},
	{"path: empty query", target(func(s string) string { return s + "?" }), 200, provision.OK, ""},

	{"route: no vendor has this suffix", file(goodMAC + ".bin"), 404, provision.Malformed, ""},
	{"route: no vendor has this prefix", file("x" + goodMAC + ".cfg"), 404, provision.Malformed, ""},
	{"route: suffix in upper case", file(goodMAC + ".CFG"), 404, provision.Malformed, ""},
	{"route: no MAC", file(".cfg"), 404, provision.Malformed, ""},
	{"route: a common file", file("model12.cfg"), 404, provision.NotServed, ""},
	{"route: a common file, letters for digits", file("model1x.cfg"), 404, provision.Malformed, ""},
	{"route: a text for everybody", file("first12.cfg"), 200, provision.Public, ""},
	{"route: a text for everybody, without a good token", all(file("first12.cfg"), target(func(s string) string { return strings.Replace(s, "/t", "/u", 1) })), 200, provision.Public, ""},
	{"route: a text for everybody, without TLS", all(file("first12.cfg"), func(w *world) { w.Flags = 0 }), 403, provision.PlainHTTP, ""},
	{"route: the second vendor's file", all(edit(deviceKey, `"generation"`, `"vendor":"brand","model":"B1","generation"`), file(goodMAC+".xml")), 200, provision.OK, ""},

	{"MAC: 11 digits", mac(goodMAC[:11]), 404, provision.Malformed, ""},
	{"MAC: 13 digits", mac(goodMAC + "0"), 404, provision.Malformed, ""},
	{"MAC: not hexadecimal", mac("00156gaabb01"), 404, provision.Malformed, ""},
	{"MAC: colons", mac("00:15:65:aa:bb:01"), 404, provision.Malformed, ""},
	{"MAC: all zero", mac("000000000000"), 404, provision.Malformed, ""},
	{"MAC: group", mac("011565aabb01"), 404, provision.Malformed, ""},
	{"MAC: broadcast", mac("ffffffffffff"), 404, provision.Malformed, ""},
	{"MAC: upper case", mac("001565AABB01"), 200, provision.OK, ""},
	{"MAC: mixed case", mac("001565aAbB01"), 200, provision.OK, ""},

	{"plain HTTP", plain(""), 403, provision.PlainHTTP, ""},
	{"plain HTTP: other tenants", plain("emo,demo2,de,dem,xdemo"), 403, provision.PlainHTTP, ""},
	{"plain HTTP: whatever the token", all(token(strangeKey, "demo", goodMAC, generation), plain("")), 403, provision.PlainHTTP, ""},
	{"plain HTTP: allowed", plain("demo"), 200, provision.OK, ""},
	{"plain HTTP: allowed among others", plain("a,,demo,b"), 200, provision.OK, ""},
	{"plain HTTP: allowed is not open", all(plain("demo"), token(strangeKey, "demo", goodMAC, generation)), 404, provision.BadToken, ""},

	{"token: another tenant's", token(currentKey, "lab", goodMAC, generation), 404, provision.BadToken, ""},
	{"token: another MAC's", token(currentKey, "demo", "001565aabb02", generation), 404, provision.BadToken, ""},
	{"token: another key's", token(strangeKey, "demo", goodMAC, generation), 404, provision.BadToken, ""},
	{"token: the previous key's, too late", token(previousKey, "demo", goodMAC, generation), 404, provision.BadToken, ""},
	{"token: the previous key's, in time", all(keys(currentKey, previousKey), token(previousKey, "demo", goodMAC, generation)), 200, provision.OK, ""},
	{"token: a character less", target(func(s string) string { return strings.Replace(s, "/"+goodMAC, "", 1)[:35] + "/" + goodMAC + ".cfg" }), 404, provision.BadToken, ""},
	{"token: a character more", target(func(s string) string { return strings.Replace(s, "/"+goodMAC, "a/"+goodMAC, 1) }), 404, provision.BadToken, ""},
	{"token: upper case", target(func(s string) string { return s[:6] + strings.ToUpper(s[6:36]) + s[36:] }), 404, provision.BadToken, ""},
	{"token: another device's file", file("001565aabb02.cfg"), 404, provision.BadToken, ""},
	{"token: another tenant", target(func(s string) string { return strings.Replace(s, "demo", "lab", 1) }), 404, provision.BadToken, ""},

	{"open: both", open("lab", "lab"), 200, provision.OK, ""},
	{"open: both, among others", open("lab", "demo,lab"), 200, provision.OK, ""},
	{"open: neither", open("demo", ""), 404, provision.BadToken, ""},
	{"open: only the document", open("lab", "demo"), 404, provision.BadToken, ""},
	{"open: only the operator", open("demo", "demo"), 404, provision.BadToken, ""},
	{"open: a tenant that is not there", open("nobody", "nobody"), 404, provision.NoTenant, ""},
	{"open: a wrong token is still wrong", all(open("lab", "lab"), target(func(s string) string { return strings.Replace(s, "/open/", "/opem/", 1) })), 404, provision.BadToken, ""},

	{"documents: tenant absent", state(tenantKey, wire.Absent), 404, provision.NoTenant, ""},
	{"documents: device absent", state(deviceKey, wire.Absent), 404, provision.NoDevice, ""},
	{"documents: tenant failed", state(tenantKey, wire.Failed), 503, provision.Store, ""},
	{"documents: device failed", state(deviceKey, wire.Failed), 503, provision.Store, ""},
	{"documents: tenant absent, device failed", all(state(tenantKey, wire.Absent), state(deviceKey, wire.Failed)), 503, provision.Store, ""},
	{"documents: tenant failed, device absent", all(state(tenantKey, wire.Failed), state(deviceKey, wire.Absent)), 503, provision.Store, ""},

	{"credentials: none", basic(""), 401, provision.Credentials, ""},
	{"credentials: another key's", basic(basicHeader(strangeKey, "demo", goodMAC, generation)), 401, provision.Credentials, ""},
	{"credentials: another tenant's", basic(basicHeader(currentKey, "lab", goodMAC, generation)), 401, provision.Credentials, ""},
	{"credentials: another device's", basic(basicHeader(currentKey, "demo", "001565aabb02", generation)), 401, provision.Credentials, ""},
	{"credentials: of another generation", basic(basicHeader(currentKey, "demo", goodMAC, generation-1)), 401, provision.Credentials, ""},
	{"credentials: before the device", all(basic(""), state(deviceKey, wire.Absent)), 401, provision.Credentials, ""},
	{"credentials: after the store", all(basic(""), state(deviceKey, wire.Failed)), 503, provision.Store, ""},
	{"credentials: after the token", all(basic(""), token(strangeKey, "demo", goodMAC, generation)), 404, provision.BadToken, ""},
	{"credentials: right", basic(basicHeader(currentKey, "demo", goodMAC, generation)), 200, provision.OK, ""},
	{"credentials: of no matter where none are asked for", func(w *world) { w.fact("authorization", "Basic "+marker) }, 200, provision.OK, ""},

	{"credentials: Digest, none", edit(tenantKey, `"model"`, `"auth":"digest","model"`), 401, provision.Credentials, ""},
	{"credentials: Digest, but Basic", all(edit(tenantKey, `"model"`, `"auth":"digest","model"`), func(w *world) {
		w.fact("authorization", basicHeader(currentKey, "demo", goodMAC, generation))
	}), 401, provision.Credentials, ""},

	{"certificate: right", certificate(nil), 200, provision.OK, ""},
	{"certificate: nothing known", edit(tenantKey, `"model"`, `"client_cert":true,"model"`), 404, provision.NoCert, ""},
	{"certificate: not presented", certificate(map[string]string{"cert-presented": "0"}), 404, provision.NoCert, ""},
	{"certificate: not verified", certificate(map[string]string{"cert-verified": "FAILED:self signed certificate"}), 404, provision.NoCert, ""},
	{"certificate: revoked", certificate(map[string]string{"cert-revoked": "1"}), 404, provision.NoCert, ""},
	{"certificate: perhaps revoked", certificate(map[string]string{"cert-revoked": ""}), 404, provision.NoCert, ""},
	{"certificate: another device's", certificate(map[string]string{"cert-subject": "CN=001565aabb02"}), 404, provision.NoCert, ""},
	{"certificate: of no device", certificate(map[string]string{"cert-subject": "CN=phone,O=Acme"}), 404, provision.NoCert, ""},
	{"certificate: the MAC in another attribute", certificate(map[string]string{"cert-subject": "CN=phone,OU=" + goodMAC}), 404, provision.NoCert, ""},
	{"certificate: another issuer's", certificate(map[string]string{"cert-issuer": "CN=Brand Devices"}), 404, provision.NoCert, ""},
	{"certificate: on top of the token", all(certificate(nil), token(strangeKey, "demo", goodMAC, generation)), 404, provision.BadToken, ""},

	{"tenant document: another tenant", edit(tenantKey, `"demo"`, `"lab"`), 500, provision.Invalid, tenantKey + ": tenant: is not the tenant of its key"},
	{"tenant document: no tenant", edit(tenantKey, `"tenant":"demo",`, ``), 500, provision.Invalid, tenantKey + ": tenant: is not the tenant of its key"},
	{"tenant document: unknown field", edit(tenantKey, `"model"`, `"modell"`), 500, provision.Invalid, tenantKey + `: has no field "modell"`},
	{"tenant document: null", func(w *world) { w.put(tenantKey, "null") }, 500, provision.Invalid, tenantKey + ": is not a JSON object"},
	{"device document: another MAC", edit(deviceKey, goodMAC, "001565aabb02"), 500, provision.Invalid, deviceKey + ": device: is not the MAC of its key"},
	{"device document: no MAC", edit(deviceKey, `"device":"001565aabb01",`, ``), 500, provision.Invalid, deviceKey + ": device: is not the MAC of its key"},
	{"device document: another tenant", edit(deviceKey, `"demo"`, `"lab"`), 500, provision.Invalid, deviceKey + ": tenant: is not the tenant of its key"},
	{"device document: no tenant", edit(deviceKey, `"tenant":"demo",`, ``), 500, provision.Invalid, deviceKey + ": tenant: is not the tenant of its key"},
	{"device document: empty", func(w *world) { w.put(deviceKey, "") }, 500, provision.Invalid, deviceKey + ": is not JSON"},
	{"device document: cut", func(w *world) { w.put(deviceKey, goodDevice[:40]) }, 500, provision.Invalid, deviceKey + ": is not JSON"},

	{"disabled: device", edit(deviceKey, `"generation"`, `"state":"disabled","generation"`), 404, provision.IsDisabled, ""},
	{"disabled: tenant", edit(tenantKey, `"model"`, `"state":"disabled","model"`), 404, provision.IsDisabled, ""},
	{"disabled: tenant, but not this device", all(edit(tenantKey, `"model"`, `"state":"disabled","model"`), edit(deviceKey, `"generation"`, `"state":"active","generation"`)), 200, provision.OK, ""},
	{"disabled: open tenant", all(open("lab", "lab"), edit("tenant:lab", `"auth"`, `"state":"disabled","auth"`)), 404, provision.IsDisabled, ""},

	{"generation: one before", token(currentKey, "demo", goodMAC, generation-1), 404, provision.Revoked, ""},
	{"generation: one after", token(currentKey, "demo", goodMAC, generation+1), 404, provision.Revoked, ""},
	{"generation: raised", edit(deviceKey, `"generation":5`, `"generation":6`), 404, provision.Revoked, ""},
	{"generation: 0 by default", all(edit(deviceKey, `"generation":5,`, ``), token(currentKey, "demo", goodMAC, 0)), 200, provision.OK, ""},
	{"generation: of no matter without a token", all(open("lab", "lab"), edit("device:lab:"+goodMAC, `"tenant"`, `"generation":9,"tenant"`)), 200, provision.OK, ""},

	{"vendor: unknown", edit(tenantKey, `"acme"`, `"acmf"`), 500, provision.Invalid, deviceKey + ": vendor: is not a vendor that this version knows"},
	{"vendor: another letter case", edit(tenantKey, `"acme"`, `"Acme"`), 500, provision.Invalid, deviceKey + ": vendor: is not a vendor that this version knows"},
	{"vendor: none", edit(tenantKey, `"vendor":"acme",`, ``), 500, provision.Invalid, deviceKey + ": vendor: is required"},
	{"file: another vendor's", file(goodMAC + ".xml"), 404, provision.OtherVendor, ""},
	{"file: without a template", file(goodMAC + "-local.cfg"), 404, provision.NotServed, ""},

	{"url: missing", edit(tenantKey, `"url":"https://zq7.example/p/",`, ``), 500, provision.Invalid, tenantKey + ": url: is required"},
	{"profile: no lines", edit(deviceKey, `"lines":[{"user":"zq7-1001","password":"zq7password","label":"zq7 label"}]`, `"lines":[]`), 500, provision.Invalid, deviceKey + ": lines: is required: an active device has at least one"},
	{"profile: no password", edit(deviceKey, `"password":"zq7password",`, ``), 500, provision.Invalid, deviceKey + ": lines[0].password: is required"},
	{"profile: a line break", edit(deviceKey, `"zq7 label"`, `"zq7\u000alabel"`), 500, provision.Invalid, deviceKey + ": lines[0].label: has a control character"},
	{"profile: out of the phone's range", edit(tenantKey, `"line"`, `"timers":{"register":{"interval":20}},"line"`), 500, provision.Invalid, deviceKey + ": timers.register.interval: is below the phone's range, which starts at 30 seconds"},
	{"render: a value that the file cannot carry", edit(deviceKey, `"zq7 label"`, `"%NULL%"`), 500, provision.Invalid, deviceKey + ": acme/acme.tmpl:6: is a reset token"},
	{"render: a template that refuses", file(goodMAC + ".stop"), 500, provision.Invalid, deviceKey + ": acme/stop.tmpl:2: the phone has no such thing"},
}

// blind are the outcomes of requests about which the store must not be asked. (A
// tenant that the operator has named as open is asked for.)
func blind(w *world, outcome string) bool {
	switch outcome {
	case provision.Method, provision.NoKey, provision.Malformed, provision.PlainHTTP, provision.Public:
		return true
	case provision.NotServed:
		return !strings.Contains(w.Target, "-local.cfg")
	case provision.BadToken:
		return !slices.Contains(strings.Split(w.Fact("open"), ","), strings.Split(w.Target, "/")[1]) ||
			!strings.Contains(w.Target, "/open/")
	}
	return false
}

func TestGuards(t *testing.T) {
	for _, g := range guards {
		t.Run(g.check, func(t *testing.T) {
			w := newWorld()
			g.change(w)
			a := w.ask(t, provision.New(packs))
			if a.Status != g.status || a.audit("outcome") != g.outcome || a.audit("error") != g.error {
				t.Errorf("got %d %s %q, want %d %s %q", a.Status, a.audit("outcome"), a.audit("error"), g.status, g.outcome, g.error)
			}
			if blind(w, g.outcome) != (len(a.asked) == 0) {
				t.Errorf("asked the store for %q", a.asked)
			}
		})
	}
}

// All characters of a token count, the last ones too.
func TestEveryCharacterOfAToken(t *testing.T) {
	core := provision.New(packs)
	w := newWorld()
	good := w.Target
	first := strings.IndexByte(good[1:], '/') + 2
	for i := first; i < first+provision.TokenLength; i++ {
		for _, c := range []byte("abcdefghijklmnopqrstuvwxyz234567" + "A018_.-") {
			if good[i] == c {
				continue
			}
			w.Target = good[:i] + string(c) + good[i+1:]
			if a := w.ask(t, core); a.Status != 404 || a.audit("outcome") != provision.BadToken || len(a.asked) > 0 {
				t.Errorf("character %d is %q: %d %s, asked %q", i-first+1, c, a.Status, a.audit("outcome"), a.asked)
			}
		}
	}
}

// Headers and record of an answer, in full.
func TestAnswerInFull(t *testing.T) {
	brand := all(edit(deviceKey, `"generation"`, `"vendor":"brand","model":"B1","generation"`))
	for _, c := range []struct {
		name    string
		change  func(w *world)
		status  uint32
		headers []wire.Pair
		body    string
		audit   []string // names, with values where they are short
	}{
		{
			"a file", nothing, 200,
			headers("text/plain; charset=utf-8", "232"),
			"#!acme\nurl = https://zq7.example/p/demo/" + provision.Token(currentKey, "demo", goodMAC, generation) + "/\ncheckin = 1269\n" +
				"line.1.user = zq7-1001\nline.1.password = zq7password\nline.1.label = zq7 label\nline.1.server = zq7.example\nline.1.expires = 3402\nadmin = zq7admin\n",
			[]string{"tenant=demo", "mac=001565aabb01", "key=current", "vendor=acme", "file=config", "hash", "timers=checkin=76140 register.1=3402", "outcome=ok"},
		},
		{"of the vendor of the device", brand, 200, headers("application/x-brand", "3"), "23\n", []string{"tenant=demo", "mac=001565aabb01", "key=current", "vendor=brand", "file=config", "hash", "timers=checkin=82800 register.1=3402", "outcome=ok"}},
		{"without a token", open("lab", "lab"), 200, nil, "", []string{"tenant=lab", "mac=001565aabb01", "vendor=acme", "file=config", "hash", "timers=checkin=76140 register.1=3402", "outcome=ok"}},
		{"an uploaded log", method("PUT"), 405, append(headers("text/plain; charset=utf-8", "0"), wire.Pair{Name: "allow", Value: "GET, HEAD"}), "", []string{"outcome=method"}},
		{"a stranger", target(func(string) string { return "/admin.php" }), 404, headers("text/plain; charset=utf-8", "10"), "not found\n", []string{"outcome=malformed"}},
		{"plain HTTP", plain(""), 403, headers("text/plain; charset=utf-8", "0"), "", []string{"tenant=demo", "mac=001565aabb01", "outcome=plain-http"}},
		{"no key", keys(), 500, headers("text/plain; charset=utf-8", "6"), "error\n", []string{"outcome=no-key"}},
		{"no store", state(deviceKey, wire.Failed), 503, headers("text/plain; charset=utf-8", "6"), "error\n", []string{"tenant=demo", "mac=001565aabb01", "key=current", "outcome=store"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			a := w.ask(t, provision.New(packs))
			if a.Status != c.status || c.headers != nil && (!slices.Equal(a.Headers, c.headers) || string(a.Body) != c.body) {
				t.Errorf("got %d\n%v\n%s\nwant %d\n%v\n%s", a.Status, a.Headers, a.Body, c.status, c.headers, c.body)
			}
			var audit []string
			for _, p := range a.Audit {
				if p.Name == "hash" {
					audit = append(audit, "hash")
					if len(p.Value) != 16 || strings.Trim(p.Value, "0123456789abcdef") != "" {
						t.Errorf("hash %q", p.Value)
					}
					continue
				}
				audit = append(audit, p.Name+"="+p.Value)
			}
			if !slices.Equal(audit, c.audit) {
				t.Errorf("recorded\n%q, want\n%q", audit, c.audit)
			}
		})
	}
}

func headers(contentType, length string) []wire.Pair {
	return []wire.Pair{
		{Name: "content-type", Value: contentType}, {Name: "content-length", Value: length},
		{Name: "cache-control", Value: "no-store, no-transform"}, {Name: "x-content-type-options", Value: "nosniff"},
		{Name: "accept-ranges", Value: "none"},
	}
}

// The host's own answer for when there is no core is the core's 500.
func TestFailureIsTheSame(t *testing.T) {
	w := newWorld()
	w.Keys = nil
	a, failure := w.ask(t, provision.New(packs)), wire.Failure()
	if a.bytes() != string(wire.AppendResponse(nil, &failure)) {
		t.Errorf("the core's own is %+v", a.Response)
	}
}

// A host that has one of the documents is asked for the other alone.
func TestNeedsWhatIsMissing(t *testing.T) {
	for _, c := range []struct{ have, need []string }{
		{nil, []string{tenantKey, deviceKey}},
		{[]string{tenantKey}, []string{deviceKey}},
		{[]string{deviceKey}, []string{tenantKey}},
		{[]string{"tenant:lab", "device:demo:001565aabb02"}, []string{tenantKey, deviceKey}},
	} {
		w := newWorld()
		for _, key := range c.have {
			w.Documents = append(w.Documents, w.store[key])
		}
		status, out := provision.New(packs).Handle(wire.AppendRequest(nil, &w.Request))
		if need, err := wire.DecodeNeed(string(out), nil); status != wire.StatusNeed || err != nil || !slices.Equal(need, c.need) {
			t.Errorf("with %q: status %d, needs %q, %v", c.have, status, need, err)
		}
	}
}

func TestRotation(t *testing.T) {
	body := map[string]string{}
	hash := ""
	current, previous := provision.Token(currentKey, "demo", goodMAC, generation), provision.Token(previousKey, "demo", goodMAC, generation)
	for _, keys := range [][]string{{currentKey}, {currentKey, previousKey}} {
		for _, token := range []string{current, previous} {
			// Two instances, a day apart.
			for _, now := range []uint64{0, 1_800_000_000, 1_800_086_401, 1 << 63} {
				w := newWorld()
				w.Keys, w.Now = keys, now
				w.target("demo", token, goodMAC+".cfg")
				a := w.ask(t, provision.New(packs))
				if len(keys) == 1 && token == previous {
					if a.Status != 404 {
						t.Errorf("the previous token alone: %d", a.Status)
					}
					continue
				}
				which := "current"
				if token == previous {
					which = "previous"
				}
				if a.Status != 200 || a.audit("key") != which {
					t.Fatalf("%d %v", a.Status, a.Audit)
				}
				body[string(a.Body)] = token
				if hash == "" {
					hash = a.audit("hash")
				}
				if a.audit("hash") != hash {
					t.Errorf("hash %s, not %s", a.audit("hash"), hash)
				}
			}
		}
	}
	if len(body) != 1 {
		t.Fatalf("%d different files", len(body))
	}
	for b := range body {
		if !strings.Contains(b, "https://zq7.example/p/demo/"+current+"/\n") || strings.Contains(b, previous) {
			t.Errorf("the URL is not that of the current key:\n%s", b)
		}
	}
}

// Two keys may share their character; then both are tried.
func TestKeysWithTheSameCharacter(t *testing.T) {
	other := ""
	for i := 0; other == ""; i++ {
		if k := strings.Repeat("o", provision.MinKey) + strings.Repeat("x", i); provision.KeyID(k) == provision.KeyID(currentKey) {
			other = k
		}
	}
	for _, key := range []string{currentKey, other} {
		w := newWorld()
		w.Keys = []string{other, currentKey}
		w.target("demo", provision.Token(key, "demo", goodMAC, generation), goodMAC+".cfg")
		if a := w.ask(t, provision.New(packs)); a.Status != 200 {
			t.Errorf("%d %v", a.Status, a.Audit)
		}
	}
}

// The hash in the log is no oracle for the values of the file: it is keyed.
func TestHashIsKeyed(t *testing.T) {
	seen := map[string]bool{}
	brand := edit(deviceKey, `"generation"`, `"vendor":"brand","model":"B1","generation"`)
	for _, change := range []func(*world){
		brand,
		all(brand, keys(strangeKey), token(strangeKey, "demo", goodMAC, generation)),
		all(brand, edit(deviceKey, `"generation":5`, `"generation":6`), token(currentKey, "demo", goodMAC, 6)),
	} {
		w := newWorld()
		change(w)
		a := w.ask(t, provision.New(packs))
		if string(a.Body) != "23\n" || seen[a.audit("hash")] {
			t.Errorf("%q has hash %s", a.Body, a.audit("hash"))
		}
		seen[a.audit("hash")] = true
	}
}

// What a phone says about itself is noted beside what its profile says, in words of
// the pack, and changes nothing.
func TestClaims(t *testing.T) {
	c := provision.New(packs)
	want := newWorld().ask(t, c)
	if want.Status != 200 || want.audit("agent-model") != "" || want.audit("differs") != "" {
		t.Fatalf("%d %q", want.Status, want.Audit)
	}
	for _, c := range []struct{ agent, model, firmware, differs string }{
		{"Acme D2 2.1 001565aabb01", "D2", "new", ""},
		{"ACME d2 2.1", "D2", "new", ""},
		{"Acme D2 1.9", "D2", "old", "firmware"},
		{"Acme D2 0.9", "D2", "unknown", "firmware"},
		{"Acme D2 zq7", "D2", "", ""},
		{"Acme D100 2.1", "D100", "new", "model"},
		{"Acme D100 1.0", "D100", "old", "model,firmware"},
		{"Acme zq7 2.1", "", "", ""},
		{"zq7", "", "", ""},
		{strings.Repeat("A", 256), "", "", ""},
	} {
		w := newWorld()
		w.fact("user-agent", c.agent)
		a := w.ask(t, provision.New(packs))
		if a.bytes() != want.bytes() {
			t.Errorf("%q changes the answer:\n%s", c.agent, a.bytes())
		}
		if a.audit("agent-model") != c.model || a.audit("agent-firmware") != c.firmware || a.audit("differs") != c.differs {
			t.Errorf("%q: %q", c.agent, a.Audit)
		}
	}
	// Another body by the profile's firmware, and not by what the phone says.
	w := newWorld()
	w.edit(deviceKey, `"generation":5`, `"generation":5,"firmware":"1.5"`)
	w.fact("user-agent", "Acme D2 2.1")
	if a := w.ask(t, c); !strings.HasPrefix(string(a.Body), "url = ") || a.audit("differs") != "firmware" {
		t.Errorf("%q %q", a.Body, a.Audit)
	}
}
