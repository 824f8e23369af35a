package profile

import (
	"fmt"
	"strings"
	"testing"

	"stagger/edge/profile/cases"
	"stagger/edge/record"
	"stagger/edge/spread"
)

// rollout is a tenant with these fields of its own, and a rollout of others.
func rollout(own string, share int, settings string) string {
	return cases.TenantWith(strings.TrimSuffix(fmt.Sprintf(`"rollout":{"id":"w49","share":%d,"settings":{%s}},%s`, share, settings, own), ","))
}

const rolloutMAC = "001565aabb01" // of cases.DeviceWith

// underRollout is what a rollout makes of the document of a tenant, for one device.
func underRollout(t testing.TB, document, mac string) (record.Record, Cohort) {
	t.Helper()
	b := Builder{Arena: record.NewArena(512)}
	return b.Rollout(mustParse(t, cases.Tenant, document), mac)
}

// Defaults < tenant < rollout < device, for every field that a rollout can set: a
// device in the cohort is built as if its tenant said what the rollout says, and one
// outside as if there were no rollout.
func TestRolloutPrecedence(t *testing.T) {
	values := map[string][2]string{"place": {`"jump-1"`, `"modulo-1"`}, "url": {`"https://a/"`, `"https://b/"`}}
	for path, pair := range two {
		values[path] = pair
	}
	for path, pair := range twoOfALine {
		values["line."+path] = pair
	}
	tested := 0
	leaves("", tenantSettings, func(path string, f *record.Field) {
		pair, ok := values[path]
		if !ok {
			t.Errorf("no values for %s", path)
			return
		}
		tested++
		first, second := nest(path, pair[0]), nest(path, pair[1])
		for _, c := range []struct{ name, tenant, rollout, want string }{
			{"rollout only", "", second, second},
			{"tenant only", first, "", first},
			{"both", first, second, second},
			{"both, the other way", second, first, first},
		} {
			in, cohort := underRollout(t, rollout(c.tenant, spread.Shares, c.rollout), rolloutMAC)
			if !cohort.In {
				t.Fatal("not in the cohort")
			}
			want := mustParse(t, cases.Tenant, cases.TenantWith(c.want))
			got := at(Tenant.Fields, in, path)
			if f.Kind == record.Map {
				// Of two entries of one name the first counts.
				got.List = got.List[:1]
			}
			if show(got) != show(at(Tenant.Fields, want, path)) {
				t.Errorf("%s, %s: %s, want %s", path, c.name, show(got), show(at(Tenant.Fields, want, path)))
			}
			out, cohort := underRollout(t, rollout(c.tenant, 0, c.rollout), rolloutMAC)
			if cohort.In || show(at(Tenant.Fields, out, path)) != show(at(Tenant.Fields, mustParse(t, cases.Tenant, cases.TenantWith(c.tenant)), path)) {
				t.Errorf("%s, %s: outside of the cohort it is %s", path, c.name, show(at(Tenant.Fields, out, path)))
			}
		}
	})
	if tested != len(values) {
		t.Errorf("%d fields, %d pairs of values", tested, len(values))
	}
}

// A phone in the cohort is the phone of a tenant that says itself what the rollout
// says, and a device's own word still comes first.
func TestRolloutBuilds(t *testing.T) {
	own := `"vendor":"acme","model":"D2","line":{"server":"a.example","port":5070},"timers":{"checkin":{"interval":7200,"window":600,"floor":60},"boot":7},"extra":{"acme":{"screen.a":"1","screen.b":"1"}},"template":{"acme":"old"}`
	settings := `"model":"D4","line":{"server":"b.example"},"timers":{"checkin":{"window":1200}},"extra":{"acme":{"screen.b":"2","screen.c":"2"}},"template":{"acme":"new"},"place":"modulo-1"`
	folded := `"vendor":"acme","model":"D4","line":{"server":"b.example","port":5070},"timers":{"checkin":{"interval":7200,"window":1200,"floor":60},"boot":7},"extra":{"acme":{"screen.b":"2","screen.c":"2","screen.a":"1"}},"template":{"acme":"new"},"place":"modulo-1"`
	for _, device := range []string{
		active(""),
		active(`"model":"D2","timers":{"checkin":{"floor":120}},"extra":{"acme":{"screen.c":"3"}},"template":{"acme":"old"}`),
		cases.DeviceWith(`"state":"staged"`),
		cases.LineWith(`"server":"c.example","register":1000`),
	} {
		build := func(tenant string) string {
			b := Builder{Arena: record.NewArena(512)}
			document, _ := b.Rollout(mustParse(t, cases.Tenant, tenant), rolloutMAC)
			before := show(record.Value{Set: true, List: []record.Record{document}})
			phone, err := b.Build(document, mustParse(t, cases.Device, device), acme, phoneURL)
			if err != nil {
				t.Fatal(err)
			}
			if after := show(record.Value{Set: true, List: []record.Record{document}}); before != after {
				t.Error("the tenant's document was changed")
			}
			phone[ExtraField], phone[TemplateField] = record.Value{}, record.Value{} // as stored; what became of them is elsewhere
			return fmt.Sprint(show(record.Value{Set: true, List: []record.Record{phone}}), b.Timers, b.Template)
		}
		for share, want := range map[int]string{0: cases.TenantWith(own), spread.Shares: cases.TenantWith(folded)} {
			if got, want := build(rollout(own, share, settings)), build(want); got != want {
				t.Errorf("share %d, %s:\n%s, want\n%s", share, device, got, want)
			}
		}
	}
}

// Raising the share never moves anybody back, and reaches everybody once.
func TestRolloutOnlyGrows(t *testing.T) {
	const devices = 2000
	in := make([]bool, devices)
	for share := 0; share <= spread.Shares; share += 125 {
		tenant, count := mustParse(t, cases.Tenant, rollout("", share, "")), 0
		b := Builder{Arena: record.NewArena(512)}
		for i := range devices {
			_, c := b.Rollout(tenant, fmt.Sprintf("001565%06x", i))
			if in[i] && !c.In {
				t.Fatalf("device %d left the cohort at %d", i, share)
			}
			if in[i] = c.In; c.In {
				count++
			}
			b.Arena.Reset()
		}
		want := devices * share / spread.Shares
		if share == 0 && count != 0 || share == spread.Shares && count != devices || count < want-150 || count > want+150 {
			t.Errorf("share %d: %d of %d devices", share, count, devices)
		}
	}
}

func TestRolloutRefuses(t *testing.T) {
	b := Builder{Arena: record.NewArena(512)}
	for settings, want := range map[string]string{
		`"template":{"acme":"newer"}`:           "template.acme: is not a version of this vendor's templates",
		`"model":"D9"`:                          "model: is not a model of this vendor",
		`"timers":{"checkin":{"interval":60}}`:  "timers.checkin.interval: is below the phone's range, which starts at 120 seconds",
		`"extra":{"acme":{"screen.lock":"1"}}`:  "extra.acme.screen.lock: is not a setting that a profile may set",
		`"line":{"register":1},"vendor":"acme"`: "line.register: is below the phone's range, which starts at 30 seconds",
	} {
		for share, refused := range map[int]bool{0: false, spread.Shares: true} {
			tenant, _ := b.Rollout(mustParse(t, cases.Tenant, rollout(`"model":"D2","line":{"server":"a"}`, share, settings)), rolloutMAC)
			_, err := b.Build(tenant, mustParse(t, cases.Device, active("")), acme, phoneURL)
			if (err != nil) != refused || refused && err.Error() != want {
				t.Errorf("share %d, %s: %v", share, settings, err)
			}
		}
	}
}

// A fleet without a rollout pays nothing for there being any.
func TestWithoutRolloutNothingIsAllocated(t *testing.T) {
	tenant := mustParse(t, cases.Tenant, base(""))
	b := Builder{Arena: record.NewArena(512)}
	free := testing.AllocsPerRun(100, func() {
		same, c := b.Rollout(tenant, rolloutMAC)
		if &same[0] != &tenant[0] || c != (Cohort{}) {
			t.Error("another document")
		}
	})
	if free != 0 {
		t.Errorf("%v allocations", free)
	}
}
