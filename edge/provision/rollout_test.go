package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"stagger/edge/provision"
	"stagger/edge/spread"
)

// withRollout puts a rollout into the tenant's document.
func withRollout(share uint64, settings string) func(w *world) {
	return edit(tenantKey, `{"tenant"`, fmt.Sprintf(`{"rollout":{"id":"w49","share":%d,"settings":{%s}},"tenant"`, share, settings))
}

// The device of goodMAC is in the cohort at shares above its place. Outside every
// answer is that of a tenant without a rollout but for one word in the record;
// inside it is that of a tenant that says itself what the rollout says.
func TestRolloutIsOfTheCohortAlone(t *testing.T) {
	place := spread.CohortOf(goodMAC, "w49").Place
	core := provision.New(packs)
	for settings, own := range map[string]func(w *world){
		`"timers":{"checkin":{"interval":7200}}`: edit(tenantKey, `"vendor"`, `"timers":{"checkin":{"interval":7200}},"vendor"`),
		`"line":{"server":"other.example"}`:      edit(tenantKey, `"line":{"server":"zq7.example"}`, `"line":{"server":"other.example"}`),
		`"url":"https://other.example"`:          edit(tenantKey, `https://zq7.example/p/`, `https://other.example`),
		`"place":"modulo-1"`:                     edit(tenantKey, `"vendor"`, `"place":"modulo-1","vendor"`),
		`"template":{"acme":"new"}`:              edit(tenantKey, `"vendor"`, `"template":{"acme":"new"},"vendor"`),
		`"state":"disabled"`:                     edit(tenantKey, `"vendor"`, `"state":"disabled","vendor"`),
		`"state":"staged"`:                       edit(tenantKey, `"vendor"`, `"state":"staged","vendor"`),
		`"model":"D3"`:                           edit(tenantKey, `"D2"`, `"D3"`),
		`"vendor":"brand","model":"B1"`:          edit(tenantKey, `"vendor":"acme","model":"D2"`, `"vendor":"brand","model":"B1"`),
	} {
		for _, share := range []uint64{0, place, place + 1, spread.Shares} {
			got, want := newWorld(), newWorld()
			withRollout(share, settings)(got)
			cohort := "w49 out"
			if share > place {
				own(want)
				cohort = "w49 in"
			}
			g, w := got.ask(t, core), want.ask(t, core)
			if g.bytes() != w.bytes() || g.audit("outcome") != w.audit("outcome") || g.audit("error") != w.audit("error") {
				t.Errorf("%s at %d: %d %s\n%s, want %d\n%s", settings, share, g.Status, g.audit("error"), g.Body, w.Status, w.Body)
			}
			if g.audit("cohort") != cohort || w.audit("cohort") != "" {
				t.Errorf("%s at %d: the record says %q, and without a rollout %q", settings, share, g.audit("cohort"), w.audit("cohort"))
			}
			if settings == `"state":"disabled"` && g.Status != 404 && share > place {
				t.Errorf("a disabled device got %d", g.Status)
			}
		}
	}
}

// Who has not proven to be a device is told and written down nothing of a rollout.
func TestRolloutIsNoOracle(t *testing.T) {
	core := provision.New(packs)
	for name, change := range map[string]func(w *world){
		"wrong token":    token(strangeKey, "demo", goodMAC, generation),
		"unknown device": func(w *world) { delete(w.store, deviceKey) },
	} {
		for _, share := range []uint64{0, spread.Shares} {
			got, want := newWorld(), newWorld()
			withRollout(share, `"state":"staged"`)(got)
			change(got)
			change(want)
			g, w := got.ask(t, core), want.ask(t, core)
			if g.Status != 404 || g.bytes() != w.bytes() || g.audit("cohort") != "" {
				t.Errorf("%s: %d, cohort %q", name, g.Status, g.audit("cohort"))
			}
		}
	}
}

// With every refusal that a rollout can cause the device stays without a file, and
// the record says where in the document.
func TestRolloutRefused(t *testing.T) {
	w := newWorld()
	withRollout(spread.Shares, `"template":{"acme":"newer"}`)(w)
	a := w.ask(t, provision.New(packs))
	if a.Status != 500 || !strings.HasSuffix(a.audit("error"), "template.acme: is not a version of this vendor's templates") {
		t.Errorf("%d %s", a.Status, a.audit("error"))
	}
	w = newWorld()
	w.edit(tenantKey, `{"tenant"`, `{"rollout":{"id":"w49","settings":{}},"tenant"`)
	if a := w.ask(t, provision.New(packs)); a.Status != 500 || a.audit("error") != "tenant:demo: rollout.share: is required" {
		t.Errorf("%d %s", a.Status, a.audit("error"))
	}
}
