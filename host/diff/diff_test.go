package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"stagger/edge/pack/source"
	"stagger/edge/provision"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/generate"
	"stagger/vendors"
)

var key = strings.Repeat("current.", 4)

func packs(t testing.TB) []*source.Descriptor {
	t.Helper()
	all, err := source.Descriptors(vendors.Descriptors)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func options(t testing.TB, old, new string) Options {
	t.Helper()
	o := Options{SameCore: true, Keys: []string{key}, Descriptors: packs(t), Packs: vendors.Packs, Show: 1000}
	for i, text := range []string{old, new} {
		x, err := fleet.Reader{}.Index("f", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		side := []*Side{&o.Old, &o.New}[i]
		*side = Side{x, engine.NewNative(0)}
	}
	return o
}

func run(t testing.TB, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tell is a report in one line for each thing that it says.
func tell(r *Report) string {
	var b strings.Builder
	for _, vendor := range slices.Sorted(maps.Keys(r.Vendors)) {
		for e, n := range r.Vendors[vendor] {
			if n > 0 {
				fmt.Fprintf(&b, "%s: %d %s\n", vendor, n, Effect(e))
			}
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %d from %s: %s\n", n.Devices, n.First, n.Text)
	}
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "%s %s %s: %d devices, %d+%d-%d: %s>%s\n", p.Effect, p.File, p.Name, p.Devices, p.Changed, p.Added, p.Removed, text(p.Example.Old), text(p.Example.New))
	}
	if l := r.Reboots.Load(); l.Devices > 0 {
		fmt.Fprintf(&b, "reboots: %d REGISTER, %d SUBSCRIBE\n", l.Registers, l.Subscribes)
	}
	return b.String()
}

const (
	tenantText = `{"tenant":"demo","url":"https://p.example","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}}`
	phone1     = `{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1001","password":"SECRET1"},{"user":"1002","password":"SECRET2"}],"keys":[{"type":"line"},{"type":"blf","value":"7"},{"type":"park","value":"8"}]}`
	phone2     = `{"device":"001565aabb02","tenant":"demo","lines":[{"user":"1003","password":"SECRET3"}]}`
	otherText  = `{"tenant":"other","url":"https://p.example","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}}`
)

// TestEffects has one change for each thing that can happen to a phone.
func TestEffects(t *testing.T) {
	whole := strings.Join([]string{tenantText, otherText, phone1, phone2}, "\n")
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(whole) }
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", whole, whole, "yealink: 2 unchanged\n"},
		{"order", whole, strings.Join([]string{phone2, phone1, otherText, tenantText}, "\n\n"), "yealink: 2 unchanged\n"},
		{"another text of the same", whole, with(`"user":"1001"`, `"user":  "1001"`), "yealink: 2 unchanged\n"},
		{"live", whole, with(`"user":"1001"`, `"user":"1009"`), `yealink: 1 unchanged
yealink: 1 live
live config account.*.auth_name: 1 devices, 1+0-0: 1001>1009
live config account.*.display_name: 1 devices, 1+0-0: 1001>1009
live config account.*.label: 1 devices, 1+0-0: 1001>1009
live config account.*.user_name: 1 devices, 1+0-0: 1001>1009
live config linekey.*.label: 1 devices, 1+0-0: 1001>1009
`},
		{"the tenant's", whole, with(`"line":{"server":"pbx.example"}}`, `"timers":{"boot":30},"line":{"server":"pbx.example"}}`), `yealink: 2 reboot
reboot config sip.reg_surge_prevention: 2 devices, 2+0-0: 0>30
reboots: 3 REGISTER, 2 SUBSCRIBE
`},
		{"parameters come and go", with(`"model":"T46U"`, `"model":"T46U","ntp":["a.example"]`), with(`"model":"T46U"`, `"model":"T46U","language":"de"`), `yealink: 2 live
live config lang.gui: 2 devices, 0+2-0: ->German
live config lang.wui: 2 devices, 0+2-0: ->German
live config local_time.manual_ntp_srv_prior: 2 devices, 0+0-2: 1>-
live config local_time.ntp_server*: 2 devices, 0+0-2: a.example>-
`},
		{"added and removed", whole, with("aabb02", "aabb03"), "yealink: 1 unchanged\nyealink: 1 added\nyealink: 1 removed\n"},
		{"refused", whole, with(`"user":"1003"`, `"user":"10 03"`), "yealink: 1 unchanged\nyealink: 1 refused\nnote: 1 from 001565aabb02: gets no file any more: invalid: lines[0].user: is not a SIP user\n"},
		{"disabled", whole, with(`"device":"001565aabb02"`, `"device":"001565aabb02","state":"disabled"`), "yealink: 1 unchanged\nyealink: 1 refused\nnote: 1 from 001565aabb02: gets no file any more: disabled\n"},
		{"accepted", with(`"user":"1003"`, `"user":"10 03"`), whole, "yealink: 1 unchanged\nyealink: 1 accepted\nnote: 1 from 001565aabb02: got no file: invalid: lines[0].user: is not a SIP user\n"},
		{"refused twice", with(`"user":"1003"`, `"user":"10 03"`), with(`"user":"1003"`, `"user":"10 04"`), "yealink: 2 unchanged\n"},
		{"revoked", whole, with(`"device":"001565aabb02"`, `"device":"001565aabb02","generation":1`),
			"yealink: 1 unchanged\nyealink: 1 cut-off\nnote: 1 from 001565aabb02: gets another provisioning URL\nnote: 1 from 001565aabb02: is of another generation: its URL is revoked\n"},
		{"moved", whole, with(phone2, strings.Replace(phone2, "demo", "other", 1)),
			"yealink: 1 unchanged\nyealink: 1 cut-off\nnote: 1 from 001565aabb02: gets another provisioning URL\nnote: 1 from 001565aabb02: is of another tenant: its URL is not good any more\n"},
		{"another host", whole, with(`"tenant":"demo","url":"https://p.example"`, `"tenant":"demo","url":"https://q.example/"`), `yealink: 2 live
note: 2 from 001565aabb01: gets another provisioning URL
live config static.auto_provision.server.url: 2 devices, 2+0-0: https://p.example/demo/(hidden)/>https://q.example/demo/(hidden)/
`},
		{"a password is asked for", whole, with(`"tenant":"demo","url"`, `"tenant":"demo","auth":"digest","url"`),
			"yealink: 2 cut-off\nnote: 2 from 001565aabb01: has to show a password that it does not have\n"},
		{"and is no more", with(`"tenant":"demo","url"`, `"tenant":"demo","auth":"basic","url"`), with(`"tenant":"demo","url"`, `"tenant":"demo","client_cert":true,"url"`), `yealink: 2 live
note: 2 from 001565aabb01: has to show its factory certificate
live config static.auto_provision.server.password: 2 devices, 0+0-2: (hidden)>-
live config static.auto_provision.server.username: 2 devices, 0+0-2: 001565aabb01>-
`},
		{"basic or digest", with(`"tenant":"demo","url"`, `"tenant":"demo","auth":"basic","client_cert":true,"url"`), with(`"tenant":"demo","url"`, `"tenant":"demo","auth":"digest","client_cert":true,"url"`), "yealink: 2 unchanged\n"},
		{"open no more", with(`"tenant":"demo","url"`, `"tenant":"demo","auth":"open","url"`), whole,
			"yealink: 2 cut-off\nnote: 2 from 001565aabb01: gets another provisioning URL\nnote: 2 from 001565aabb01: needs a URL with a token, and has one without\n"},
		{"another vendor", whole, with(`"device":"001565aabb02"`, `"device":"001565aabb02","vendor":"nobody"`), `nobody: 1 refused
yealink: 1 unchanged
note: 1 from 001565aabb02: gets no file any more: vendor: is not a vendor that this version knows
`},
		{"nobody knows", with("yealink", "snom", "T46U", "D785"), with("yealink", "snom", "T46U", "D785", `"user":"1003"`, `"user":"1003","voicemail":"*97"`), `snom: 1 unchanged
snom: 1 unverified
unverified config phone-settings/user_mailbox[*]: 1 devices, 1+0-0: >*97
`},
		{"a rollout", whole, with(`"line":{"server":"pbx.example"}}`, `"rollout":{"id":"a","share":10000,"settings":{"url":"https://q.example","line":{"voicemail":"*97"}}},"line":{"server":"pbx.example"}}`), `yealink: 2 live
note: 2 from 001565aabb01: gets another provisioning URL
live config static.auto_provision.server.url: 2 devices, 2+0-0: https://p.example/demo/(hidden)/>https://q.example/demo/(hidden)/
live config voice_mail.number.*: 2 devices, 3+0-0: %NULL%>*97
`},
		{"a rollout to nobody", whole, with(`"line":{"server":"pbx.example"}}`, `"rollout":{"id":"a","share":0,"settings":{"url":"https://q.example"}},"line":{"server":"pbx.example"}}`), "yealink: 2 unchanged\n"},
	} {
		o := options(t, c.old, c.new)
		got := tell(run(t, o))
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if strings.Contains(got, "SECRET") {
			t.Errorf("%s tells a secret:\n%s", c.name, got)
		}
		// Rendering all the same must not change a word.
		o = options(t, c.old, c.new)
		o.SameCore = false
		if again := tell(run(t, o)); again != got {
			t.Errorf("%s: rendered:\n%s\nand where documents are the same not:\n%s", c.name, again, got)
		}
	}
}

// made is a fleet of all vendors.
func made(t testing.TB, devices, tenants int, seed uint64) string {
	t.Helper()
	var b strings.Builder
	if err := generate.Write(&b, packs(t), generate.Options{Devices: devices, Tenants: tenants, Seed: seed, URL: "https://prov.example.com"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var passwords = regexp.MustCompile(`"((?:admin_)?password)":"([^"]*)"`)

// changed is a fleet with other passwords, a longer generation now and then, and what
// changes every file: another server, and a URL with something in it that lets in.
func changed(text string) string {
	n := 0
	text = passwords.ReplaceAllStringFunc(text, func(s string) string {
		n++
		m := passwords.FindStringSubmatch(s)
		// Long, short, and of characters that some formats escape.
		other := []string{fmt.Sprintf("Zq%dxYw7Kp3Vn9", n), fmt.Sprint(n%10, "q"), fmt.Sprintf("p<%d>&'s", n)}[n%3]
		return fmt.Sprintf(`"%s":"%s"`, m[1], other)
	})
	text = strings.ReplaceAll(text, `/phonebook.xml"`, `/phonebook.xml?key=Book77Key"`)
	text = strings.ReplaceAll(text, `"vendor":"yealink","model":"T4`, `"generation":2,"vendor":"yealink","model":"T4`)
	return strings.ReplaceAll(text, `"server":"pbx.`, `"server":"sbc.`)
}

// TestSecrets gives every phone other secrets, and looks for any of them in everything
// that a report has.
func TestSecrets(t *testing.T) {
	old := made(t, 500, 8, 5)
	new := changed(old)
	o := options(t, old, new)
	r := run(t, o)
	if r.Total[Live]+r.Total[Unverified]+r.Total[Reboot] < 250 || r.Total[CutOff] == 0 || len(r.First) < 250 {
		t.Fatalf("%v: the property is empty", r.Total)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(data)
	hidden := strings.Count(shown, Hidden)
	if hidden < 700 || !strings.Contains(shown, "sbc.") || !strings.Contains(shown, "phonebook.xml?(hidden)") {
		t.Errorf("%d values are hidden", hidden)
	}
	// Values alone: a short password is also a part of a MAC or of a name.
	var values []string
	for _, d := range r.First {
		for _, c := range d.Changes {
			for _, v := range []*string{c.Old, c.New} {
				if v != nil {
					values = append(values, *v)
				}
			}
		}
	}
	for _, p := range r.Parameters {
		for _, v := range []*string{p.Example.Old, p.Example.New} {
			if v != nil {
				values = append(values, *v)
			}
		}
	}
	all := strings.Join(values, "\n")
	if strings.Contains(shown, "Book77Key") {
		t.Error("what stands behind the ? of a URL is shown")
	}
	for _, text := range []string{old, new} {
		for _, m := range passwords.FindAllStringSubmatch(text, -1) {
			if secret := m[2]; len(secret) > 6 && strings.Contains(all, secret) {
				t.Fatalf("the secret %q is shown", secret)
			}
		}
		for line := range strings.Lines(text) {
			d := gjson.Parse(line)
			mac, tenant, generation := d.Get("device").Str, d.Get("tenant").Str, d.Get("generation").Int()
			if mac == "" {
				continue
			}
			for _, secret := range []string{provision.Token(key, tenant, mac, generation), provision.Password(key, tenant, mac, generation)} {
				if strings.Contains(shown, secret) {
					t.Fatalf("%s: %q is shown", mac, secret)
				}
			}
		}
	}
	// Each device by itself, with its own secrets, however short they are.
	byMAC := map[string][]string{}
	for _, text := range []string{old, new} {
		for line := range strings.Lines(text) {
			d := gjson.Parse(line)
			for _, m := range passwords.FindAllStringSubmatch(line, -1) {
				byMAC[d.Get("device").Str] = append(byMAC[d.Get("device").Str], m[2])
			}
		}
	}
	for _, d := range r.First {
		for _, c := range d.Changes {
			for _, v := range []*string{c.Old, c.New} {
				for _, secret := range byMAC[d.MAC] {
					if v != nil && strings.Contains(*v, secret) && *v != Hidden {
						t.Fatalf("%s: %s = %q has the secret %q", d.MAC, c.Path, *v, secret)
					}
				}
			}
		}
	}
}

// TestWhole compares fleets of all vendors. What a report says does not depend on the
// order of a file, on the number of processors, or on what was left out as the same.
func TestWhole(t *testing.T) {
	old := made(t, 400, 5, 8)
	new := strings.ReplaceAll(old, `"voicemail":"*97"`, `"voicemail":"*98"`)
	o := options(t, old, new)
	o.Show = 5
	want := run(t, o)
	if want.Total.Changed() < 300 || len(want.First) != 5 || len(want.Vendors) != len(vendors.Packs) {
		t.Fatalf("%v", want.Total)
	}
	for _, p := range want.Parameters {
		if p.Example.Old == nil || strings.Replace(*p.Example.Old, "*97", "*98", 1) != *p.Example.New {
			t.Errorf("%s %s changes too: %v", p.Vendor, p.Name, p.Example)
		}
	}
	lines := strings.SplitAfter(strings.TrimSuffix(new, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	slices.Reverse(lines)
	other := options(t, old, strings.Join(lines, ""))
	other.Show, other.SameCore = 5, false
	was := runtime.GOMAXPROCS(1)
	got := run(t, other)
	runtime.GOMAXPROCS(was)
	if a, b := tell(got), tell(want); a != b || !reflect.DeepEqual(got.First, want.First) || !reflect.DeepEqual(got.Reboots, want.Reboots) {
		t.Errorf("in another order and on one processor:\n%s\nwant\n%s", a, b)
	}
}

// The module that the edge runs and the core in this program are different code, and
// give the same files.
func TestModule(t *testing.T) {
	module, err := os.ReadFile("../../build/out/edge.wasm")
	if err != nil {
		t.Fatal(err)
	}
	text := made(t, 150, 2, 2)
	o := options(t, text, text)
	o.SameCore = false
	if o.New.Core, err = engine.NewWasm(t.Context(), module, engine.WasmOptions{}); err != nil {
		t.Fatal(err)
	}
	defer o.New.Core.Close(t.Context())
	if r := run(t, o); r.Total[Unchanged] != 150 {
		t.Errorf("%s", tell(r))
	}
}

// An old core that has another form of a file, or another one of a vendor's files.
func TestStrangeFiles(t *testing.T) {
	o := options(t, tenantText+"\n"+phone2, tenantText+"\n"+phone2)
	c := &comparison{Options: o, vendors: map[string]*vendor{"yealink": {&vendors.Packs[0], "keyvalue", newRules(nil)}}}
	w := newWorker(c)
	p := func(files map[string]string) *phone {
		return &phone{tenant: &tenant{id: "demo"}, device: device{vendor: "yealink"}, mac: "001565aabb02", files: files}
	}
	for _, test := range []struct {
		old, new map[string]string
		want     string
	}{
		{map[string]string{"a": "x = 1\n"}, map[string]string{"a": "x = 1\n"}, ""},
		{map[string]string{"a": "x = 1\ny = 2\n"}, map[string]string{"a": "y = 2\nx = 1\n"}, "a: unverified - -"},
		{map[string]string{"a": "x = 1\n"}, map[string]string{"a": "nonsense"}, "a: unverified - -"},
		{map[string]string{"a": "x = 1\n"}, map[string]string{"b": "x = 1\n"}, "a:x unverified 1 -, b:x unverified - 1"},
	} {
		var got []string
		for _, c := range w.changes(p(test.old), p(test.new)) {
			text := func(s *string) string {
				if s == nil {
					return "-"
				}
				return *s
			}
			got = append(got, fmt.Sprintf("%s:%s %s %s %s", c.File, c.Path, c.Effect, text(c.Old), text(c.New)))
		}
		if g := strings.Join(got, ", "); g != test.want {
			t.Errorf("%q, want %q", g, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	o := options(t, tenantText+"\n"+phone2, tenantText+"\n"+phone2)
	o.Packs = o.Packs[:1]
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no pack of") {
		t.Error(err)
	}
	// A file that ends too early while it is compared.
	text := made(t, 100, 1, 1)
	o = options(t, text, text)
	cut := strings.NewReader(text)
	x, err := fleet.Reader{}.Index("cut", cut)
	if err != nil {
		t.Fatal(err)
	}
	cut.Reset("")
	o.New.Fleet = x
	if _, err := Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "read cut: ") {
		t.Error(err)
	}
}

func BenchmarkRun(b *testing.B) {
	old := made(b, 3000, 12, 5)
	new := strings.ReplaceAll(old, `"voicemail":"*97"`, `"voicemail":"*98"`)
	for b.Loop() {
		o := options(b, old, new)
		o.Show = 0
		run(b, o)
	}
}
