package serve

import (
	"regexp"
	"testing"

	"stagger/edge/wire"
)

func TestDocumentsDigest(t *testing.T) {
	tenant := wire.Document{Key: "tenant:demo", Value: `{"tenant":"demo"}`}
	device := wire.Document{Key: "device:demo:001565aabb01", Value: `{"device":"001565aabb01"}`}
	absent := wire.Document{Key: device.Key, State: wire.Absent}
	keys := []string{"current", "previous"}
	seen := map[string]string{}
	for name, test := range map[string]struct {
		keys []string
		list []wire.Document
	}{
		"both":           {keys, []wire.Document{tenant, device}},
		"one":            {keys, []wire.Document{tenant}},
		"absent":         {keys, []wire.Document{tenant, absent}},
		"empty":          {keys, []wire.Document{tenant, {Key: device.Key}}},
		"another value":  {keys, []wire.Document{tenant, {Key: device.Key, Value: `{"device":"001565aabb02"}`}}},
		"another key":    {keys, []wire.Document{tenant, {Key: "device:demo:001565aabb02", Value: device.Value}}},
		"a byte moved":   {keys, []wire.Document{tenant, {Key: device.Key + "{", Value: device.Value[1:]}}},
		"another master": {[]string{"new", "current"}, []wire.Document{tenant, device}},
	} {
		got := newDigester(test.keys).documents(test.list)
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(got) {
			t.Errorf("%s: %q", name, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s is the same as %s", name, other)
		}
		seen[got] = name
	}
	d := newDigester(keys)
	want := d.documents([]wire.Document{tenant, device})
	for range 3 {
		if got := d.documents([]wire.Document{tenant, device}); got != want {
			t.Errorf("%s and then %s", want, got)
		}
	}
	// As worked out by hand, lest a version of this program looks like a changed fleet.
	if want != "a9de91485e205fef" {
		t.Errorf("the documents of the example are %s", want)
	}
	if got := newDigester([]string{"current", "older"}).documents([]wire.Document{tenant, device}); got != want {
		t.Error("the previous master key matters")
	}
	// Nothing was asked for, or nobody can tell what it was made of.
	for _, list := range [][]wire.Document{nil, {tenant, {Key: device.Key, State: wire.Failed}}} {
		if got := d.documents(list); got != "" {
			t.Errorf("%v: %q", list, got)
		}
	}
}
