package diff

import (
	"strings"

	"github.com/tidwall/gjson"

	"stagger/host/fleet"
	"stagger/host/rollout"
)

// A tenant is what a comparison has to know of a tenant's document beside what the core
// makes of it.
type tenant struct {
	id, text string
	// open is the text without what the tenant wants of phones beyond a token or a
	// password: a file does not depend on it, and nobody here has a phone's certificate.
	open string
	// auth is "token", "basic" (also for digest) or "open".
	auth        string
	certificate bool
	secrets     []string

	tenantSettings
	// rolled are those of the devices that the rollout reaches.
	rollout rollout.Rollout
	rolled  tenantSettings
}

// tenantSettings are those that a rollout can change.
type tenantSettings struct {
	base, vendor, model string
	lamps               int
}

func (t *tenantSettings) read(name string, v gjson.Result) {
	switch name {
	case "url":
		t.base = strings.TrimSuffix(v.Str, "/")
	case "vendor":
		t.vendor = v.Str
	case "model":
		t.model = v.Str
	case "keys":
		t.lamps = lamps(v)
	}
}

// of are the settings for the device with this MAC.
func (t *tenant) of(mac string) tenantSettings {
	if t.rollout.Reaches(mac) {
		return t.rolled
	}
	return t.tenantSettings
}

func readTenants(x *fleet.Index) map[string]*tenant {
	all := map[string]*tenant{}
	for id, text := range x.TenantDocuments() {
		t := &tenant{id: id, text: text, auth: "token"}
		from := 0 // of text, what is not in open yet
		replace := func(v gjson.Result, by string) {
			t.open += text[from:v.Index] + by
			from = v.Index + len(v.Raw)
		}
		gjson.Parse(text).ForEach(func(name, v gjson.Result) bool {
			switch name.Str {
			case "auth":
				switch v.Str {
				case "digest":
					t.auth = "basic"
					replace(v, `"basic"`)
				case "basic", "open":
					t.auth = v.Str
				}
			case "client_cert":
				if t.certificate = v.Type == gjson.True; t.certificate {
					replace(v, "false")
				}
			default:
				t.read(name.Str, v)
			}
			return true
		})
		t.open += text[from:]
		t.secrets = secrets(nil, gjson.Parse(text), secretName)
		t.rolled = t.tenantSettings
		t.rollout, _ = rollout.Of(text)
		gjson.Parse(t.rollout.Settings).ForEach(func(name, v gjson.Result) bool {
			t.rolled.read(name.Str, v)
			return true
		})
		all[id] = t
	}
	return all
}

// A device is what a comparison has to know of a device, from both of its documents.
type device struct {
	text, base, vendor, model string
	generation                int64
	lamps                     int
}

func readDevice(text, mac string, t *tenant) device {
	s := t.of(mac)
	d := device{text: text, base: s.base, vendor: s.vendor, model: s.model, lamps: s.lamps}
	gjson.Parse(text).ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "vendor":
			d.vendor = v.Str
		case "model":
			d.model = v.Str
		case "generation":
			d.generation = v.Int()
		case "keys":
			d.lamps = lamps(v)
		}
		return true
	})
	return d
}

// lamps counts the keys that the phone subscribes to something for.
func lamps(keys gjson.Result) (n int) {
	keys.ForEach(func(_, key gjson.Result) bool {
		if kind := key.Get("type").Str; kind == "blf" || kind == "park" {
			n++
		}
		return true
	})
	return n
}

// secrets collects every text that stands under a name of a secret, however deep. is says
// which names these are.
func secrets(list []string, of gjson.Result, is func(name string) bool) []string {
	of.ForEach(func(name, v gjson.Result) bool {
		switch {
		case v.Type == gjson.JSON:
			list = secrets(list, v, is)
		case v.Str != "" && is(name.Str):
			list = append(list, v.Str)
		}
		return true
	})
	return list
}
