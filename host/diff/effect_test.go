package diff

import (
	"testing"

	"stagger/edge/pack/source"
)

func TestRules(t *testing.T) {
	r := newRules([]source.RebootParameter{{Parameter: "static.network.*", Source: "manual"}, {Parameter: "account.*.dns", Source: "x unverified"}, {Parameter: "lang", Source: "unverified"}, {Parameter: "P145", Source: "x"}})
	for path, want := range map[string]Effect{
		"static.network.vlan.id": Reboot, "static.network": Live, "account.12.dns": Reboot, "account.12.dns2": Live, "lang": Unverified, "lang.gui": Live,
		"config/P145": Reboot, "config/P1450": Live, "": Live, "lang#2": Unverified,
	} {
		if got := r.effect(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	for name, list := range map[string][]source.RebootParameter{"no list": nil, "no source": {{Parameter: "x", Source: "unverified"}}} {
		for _, path := range []string{"x", "y", ""} {
			if got := newRules(list).effect(path); got != Unverified {
				t.Errorf("%s: %q: %v", name, path, got)
			}
		}
	}
	all := newRules([]source.RebootParameter{{Parameter: "*", Source: "manual"}})
	if all.effect("x/y[1]") != Reboot || all.effect("") != Reboot {
		t.Error("not everything reboots")
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"", "", true}, {"*", "", true}, {"*", "x", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true},
		{"a*b*c", "abc", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "acb", false}, {"a*b", "ab.b", true}, {"**", "x", true}, {"a*a", "a", false},
	} {
		if got := match(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestGeneral(t *testing.T) {
	for path, want := range map[string]string{
		"account.1.sip_server.12.expires": "account.*.sip_server.*.expires", "linekey.3.type": "linekey.*.type", "local_time.ntp_server2": "local_time.ntp_server*",
		"config/P145": "config/P145", "sip/line[1]/RegisterTTL": "sip/line[*]/RegisterTTL", "functionKeys/fkey[10]@label": "functionKeys/fkey[*]@label",
		"Display_Name_1_": "Display_Name_*_", "sip line1 user name": "sip line* user name", "voice.codecPref.G722": "voice.codecPref.G722", "": "", "7": "*",
		"static.network.802_1x": "static.network.*_1x", "reg.1.server.1.address": "reg.*.server.*.address", "x#2": "x#*",
	} {
		if got := general(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	m := &mask{hidden: []string{"s3cret", "q"}}
	for _, c := range []struct{ path, value, want string }{
		{"label", "Sales", "Sales"}, {"label", "", ""}, {"label", "my s3cret!", Hidden}, {"user_password", "admin:s3cret", Hidden}, {"other", "quite", Hidden},
		{"account.1.password", "x", Hidden}, {"phone-settings/user_pass[1]", "x", Hidden}, {"sip/line[1]/RegisterPswd", "x", Hidden}, {"unlock_pin", "1234", Hidden}, {"spinner", "1", "1"},
		{"static.aes_key_16", "x", Hidden}, {"server.url", "https://p.example/demo/kaaaz7ornblcdwve4io6vwwursg64f/", "https://p.example/demo/" + Hidden + "/"},
		{"P237", "p.example/demo/kaaaz7ornblcdwve4io6vwwursg64f", "p.example/demo/" + Hidden}, {"book", "https://h/b.xml?key=a&b=c", "https://h/b.xml?" + Hidden},
		{"book", "url h/b.xml?key=a", "url h/b.xml?" + Hidden}, {"book", "https://u:p@h/b@c", "https://" + Hidden + "@h/b@c"}, {"label", "Who?", "Who?"}, {"label", "a@b", "a@b"},
	} {
		if got := *m.value(c.path, &c.value); got != c.want {
			t.Errorf("%s = %q: %q, want %q", c.path, c.value, got, c.want)
		}
	}
	if m.value("password", nil) != nil {
		t.Error("what is not there is hidden")
	}
}
