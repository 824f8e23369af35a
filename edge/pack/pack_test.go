package pack

import "testing"

func TestFile(t *testing.T) {
	p := Pack{Files: []File{
		{Suffix: ".cfg", MAC: true, Kind: "config"},
		{Prefix: "SEP", Suffix: ".cnf.xml", MAC: true, Kind: "sep"},
		{Prefix: "y0000000000##.cfg", Kind: "common"},
		{Prefix: "000000000000.boot", Kind: "boot"},
	}}
	for _, c := range []struct{ name, kind, mac string }{
		{"001565aabb01.cfg", "config", "001565aabb01"},
		{"001565AABB01.cfg", "config", "001565AABB01"},
		{"any 12 bytes.cfg", "config", "any 12 bytes"}, // whether they are a MAC is the caller's question
		{"SEP001565AABB01.cnf.xml", "sep", "001565AABB01"},
		{"y000000000044.cfg", "common", ""},
		{"000000000000.boot", "boot", ""},
		{"", "", ""},
		{".cfg", "", ""},
		{"001565aabb0.cfg", "", ""},
		{"001565aabb011.cfg", "", ""},
		{"001565aabb01.CFG", "", ""},
		{"001565aabb01.cfg ", "", ""},
		{"001565aabb01", "", ""},
		{"sep001565aabb01.cnf.xml", "", ""},
		{"y0000000000##.cfg", "", ""},
		{"y0000000000a4.cfg", "", ""},
		{"y0000000004.cfg", "", ""},
		{"000000000001.boot", "", ""},
	} {
		f, mac := p.File(c.name)
		kind := ""
		if f != nil {
			kind = f.Kind
		}
		if kind != c.kind || mac != c.mac {
			t.Errorf("%q: %q %q, want %q %q", c.name, kind, mac, c.kind, c.mac)
		}
	}
}

func TestModel(t *testing.T) {
	p := Pack{Models: []Model{{Name: "A1"}, {Name: "A2"}}}
	if m := p.Model("A2"); m != &p.Models[1] {
		t.Errorf("A2 is %+v", m)
	}
	for _, name := range []string{"", "a1", "A", "A11"} {
		if p.Model(name) != nil {
			t.Errorf("there is a model %q", name)
		}
	}
}

func TestAllows(t *testing.T) {
	p := Pack{Allow: []string{"screen.*", "ring.tone", "voice.Level"}, Deny: []string{"screen.lock*", "screen.pin", "ring.*"}}
	for _, c := range []struct {
		name string
		want bool
	}{
		{"screen.saver", true},
		{"screen.Saver", true},
		{"voice.Level", true},
		{"screen.loc", true},
		{"screen.pins", true},
		{"screen.", false},
		{"screen", false},
		{"Screen.saver", false}, // a name that the phone may not know is no use
		{"voice.level", false},
		{"voice.Level2", false},
		{"", false},
		{"server", false},
		{"screen.lock", false},
		{"screen.lock.pin", false},
		{"screen.LOCK.pin", false},
		{"screen.pin", false},
		{"screen.Pin", false},
		{"ring.tone", false}, // deny wins
		{"screen.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	} {
		if got := p.Allows(c.name); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (&Pack{}).Allows("a") {
		t.Error("a pack that allows nothing allows a setting")
	}
}

// A model in the name: letters and digits, as many as any model has.
func TestModelInTheName(t *testing.T) {
	device := File{Prefix: "phone*-", Suffix: ".htm", MAC: true}
	model := File{Prefix: "phone*.htm"}
	for _, c := range []struct {
		file *File
		name string
		mac  string
		ok   bool
	}{
		{&device, "phoneD785-001565AABB01.htm", "001565AABB01", true},
		{&device, "phone3-001565aabb01.htm", "001565aabb01", true},
		{&device, "phone-001565aabb01.htm", "", false},
		{&device, "phoneD7-85-001565aabb01.htm", "", false},
		{&device, "phoneD785001565aabb01.htm", "", false},
		{&device, "phone12345678901234567-001565aabb01.htm", "", false},
		{&device, "phone.htm", "", false},
		{&device, "-001565aabb01.htm", "", false},
		{&model, "phoneD785.htm", "", true},
		{&model, "phone.htm", "", false},
		{&model, "phoneD7_5.htm", "", false},
		{&model, "phoneD785.xml", "", false},
		{&model, "phone", "", false},
		{&model, "", "", false},
	} {
		if mac, ok := c.file.Match(c.name); mac != c.mac || ok != c.ok {
			t.Errorf("%s%s: %q: %q %v", c.file.Prefix, c.file.Suffix, c.name, mac, ok)
		}
	}
}
