package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodPack = `{
  "vendor": "acme", "title": "Acme phones", "syntax": "keyvalue",
  "files": [
    {"name": "{mac}.cfg", "kind": "config", "type": "text/plain", "template": "mac.tmpl", "variants": [{"feature": "colour", "template": "other.tmpl"}]},
    {"name": "model##.cfg", "kind": "common", "why": "nothing can be proven"}
  ],
  "generations": [{"name": "v1", "from": "*.1.0", "source": "guide"}, {"name": "v10", "from": "*.10.0", "source": "unverified"}],
  "agents": ["Acme {model}/{firmware}"],
  "timers": {"checkin": {"parameter": "poll", "unit": 60, "min": 1, "max": 1440, "default": 60, "scope": "phone", "source": "guide"}},
  "models": [{"name": "A1", "lines": 1, "keys": 2, "modules": 1, "module_keys": 20, "features": ["colour"], "generation": "v1", "source": "guide unverified"}],
  "codecs": ["pcma"],
  "tables": {"transport": {"udp": "0"}},
  "extra": {"allow": ["screen.*"], "deny": ["screen.lock*"]},
  "certificate": {"attribute": "CN", "issuers": ["Acme"], "source": "guide"},
  "auth": {"kinds": ["basic"], "source": "guide"},
  "reboot": [{"parameter": "vlan", "source": "guide"}],
  "sources": {"guide": "Acme, administrator guide, p. 12"}
}`

// read reads a pack with this descriptor and template.
func read(t *testing.T, descriptor, template string) (*Descriptor, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "acme")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"pack.json": descriptor, "mac.tmpl": template, "mac.2.tmpl": "2 " + template, "other.tmpl": "{{.mac}} in colour\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Read(dir)
}

func TestRead(t *testing.T) {
	d, err := read(t, goodPack, "{{.mac}}\n")
	if err != nil {
		t.Fatal(err)
	}
	p := d.Pack()
	if f, mac := p.File("001565aabb01.cfg"); f == nil || f.Kind != "config" || f.Program == nil || mac != "001565aabb01" {
		t.Errorf("the configuration: %+v %s", f, mac)
	}
	if f, _ := p.File("model12.cfg"); f == nil || f.MAC || f.Program != nil {
		t.Errorf("the common file: %+v", f)
	}
	if p.Checkin.Unit != 60 || p.Checkin.Max != 1440 || p.Register.Unit != 0 || len(p.Models) != 1 || p.Models[0].ModuleKeys != 20 {
		t.Errorf("%+v", p)
	}
	if f := p.Files[0]; len(f.Variants) != 1 || f.Variants[0].Feature != "colour" || f.Variants[0].Program == nil || f.Variants[0].Program == f.Program {
		t.Errorf("the variant: %+v", f.Variants)
	}
	if p.Models[0].Generation != "v1" || len(p.Generations) != 2 || p.Generations[1].From != "*.10.0" || len(p.Agents) != 1 {
		t.Errorf("%+v", p)
	}
	one, err := Generate([]*Descriptor{d})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Generate([]*Descriptor{d})
	if err != nil || string(one) != string(again) {
		t.Errorf("generated twice, and not the same: %v", err)
	}
}

// What only some packs have is in the generated source where it belongs, and nowhere
// else.
func TestGenerate(t *testing.T) {
	d, err := read(t, goodPack, "{{.mac}}\n")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Generate([]*Descriptor{d})
	if err != nil {
		t.Fatal(err)
	}
	xml := strings.NewReplacer(`"keyvalue"`, `"xml"`, `"lines": 1`, `"ascii": true, "lines": 1`).Replace(goodPack)
	if d, err = read(t, xml, "{{.mac}} {{as \"url\" .url}}\n"); err != nil {
		t.Fatal(err)
	}
	special, err := Generate([]*Descriptor{d})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Escapes: []template.Escape{xml.AppendItem, xml.AppendMacro, xml.AppendURL, xml.AppendUser}", "{Code: template.PrintAs, A: 1, B: 2, Line: 1}", "ASCII: true"} {
		if got := strings.Join(strings.Fields(string(special)), " "); !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, special)
		}
	}
	if strings.Contains(string(plain), "Escapes") || strings.Contains(string(plain), "ASCII") {
		t.Errorf("what the pack does not have:\n%s", plain)
	}
	if p := d.Pack(); !p.Models[0].ASCII {
		t.Error("the model is not ASCII")
	}
	if _, err := read(t, goodPack, "{{as \"url\" .url}}\n"); err == nil || !strings.Contains(err.Error(), `mac.tmpl:1: the syntax has no escaper "url"`) {
		t.Errorf("%v", err)
	}
}

func TestTimeOfDay(t *testing.T) {
	d, err := read(t, strings.Replace(goodPack, `"unit": 60, "min": 1, "max": 1440`, `"kind": "time-of-day", "days": 364, "unit": 60, "min": 0, "max": 0`, 1), "{{.checkin_hour}}:{{.checkin_minute}} {{.checkin_days}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Pack().Checkin; c.Days != 364 || c.Unit != 60 {
		t.Errorf("%+v", c)
	}
}

func TestEffective(t *testing.T) {
	for _, c := range []struct{ effective, want, bad string }{
		{`"percent": 50`, "50%", ""}, {`"percent": 50, "to": 75`, "50%-75%", ""}, {`"before": 60`, "-60", ""}, {`"percent": 100`, "100%", ""},
		{`"percent": 0`, "", "effective is for"}, {`"percent": 101`, "", "effective is for"}, {`"percent": 50, "to": 49`, "", "effective is for"},
		{`"percent": 50, "to": 101`, "", "effective is for"}, {`"percent": 50, "before": 60`, "", "effective is for"}, {`"to": 50`, "", "effective is for"}, {`"to": 50, "before": 1`, "", "effective is for"},
	} {
		timers := `"register": {"parameter": "r", "unit": 1, "source": "guide", "effective": {` + c.effective + `, "source": "guide unverified"}}, "checkin"`
		d, err := read(t, strings.Replace(goodPack, `"checkin"`, timers, 1), "")
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", c.effective, err)
			}
		} else if err != nil {
			t.Error(err)
		} else if got := d.Timers["register"].Effective.String(); got != c.want {
			t.Errorf("%s is %s", c.effective, got)
		}
	}
	if _, err := read(t, strings.Replace(goodPack, `"checkin"`, `"register": {"parameter": "r", "unit": 1, "source": "guide", "effective": {"percent": 50}}, "checkin"`, 1), ""); err == nil || !strings.Contains(err.Error(), "timer register, effective: has no source") {
		t.Error(err)
	}
}

// A file with versions has the program of each, and its own is the first's.
func TestVersions(t *testing.T) {
	d, err := read(t, strings.Replace(goodPack, `"template": "mac.tmpl"`, twoVersions, 1), "{{.mac}}\n")
	if err != nil {
		t.Fatal(err)
	}
	p := d.Pack()
	f, _ := p.File("001565aabb01.cfg")
	first, second := f.Choose("1"), f.Choose("2")
	if first == nil || second == nil || first == second || f.Program != first || f.Choose("") != first || f.Choose("3") != first {
		t.Errorf("%+v", f)
	}
	if !p.HasVersion("1") || !p.HasVersion("2") || p.HasVersion("3") || p.HasVersion("") {
		t.Error("HasVersion")
	}
	code, err := Generate([]*Descriptor{d})
	if want := "Versions: []pack.Version{\n\t\t\t\t{Name: \"1\", Program: &acmeMac},\n\t\t\t\t{Name: \"2\", Program: &acmeMac2},"; err != nil || !strings.Contains(string(code), want) {
		t.Errorf("%v\n%s", err, code)
	}
}

const twoVersions = `"template": "mac.tmpl", "version": "1", "versions": [{"version": "2", "template": "mac.2.tmpl", "why": "better"}]`

// A format that wants CR LF has it in the programs, and its files are looked at whole.
func TestLineEnd(t *testing.T) {
	d, err := read(t, strings.Replace(goodPack, `"syntax": "keyvalue"`, `"syntax": "quoted", "line_end": "crlf"`, 1), "A=\"{{.mac}}\"\n{{- if .url}}\nB=\"1\"\n{{- end}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if text := d.Programs["mac.tmpl"].Text; strings.Count(text, "\r\n") != 2 || strings.Count(text, "\n") != 2 {
		t.Errorf("%q", text)
	}
	if generated, err := Generate([]*Descriptor{d}); err != nil || !strings.Contains(string(generated), "quoted.CheckFile,") {
		t.Errorf("%v\n%s", err, generated)
	}
}

// Every mistake in a descriptor is an error that says where.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown field", `"title"`, `"titel"`, `unknown field "titel"`},
		{"no JSON", `{`, `{,`, "invalid character"},
		{"two objects", "12\"}\n}", "12\"}\n} {}", "has something after the object"},
		{"another folder's", `"acme"`, `"brand"`, `vendor "brand" is not the name of the folder, "acme"`},
		{"syntax", `"keyvalue"`, `"toml"`, `unknown syntax "toml"`},
		{"neither template nor why", `, "template": "mac.tmpl"`, ``, "file {mac}.cfg: needs either a template, or a why"},
		{"template and why", `"template"`, `"why": "x", "template"`, "file {mac}.cfg: needs either a template, or a why"},
		{"no type", `"type": "text/plain", `, ``, "file {mac}.cfg: a file with a body needs a type"},
		{"secrets without a MAC", `"why": "nothing can be proven"`, `"type": "text/plain", "template": "mac.tmpl"`, "file model##.cfg: a file with a body needs a type, and {mac}"},
		{"versions without the name of the first", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `"version": "1", `, "", 1), "file {mac}.cfg: versions need a template, and the name of its own"},
		{"a name without versions", `"template": "mac.tmpl"`, `"template": "mac.tmpl", "version": "1"`, "file {mac}.cfg: versions need a template, and the name of its own"},
		{"versions of what is not served", `"why": "nothing can be proven"`, strings.Replace(`"why": "nothing can be proven", `+twoVersions, `"template": "mac.tmpl", `, "", 1), "file model##.cfg: versions need a template"},
		{"version twice", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `"2"`, `"1"`, 1), `file {mac}.cfg: version "1": a name used twice`},
		{"version with a blank", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `"2"`, `"the 2"`, 1), `file {mac}.cfg: version "the 2"`},
		{"first version with a blank", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `"1"`, `"the 1"`, 1), `file {mac}.cfg: version "the 1": is not a name`},
		{"version without a template", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `"template": "mac.2.tmpl", `, "", 1), "file {mac}.cfg: version 2: needs a template, and a why"},
		{"version without a why", `"template": "mac.tmpl"`, strings.Replace(twoVersions, `, "why": "better"`, "", 1), "file {mac}.cfg: version 2: needs a template, and a why"},
		{"text without a why", `"why": "nothing can be proven"`, `"type": "text/plain", "template": "mac.tmpl", "text": "#\n"`, "file model##.cfg: a text for everybody needs a why and a type, and no {mac}"},
		{"text without a type", `"why": "nothing can be proven"`, `"why": "x", "text": "#\n"`, "file model##.cfg: a text for everybody needs a why and a type, and no {mac}"},
		{"text with a MAC", `"type": "text/plain", "template": "mac.tmpl"`, `"type": "text/plain", "why": "x", "text": "#\n"`, "file {mac}.cfg: a text for everybody needs a why and a type, and no {mac}"},
		{"name with a slash", `"{mac}.cfg"`, `"a/{mac}.cfg"`, "file a/{mac}.cfg: no phone can ask for it"},
		{"name with a blank", `"{mac}.cfg"`, `"{mac} .cfg"`, "no phone can ask for it"},
		{"name with two MACs", `"{mac}.cfg"`, `"{mac}{mac}.cfg"`, "no phone can ask for it"},
		{"name with MAC and digit", `"{mac}.cfg"`, `"{mac}#.cfg"`, "no phone can ask for it"},
		{"no name", `"model##.cfg"`, `""`, "no phone can ask for it"},
		{"no kind", `"common"`, `""`, `file model##.cfg: kind "" is empty or used twice`},
		{"kind twice", `"common"`, `"config"`, `file model##.cfg: kind "config" is empty or used twice`},
		{"unknown timer", `"checkin"`, `"chekin"`, "timer chekin: no such timer"},
		{"timer without unit", `"unit": 60, `, ``, "timer checkin: needs a parameter, a unit"},
		{"timer without parameter", `"parameter": "poll", `, ``, "timer checkin: needs a parameter, a unit"},
		{"timer with an empty range", `"max": 1440`, `"max": 0, "min": 2, "max": 1`, "timer checkin: needs a parameter, a unit"},
		{"line end", `"syntax"`, `"line_end": "lf", "syntax"`, `line_end "lf" is neither left out nor "crlf"`},
		{"kind of timer", `"unit": 60, "min": 1`, `"kind": "daily", "unit": 60, "min": 1`, `timer checkin: is an interval, or of the kind "time-of-day" with days`},
		{"days without a kind", `"unit": 60, "min": 1`, `"days": 1, "unit": 60, "min": 1`, `timer checkin: is an interval, or of the kind "time-of-day" with days`},
		{"time of the day with a range", `"unit": 60, "min": 1`, `"kind": "time-of-day", "days": 1, "unit": 60, "min": 1`, "timer checkin: a time of the day is that of the check-in"},
		{"time of the day without days", `"unit": 60, "min": 1, "max": 1440`, `"kind": "time-of-day", "unit": 60, "min": 0, "max": 0`, "timer checkin: a time of the day is that of the check-in"},
		{"native without how", `"scope": "phone", "source": "guide"`, `"scope": "phone", "source": "guide", "native": {"source": "guide"}`, "timer checkin: native is for check-ins at an interval: how, and max in seconds within the range"},
		{"native without source", `"scope": "phone", "source": "guide"`, `"scope": "phone", "source": "guide", "native": {"how": "at random"}`, "timer checkin, native: has no source"},
		{"native below the range", `"scope": "phone", "source": "guide"`, `"scope": "phone", "source": "guide", "native": {"how": "at random", "max": 59, "source": "guide"}`, "timer checkin: native is for check-ins"},
		{"effective of a check-in", `"scope": "phone", "source": "guide"`, `"scope": "phone", "source": "guide", "effective": {"percent": 50, "source": "guide"}`, "timer checkin: effective is for register and subscribe"},
		{"unknown source", `"source": "guide"}},`, `"source": "giude"}},`, `timer checkin: source "giude" is not among the sources`},
		{"no source", `"source": "guide unverified"`, `"source": ""`, "model A1: has no source"},
		{"blank source", `"source": "guide unverified"`, `"source": " "`, "model A1: has no source"},
		{"reboot without source", `{"parameter": "vlan", "source": "guide"}`, `{"parameter": "vlan"}`, "reboot vlan: has no source"},
		{"model without name", `"A1"`, `""`, `model ""`},
		{"model with a blank", `"A1"`, `"A 1"`, `model "A 1"`},
		{"model twice", `"models": [`, `"models": [{"name": "A1", "lines": 1, "keys": 0, "source": "guide"},`, `model "A1": a name used twice`},
		{"model without lines", `"lines": 1`, `"lines": 0`, `model "A1"`},
		{"modules without keys", `, "module_keys": 20`, ``, "model A1: modules without keys"},
		{"no keys that are no lines", `"keys": 2,`, `"keys": 0, "no_line_keys": true,`, "model A1: says of keys that it does not have what they can be"},
		{"variant of what is not served", `"why": "nothing can be proven"`, `"why": "x", "variants": [{"feature": "colour", "template": "other.tmpl"}]`, "file model##.cfg: a variant needs a template, beside"},
		{"variant without template", `"template": "other.tmpl"`, `"template": ""`, "file {mac}.cfg: a variant needs a template"},
		{"variant for nobody", `"feature": "colour"`, `"feature": "color"`, "file {mac}.cfg: a variant needs a template"},
		{"generation without name", `"name": "v10"`, `"name": ""`, "generation : needs a name"},
		{"generation without version", `"*.10.0"`, `""`, "generation v10: needs a name and a first version"},
		{"generation with another version", `"*.10.0"`, `"*.10"`, "generation v10: needs a name and a first version, of as many numbers"},
		{"generation with a letter", `"*.10.0"`, `"*.10.b"`, "generation v10: needs a name and a first version"},
		{"generation out of order", `"*.10.0"`, `"*.0.9"`, "generation v10: the oldest comes first"},
		{"generation twice", `"*.10.0"`, `"*.1.0"`, "generation v10: the oldest comes first"},
		{"generation without source", `"source": "unverified"`, `"source": ""`, "generation v10: has no source"},
		{"model of no generation", `"generation": "v1"`, `"generation": "v2"`, `model A1: there is no generation "v2"`},
		{"example with another word", `"agents"`, `"user_agents": {"": "Acme {modell}"}, "agents"`, `user_agents: "" has {model}`},
		{"example of no model", `"agents"`, `"user_agents": {"B": "Acme {model}"}, "agents"`, `user_agents: no model begins with "B"`},
		{"agent without model", `{model}/`, `model/`, `agent "Acme model/{firmware}"`},
		{"agent with two versions", `{model}/`, `{model}/{firmware}`, "has one {model}, and at most one {firmware}"},
		{"agent with another word", `{model}/`, `{model}/{mac}`, "has one {model}, and at most one {firmware}"},
		{"codec", `"pcma"`, `"mp3"`, `codec "mp3": a profile cannot name it`},
		{"deny in upper case", `"screen.lock*"`, `"screen.Lock*"`, `extra: "screen.Lock*"`},
		{"certificate without attribute", `"attribute": "CN", `, ``, "certificate: needs the attribute"},
		{"auth", `["basic"]`, `["basic", "ntlm"]`, `auth: "ntlm": the kinds are basic and digest`},
		{"auth without source", `["basic"], "source": "guide"`, `["basic"]`, "auth: has no source"},
		{"certificate without source", `["Acme"], "source": "guide"`, `["Acme"]`, "certificate: has no source"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(goodPack, c.old) {
				t.Fatalf("no %s", c.old)
			}
			_, err := read(t, strings.Replace(goodPack, c.old, c.new, 1), "{{.mac}}\n")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join("acme", "pack.json")) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	_, err := read(t, strings.Replace(strings.Replace(goodPack, `"pcma"`, `"mp3"`, 1), `"checkin"`, `"chekin"`, 1), "")
	if err == nil || !strings.Contains(err.Error(), "mp3") || !strings.Contains(err.Error(), "chekin") {
		t.Errorf("two mistakes are not both reported: %v", err)
	}
	if _, err := read(t, goodPack, "\n{{.mca}}\n"); err == nil || !strings.Contains(err.Error(), "acme/mac.tmpl:2") {
		t.Errorf("a mistake in a template: %v", err)
	}
	if _, err := read(t, strings.Replace(goodPack, "mac.tmpl", "no.tmpl", 1), ""); err == nil {
		t.Error("a template that is not there")
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder without pack.json")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("no folder")
	}
}

func TestAgent(t *testing.T) {
	d := &Descriptor{UserAgents: map[string]string{
		"": "Phone {model} {mac} {mac:} {MAC} {MAC-}", "B": "Base {model}", "B1": "Base B1_{rest}",
	}}
	for model, want := range map[string]string{
		"T1": "Phone T1 001565aabb01 00:15:65:aa:bb:01 001565AABB01 00-15-65-AA-BB-01", "B20": "Base B20", "B1": "Base B1_", "B123": "Base B1_23",
	} {
		if got := d.Agent(model, "001565aabb01"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&Descriptor{}).Agent("T1", "001565aabb01"); got != "" {
		t.Errorf("a pack without examples: %q", got)
	}
}
