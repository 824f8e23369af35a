package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stagger/host/fleet"
	"stagger/host/inspect"
)

// good is a tenant that gives no cause for anything.
const good = `{"tenant":"t","url":"https://p.example","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}%s}`

const long = "Xq7LmW2Zx9KpTb"

func run(t testing.TB, text string, o Options) []string {
	t.Helper()
	r, err := Run("f", strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range r.Findings {
		list = append(list, strings.TrimPrefix(f.String(), "f:"))
	}
	return list
}

func TestFindings(t *testing.T) {
	tenant := func(more string) string { return fmt.Sprintf(good, more) + "\n" }
	line := func(more string) string {
		return `{"device":"001565aabb01","tenant":"t","lines":[{"user":"1001","password":"` + long + `"` + more + "}]}\n"
	}
	device := func(more string) string {
		return `{"device":"001565aabb01","tenant":"t","lines":[{"user":"1001","password":"` + long + `"}]` + more + "}\n"
	}
	timers := func(text string) string { return `,"timers":{` + text + `}` }
	second := strings.Replace(line(""), "bb01", "bb02", 1)
	const key = "2: warning: device:t:001565aabb01: "
	for name, c := range map[string]struct {
		text    string
		options Options
		want    []string
	}{
		"nothing": {text: "", want: nil},
		"good":    {text: tenant("") + line(""), want: nil},
		"open":    {text: tenant(`,"auth":"open"`), want: []string{"1: warning: tenant:t: auth: asks phones for nothing: who knows a MAC has its passwords (open-tenant)"}},
		"URLs": {
			text: strings.Replace(tenant(`,"phonebook":{"url":"http://SECRET.example/x"},"firmware_url":"tftp://SECRET.example/x"`), "https", "http", 1) +
				device(`,"firmware_url":"http://SECRET.example/x"`),
			want: []string{
				"1: warning: tenant:t: firmware_url: is not an https URL (plain-url)", "1: warning: tenant:t: phonebook.url: is not an https URL (plain-url)",
				"1: warning: tenant:t: url: is not an https URL (plain-url)", key + "firmware_url: is not an https URL (plain-url)",
			},
		},
		"few values": {
			text: tenant(timers(`"checkin":{"interval":3600,"window":600,"floor":60}`)) + line("") + second,
			want: []string{"1: warning: tenant:t: timers.checkin: the window of checkin has 10 values of 60 s, fewer than 30; of 2 devices (window-collapses)"},
		},
		"just enough": {text: tenant(timers(`"checkin":{"interval":3600,"window":1800,"floor":60}`)) + line(""), want: nil},
		"few of a device": {
			text: tenant("") + device(timers(`"subscribe":{"interval":3600,"window":29,"floor":60}`)) + second,
			want: []string{key + "timers.subscribe: the window of subscribe has 29 values of 1 s, fewer than 30 (window-collapses)"},
		},
		"two lines, one finding": {
			text: tenant(timers(`"register":{"interval":3600,"window":20,"floor":60}`)) +
				`{"device":"001565aabb01","tenant":"t","lines":[{"user":"1","password":"` + long + `"},{"user":"2","password":"` + long + "\"}]}\n",
			want: []string{"1: warning: tenant:t: timers.register: the window of register has 20 values of 1 s, fewer than 30; of 1 devices (window-collapses)"},
		},
		"fixed by the floor": {
			text: tenant(timers(`"register":{"interval":3600,"window":600,"floor":3600}`)) + line(""),
			want: []string{"1: warning: tenant:t: timers.register: register is not spread: the floor leaves one value; of 1 devices (not-spread)"},
		},
		"fixed by the window": {
			text: tenant(timers(`"checkin":{"window":60}`)) + line(""),
			want: []string{"1: warning: tenant:t: timers.checkin: checkin is not spread: the window has no two values of 60 s; of 1 devices (not-spread)"},
		},
		"a line's own interval": {
			text: tenant("") + `{"device":"001565aabb01","tenant":"t","lines":[{"index":2,"user":"1","password":"` + long + `","register":60}]}` + "\n",
			want: []string{key + "lines[0].register: register is not spread: the floor leaves one value (not-spread)"},
		},
		"the tenant's line": {
			text: strings.Replace(tenant(""), `"server"`, `"register":60,"server"`, 1) + line(""),
			want: []string{"1: warning: tenant:t: line.register: register is not spread: the floor leaves one value; of 1 devices (not-spread)"},
		},
		"registrar": {
			text: tenant("") + line("") + second, options: Options{RegistrarMin: 60, RegistrarMax: 1800},
			want: []string{"1: warning: tenant:t: timers.register: registrations are above the 1800 s that the registrar grants at most; of 2 devices (registrar-range)"},
		},
		"registrar's minimum": {
			text: tenant("") + line(`,"register":300`), options: Options{RegistrarMin: 900, RegistrarMax: 3600},
			want: []string{key + "lines[0].register: registrations are below the 900 s that the registrar grants at least (registrar-range)"},
		},
		"registrar is content": {text: tenant("") + line(""), options: Options{RegistrarMin: 3000, RegistrarMax: 3600}, want: nil},
		"secrets": {
			text: tenant(`,"admin_password":"SECRET1"`) +
				`{"device":"001565aabb01","tenant":"t","admin_password":"SECRETSECRET2","lines":[{"user":"SECRETSECRET1","password":"SECRETSECRET1"},{"user":"2","password":"secretsecret3","label":"My SECRETSECRET3 phone"},` +
				`{"user":"3","password":"SECRETS"},{"user":"4","password":"SECRETSECRET4","display_name":"xSECRETSECRET4"}],"keys":[{"type":"blf","value":"1","label":"SECRETSECRET2"}]}` + "\n",
			want: []string{
				"1: warning: tenant:t: admin_password: is shorter than 12 characters (short-secret)",
				key + "admin_password: is the same as keys[0].label (visible-secret)",
				key + "lines[0].password: is the same as lines[0].user (visible-secret)",
				key + "lines[1].password: is part of lines[1].label (visible-secret)",
				key + "lines[2].password: is part of lines[0].user (visible-secret)",
				key + "lines[3].password: is part of lines[3].display_name (visible-secret)",
				key + "lines[2].password: is shorter than 12 characters (short-secret)",
			},
		},
		"demands that no phone meets": {
			text: strings.Replace(tenant(`,"auth":"digest","client_cert":true`), "https", "http", 1) + device(`,"vendor":"snom","model":"D785"`) +
				strings.Replace(device(`,"vendor":"snom","model":"D785"`), "bb01", "bb02", 1) + strings.Replace(line(""), "bb01", "bb03", 1),
			want: []string{
				"1: warning: tenant:t: url: is not an https URL (plain-url)",
				"1: warning: tenant:t: auth: asks for digest, which phones of snom are not known to do; of 2 devices (unreachable)",
				"1: warning: tenant:t: client_cert: asks for a certificate, and the URL is without TLS, where there are none: every request is refused; of 3 devices (unreachable)",
				"1: warning: tenant:t: client_cert: asks for a certificate, and the issuer of those of snom is not known: every request is refused; of 2 devices (unreachable)",
			},
		},
		"demands that phones meet": {text: tenant(`,"auth":"digest","client_cert":true`) + line(""), want: nil},
		"settings without effect": {
			text: tenant(`,"timers":{"boot":20},"keys":[{"type":"line","pickup":"*8"}]`) +
				device(`,"vendor":"snom","model":"D785","extra":{"yealink":{"phone_setting.backlight_time":"60"},"SECRET":{"x":"y"}}`) +
				strings.Replace(device(`,"vendor":"snom","model":"D785","timers":{"boot":30},"keys":[{"type":"blf","value":"1","pickup":"*8"},{"type":"none","pickup":"*8"}]`), "bb01", "bb02", 1) +
				strings.Replace(device(`,"timers":{"boot":0,"checkin":{"at":"03:00"}}`), "bb01", "bb03", 1),
			want: []string{
				"1: warning: tenant:t: keys[0].pickup: is a pickup code of a key without a lamp: it has no effect; of 2 devices (unreachable)",
				"1: warning: tenant:t: timers.boot: phones of snom have no such delay: it has no effect; of 1 devices (unreachable)",
				key + "extra.*: is for phones of another vendor: it has no effect (unreachable)",
				key + "extra.yealink: is for phones of another vendor: it has no effect (unreachable)",
				"3: warning: device:t:001565aabb02: keys[1].pickup: is a pickup code of a key without a lamp: it has no effect (unreachable)",
				"3: warning: device:t:001565aabb02: timers.boot: phones of snom have no such delay: it has no effect (unreachable)",
				"4: warning: device:t:001565aabb03: timers.checkin.at: phones of yealink count an interval and do not look at a clock: it has no effect (unreachable)",
			},
		},
		"fields that a family has no setting for": {
			text: tenant(`,"ntp":["a.example","b.example"],"phonebook":{"url":"https://pbx.example/x.xml"},"time_zone":"Europe/Belgrade","codecs":["pcma"],"admin_password":"`+long+`x","firmware_url":"https://fw.example/x"`) +
				line("") + strings.Replace(device(`,"vendor":"snom","model":"D785"`), "bb01", "bb02", 1) +
				strings.Replace(device(`,"vendor":"panasonic","model":"KX-HDV130","phonebook":{"url":"https://pbx.example/y.xml"}`), "bb01", "bb03", 1) +
				strings.Replace(device(`,"vendor":"panasonic","model":"KX-HDV130","state":"staged"`), "bb01", "bb04", 1),
			want: []string{
				"1: warning: tenant:t: ntp[1]: has no effect on models of panasonic that are not known to have a setting for it; of 1 devices (unreachable)",
				"1: warning: tenant:t: ntp[1]: has no effect on models of snom that are not known to have a setting for it; of 1 devices (unreachable)",
				"1: note: tenant:t: staged devices: 1 (staged)",
				"4: warning: device:t:001565aabb03: phonebook: has no effect on models of panasonic that are not known to have a setting for it (unreachable)",
			},
		},
		"ports without effect": {
			text: strings.Replace(tenant(""), `"server"`, `"outbound_port":5062,"server"`, 1) + line("") + strings.Replace(line(`,"outbound_proxy":"sbc.example"`), "bb01", "bb02", 1) +
				strings.Replace(line(`,"outbound_proxy":"sbc.example","transport":"dns-naptr","port":5061`), "bb01", "bb03", 1) +
				strings.Replace(line(`,"outbound_port":5063`), "bb01", "bb04", 1),
			want: []string{
				"1: warning: tenant:t: line.outbound_port: is a port of an outbound proxy, and there is none: it has no effect; of 1 devices (unreachable)",
				"4: warning: device:t:001565aabb03: lines[0].port: is a port beside dns-naptr, where the DNS names the port (unreachable)",
				"5: warning: device:t:001565aabb04: lines[0].outbound_port: is a port of an outbound proxy, and there is none: it has no effect (unreachable)",
			},
		},
		"a rollout": {
			text: tenant(timers(`"checkin":{"window":7200}`)+`,"rollout":{"id":"w49","share":7000,"settings":{"url":"http://SECRET.example","admin_password":"SECRET","timers":{"checkin":{"window":60}},"keys":[{"type":"line","pickup":"*8"}]}}`) + line("") + second,
			want: []string{
				"1: warning: tenant:t: rollout.settings.timers.checkin: checkin is not spread: the window has no two values of 60 s; of 1 devices (not-spread)",
				"1: warning: tenant:t: rollout.settings.admin_password: is shorter than 12 characters (short-secret)",
				"1: warning: tenant:t: rollout.settings.url: is not an https URL (plain-url)",
				"1: warning: tenant:t: rollout.settings.keys[0].pickup: is a pickup code of a key without a lamp: it has no effect; of 1 devices (unreachable)",
				"1: note: tenant:t: rollout: w49 at 70%: 1 of 2 devices (rollout)",
			},
		},
		"a rollout that will be refused": {
			text: tenant(`,"rollout":{"id":"w49","share":0,"settings":{"model":"SECRET"}}`) + line("") + second,
			want: []string{
				"1: warning: tenant:t: rollout.settings.model: of the devices that it does not reach yet the core would refuse some: is not a model of this vendor; of 2 devices (rollout-refused)",
				"1: note: tenant:t: rollout: w49 at 0%: 0 of 2 devices (rollout)",
			},
		},
		"a rollout that is none": {
			text: tenant(`,"rollout":{"id":"w49"}`) + line(""),
			want: []string{"1: error: tenant:t: rollout.share: is required (refused)"},
		},
		"staged": {
			text: tenant("") + strings.Replace(device(`,"state":"staged"`), long, "SECRET", 1),
			want: []string{"1: note: tenant:t: staged devices: 1 (staged)", key + "lines[0].password: is shorter than 12 characters (short-secret)"},
		},
		"disabled": {text: tenant("") + strings.Replace(device(`,"state":"disabled"`), long, "SECRET", 1), want: nil},
		"refused": {
			text: tenant("") + device(`,"vendor":"SECRET"`) + strings.Replace(device(`,"model":"SECRET"`), "bb01", "bb02", 1) +
				strings.Replace(line(`,"port":99999`), "bb01", "bb03", 1) + strings.Replace(device(`,"keys":[{"type":"blf","index":400,"value":"1"}]`), "bb01", "bb04", 1),
			want: []string{
				"2: error: device:t:001565aabb01: vendor: is not a vendor that this version knows (refused)", "3: error: device:t:001565aabb02: model: is not a model of this vendor (refused)",
				"4: error: device:t:001565aabb03: lines[0].port: is not a whole number from 1 to 65535 (refused)", "5: error: device:t:001565aabb04: keys[0].index: is above the 27 keys of the model (refused)",
			},
		},
		"a bad tenant is said once": {
			text: `{"tenant":"t","url":"SECRET"}` + "\n" + line(""),
			want: []string{"1: error: tenant:t: url: is shorter than 8 bytes (refused)"},
		},
		"a device before its tenant, and one without": {
			text: line(`,"port":0`) + strings.NewReplacer("bb01", "bb02", `"t"`, `"nobody"`).Replace(line("")) + tenant(""),
			want: []string{"1: error: device:t:001565aabb01: lines[0].port: is not a whole number from 1 to 65535 (refused)", "2: error: device:nobody:001565aabb02: tenant: its tenant is not in the file (no-tenant)"},
		},
		"duplicates": {
			text: tenant("") + line("") + line(`,"port":0`) + tenant(`,"x":1`) + strings.Replace(line(""), `"t"`, `"u"`, 1),
			want: []string{"3: error: device:t:001565aabb01: the same device as on line 2 (duplicate)", "4: error: tenant:t: the same tenant as on line 1 (duplicate)", "5: error: device:u:001565aabb01: the same device as on line 2, there of another tenant (duplicate)"},
		},
		"lines that are nothing": {
			text: "SECRET\n" + tenant("") + "[\"SECRET\"]\n\n{\"tenant\":\"SECRET\xff\"}\n{}\n",
			want: []string{"1: error: not JSON, or more than one value on the line (not-a-document)", "3: error: not an object (not-a-document)", "5: error: not UTF-8 (not-a-document)", "6: error: tenant is missing (not-a-document)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, c.text, c.options)
			if name == "fixed by the window" || name == "secrets" {
				// The order of rules is not that of what is wrong.
				slices.Sort(got)
				slices.Sort(c.want)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if strings.Contains(strings.ToUpper(strings.Join(got, "")), "SECRETS") || strings.Contains(strings.Join(got, ""), "SECRET") {
				t.Error("a value is in a finding")
			}
		})
	}
}

// Every error of opening a fleet is one of validating it, on the same line, and
// there are no others.
func TestErrorsAreThoseOfOpen(t *testing.T) {
	text := fmt.Sprintf(good, "") + "\n" + `{"tenant":"x","url":"no"}` + "\n" + `{"tenant":"t"}` + "\nSECRET\n" + strings.Repeat("x", fleet.MaxLine+1) + "\n"
	for n, more := range []string{
		``, `,"lines":[]`, `,"lines":[{"user":"1"}]`, `,"lines":[{"user":"1","password":"p"}]`, `,"model":"T99"`, `,"time_zone":"Moon/Sea"`, `,"state":"staged"`, `,"timers":{"checkin":{"interval":1}}`, `,"device":"x"`,
		`,"extra":{"yealink":{"x":"y"}},"lines":[{"user":"1","password":"p"}]`, `,"unknown":1`, `,"codecs":["g722","g722"],"lines":[{"user":"1","password":"p"}]`, `,"state":"disabled"`,
	} {
		for _, tenant := range []string{"t", "x", "nobody"} {
			text += fmt.Sprintf(`{"device":"00156500%02x%02x","tenant":"%s"%s}`+"\n", n, len(tenant), tenant, more)
		}
	}
	text += `{"device":"001565000001","tenant":"u"}` + "\n"
	_, err := fleet.Read("f", strings.NewReader(text), inspect.Check)
	var all *fleet.Errors
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	var want, got []int
	for _, e := range all.List {
		want = append(want, e.Line)
	}
	r, err := Run("f", strings.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Level == Error {
			got = append(got, f.Line)
		}
	}
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("lines\n%v\nwant\n%v", got, want)
	}
}

func TestSARIF(t *testing.T) {
	text := "SECRET\n" + fmt.Sprintf(good, `,"auth":"open"`) + "\n"
	for file, uri := range map[string]string{"a b/fleet.jsonl": "a%20b/fleet.jsonl", "/srv/fleet.jsonl": "file:///srv/fleet.jsonl"} {
		r, err := Run(file, strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.SARIF(&b); err != nil {
			t.Fatal(err)
		}
		var s sarif
		d := json.NewDecoder(&b)
		d.DisallowUnknownFields()
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		run := s.Runs[0]
		if s.Version != "2.1.0" || len(s.Runs) != 1 || len(run.Results) != 2 || len(run.Tool.Driver.Rules) != len(Rules) || run.Tool.Driver.Name != "stagger" {
			t.Fatalf("%+v", s)
		}
		for i, want := range []struct{ rule, level, text, name string }{
			{"not-a-document", "error", "not JSON, or more than one value on the line", ""},
			{"open-tenant", "warning", "tenant:t: auth: asks phones for nothing: who knows a MAC has its passwords", "tenant:t#auth"},
		} {
			got := run.Results[i]
			at := got.Locations[0]
			if got.RuleID != want.rule || run.Tool.Driver.Rules[got.RuleIndex].ID != want.rule || got.Level != want.level || got.Message.Text != want.text ||
				at.Physical.Artifact.URI != uri || at.Physical.Region.StartLine != i+1 || want.name != "" && at.Logical[0].Name != want.name {
				t.Errorf("%+v", got)
			}
		}
	}
	// Without findings there are results all the same: none.
	r, _ := Run("f", strings.NewReader(""), Options{})
	var b bytes.Buffer
	if err := r.SARIF(&b); err != nil || !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

// Many devices, on all processors: one finding, every device counted, in order.
func TestMany(t *testing.T) {
	var b strings.Builder
	b.WriteString(fmt.Sprintf(good, `,"timers":{"checkin":{"interval":3600,"window":600,"floor":60}}`) + "\n")
	for n := range 2345 {
		fmt.Fprintf(&b, `{"device":"00156500%04x","tenant":"t","lines":[{"user":"x","password":"%s"}]}`+"\n", n, []string{long, "SECRET"}[btoi(n%1000 == 999)])
	}
	shares := 0
	got := run(t, b.String(), Options{Show: func(share float64) {
		if shares++; share < 0 || share > 1 {
			t.Error(share)
		}
	}})
	if len(got) != 3 || !strings.HasSuffix(got[0], "of 2345 devices (window-collapses)") || !strings.HasPrefix(got[1], "1001: ") || !strings.HasPrefix(got[2], "2001: ") || shares == 0 {
		t.Errorf("%d shares, %q", shares, got)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Each rule has a test above, and a name that does not change by accident.
func TestRules(t *testing.T) {
	for _, r := range Rules {
		if RuleOf(r.ID) < 0 || !slices.Contains([]string{Error, Warning, Note}, r.Level) || !strings.HasSuffix(r.Text, ".") {
			t.Errorf("%+v", r)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	var text strings.Builder
	text.WriteString(fmt.Sprintf(good, "") + "\n")
	for n := range 10000 {
		fmt.Fprintf(&text, `{"device":"00156500%04x","tenant":"t","lines":[{"user":"1","password":"%s"}]}`+"\n", n, long)
	}
	for b.Loop() {
		if _, err := Run("f", strings.NewReader(text.String()), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
