package rollout

import (
	"strings"
	"testing"

	"stagger/edge/profile"
	"stagger/edge/profile/cases"
	"stagger/edge/record"
)

func TestDocument(t *testing.T) {
	const plain = `{ "tenant":"t",  "line": {"server" : "a.example"}, "extra":{"acme":{"a.b":"1"}} }`
	with := With(plain, Rollout{"w49", 150, `{"line":{"port":5070}}`})
	if want := `{"tenant":"t","line":{"server" : "a.example"},"extra":{"acme":{"a.b":"1"}},"rollout":{"id":"w49","share":150,"settings":{"line":{"port":5070}}}}`; with != want {
		t.Errorf("%s\nwant\n%s", with, want)
	}
	r, ok := Of(with)
	if !ok || r != (Rollout{"w49", 150, `{"line":{"port":5070}}`}) {
		t.Errorf("%+v", r)
	}
	if _, ok := Of(plain); ok {
		t.Error("a rollout where there is none")
	}
	if again := With(with, r); again != with {
		t.Errorf("with the same again it is %s", again)
	}
	if without := Without(with); strings.Contains(without, "rollout") || With(without, r) != with {
		t.Errorf("%s", without)
	}
	if folded := Fold(with); folded != `{"tenant":"t","line":{"server":"a.example","port":5070},"extra":{"acme":{"a.b":"1"}}}` {
		t.Errorf("%s", folded)
	}
	if Fold(plain) != plain {
		t.Errorf("%s", Fold(plain))
	}
}

// What Fold makes of a document is what the core makes of it for devices in the
// cohort: the same text as a document that was written so.
func TestFold(t *testing.T) {
	for name, c := range map[string]struct{ own, settings, want string }{
		"nothing":           {`"vendor":"acme"`, ``, `"vendor":"acme"`},
		"new":               {`"vendor":"acme"`, `"model":"D2"`, `"vendor":"acme","model":"D2"`},
		"replaced in place": {`"vendor":"acme","model":"D2"`, `"vendor":"other"`, `"vendor":"other","model":"D2"`},
		"list":              {`"ntp":["a","b"]`, `"ntp":["c"]`, `"ntp":["c"]`},
		"empty list":        {`"keys":[{"type":"dnd"}]`, `"keys":[]`, `"keys":[]`},
		"group in a group":  {`"timers":{"boot":1,"checkin":{"window":1,"floor":2}}`, `"timers":{"checkin":{"window":3,"interval":4}}`, `"timers":{"boot":1,"checkin":{"window":3,"floor":2,"interval":4}}`},
		"maps by name": {
			`"extra":{"acme":{"a.b":"1","c":"2"},"other":{"x":"1"}},"template":{"acme":"old"}`, `"extra":{"acme":{"c":"3","d":"4"},"third":{}},"template":{"acme":"new","other":"1"}`,
			`"extra":{"acme":{"a.b":"1","c":"3","d":"4"},"other":{"x":"1"},"third":{}},"template":{"acme":"new","other":"1"}`,
		},
		"written with escapes": {`"vend\u006fr":"acme"`, `"v\u0065ndor":"other"`, `"vend\u006fr":"other"`},
	} {
		document := With(cases.TenantWith(c.own), Rollout{"x", 10000, "{" + c.settings + "}"})
		got, want := Fold(document), cases.TenantWith(c.want)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if _, err := profile.Parse(profile.Tenant, got, record.NewArena(512)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
