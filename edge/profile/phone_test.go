package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagger/edge/pack"
	"stagger/edge/profile/cases"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/edge/template"
	"stagger/edge/zone"
)

const phoneURL = "https://prov.example/demo/t0ken/"

func build(t testing.TB, tenant, device string) (record.Record, []Spread, *Error) {
	t.Helper()
	b := Builder{Arena: record.NewArena(1024)}
	phone, err := b.Build(mustParse(t, cases.Tenant, tenant), mustParse(t, cases.Device, device), acme, phoneURL)
	return phone, b.Timers, err
}

func mustBuild(t testing.TB, tenant, device string) (record.Record, []Spread) {
	t.Helper()
	phone, timers, err := build(t, tenant, device)
	if err != nil {
		t.Fatal(err)
	}
	return phone, timers
}

// base is a tenant that gives a device all that it needs but a line's account.
func base(fields string) string {
	return cases.TenantWith(strings.TrimSuffix(`"vendor":"acme","model":"D2","line":{"server":"sip.example"},`+fields, ","))
}

// active is a device with one line, and these fields.
func active(fields string) string {
	return cases.DeviceWith(strings.TrimSuffix(`"lines":[{"user":"1001","password":"s3cret"}],`+fields, ","))
}

// two are two legal values of every field that a tenant may set for its devices,
// by path. A field that is added to the schema and not here fails the test.
var two = map[string][2]string{
	"vendor": {`"acme"`, `"other"`}, "model": {`"D2"`, `"D4"`}, "firmware": {`"1.2"`, `"1.3"`}, "state": {`"active"`, `"staged"`},
	"keys":      {`[{"type":"dnd"}]`, `[{"type":"line"},{"type":"hold"}]`},
	"time_zone": {`"UTC"`, `"Asia/Kolkata"`}, "language": {`"en"`, `"de"`}, "ntp": {`["a","b"]`, `["c"]`}, "admin_password": {`"one"`, `"two"`},
	"codecs": {`["opus"]`, `["pcma","pcmu"]`}, "pickup_code": {`"*8"`, `"*9"`}, "firmware_url": {`"http://a/"`, `"http://b/"`},
	"phonebook.name": {`"A"`, `"B"`}, "phonebook.url": {`"http://a/"`, `"http://b/"`},
	"timers.checkin.interval": {"7200", "3600"}, "timers.checkin.window": {"600", "60"}, "timers.checkin.floor": {"300", "600"},
	"timers.checkin.at":        {`"00:00"`, `"23:59"`},
	"timers.checkin.strategy":  {`"interval"`, `"native"`},
	"timers.register.interval": {"3000", "600"}, "timers.register.window": {"0", "60"}, "timers.register.floor": {"30", "40"},
	"timers.subscribe.interval": {"3001", "601"}, "timers.subscribe.window": {"1", "61"}, "timers.subscribe.floor": {"31", "41"},
	"timers.boot": {"10", "0"},
	"extra":       {`{"acme":{"ring.tone":"1"}}`, `{"acme":{"ring.tone":"2"}}`},
	"template":    {`{"acme":"old"}`, `{"acme":"new"}`},
}

var twoOfALine = map[string][2]string{
	"enabled": {"true", "false"}, "server": {`"a.example"`, `"b.example"`}, "port": {"1", "65535"}, "transport": {`"tls"`, `"dns-naptr"`},
	"outbound_proxy": {`"a.example"`, `"b.example"`}, "outbound_port": {"2", "3"}, "register": {"31", "7200"}, "srtp": {`"optional"`, `"required"`},
	"voicemail": {`"*97"`, `"*98"`}, "mwi": {"true", "false"},
}

// leaves calls f for every field of a table that is no group, with its path.
func leaves(prefix string, fields []record.Field, f func(path string, field *record.Field)) {
	for i := range fields {
		path := prefix + fields[i].Name
		if fields[i].Kind == record.Group {
			leaves(path+".", fields[i].Of.Fields, f)
		} else {
			f(path, &fields[i])
		}
	}
}

// nest writes a value at a path: nest("a.b", "1") is `"a":{"b":1}`.
func nest(path, value string) string {
	name, rest, found := strings.Cut(path, ".")
	if found {
		return `"` + name + `":{` + nest(rest, value) + `}`
	}
	return `"` + name + `":` + value
}

// at finds the value at a path; where a group is not set, none.
func at(fields []record.Field, r record.Record, path string) record.Value {
	name, rest, found := strings.Cut(path, ".")
	i := slices.IndexFunc(fields, func(f record.Field) bool { return f.Name == name })
	switch {
	case !found:
		return r[i]
	case !r[i].Set:
		return record.Value{}
	}
	return at(fields[i].Of.Fields, r[i].List[0], rest)
}

// show is a value as text, lists and all.
func show(v record.Value) string {
	if !v.Set {
		return "unset"
	}
	s := fmt.Sprintf("%q %d", v.Str, v.Num)
	for _, r := range v.List {
		s += "("
		for _, w := range r {
			s += show(w) + ","
		}
		s += ")"
	}
	return s
}

func byDefault(f *record.Field) record.Value {
	switch {
	case f.Default == "":
		return record.Value{}
	case f.Kind == record.Int:
		n, _ := strconv.ParseInt(f.Default, 10, 64)
		return record.Number(n)
	case f.Kind == record.Bool:
		return record.Truth(f.Default == "true")
	}
	return record.Text(f.Default)
}

// Defaults < tenant < device, for every field that both may set, field by field
// also inside of groups. Lists replace, they do not add up. The function under
// test is the merge, because Build goes on to complete some of the fields.
func TestMerge(t *testing.T) {
	for _, table := range []struct {
		name   string
		fields []record.Field
		two    map[string][2]string
		// wrap makes the documents of tenant and device.
		tenant, device func(string) string
		// stored finds the records that are merged.
		records func(tenant, device record.Record) (record.Record, record.Record)
	}{
		{"settings", settings, two, cases.TenantWith, cases.DeviceWith, func(tenant, device record.Record) (record.Record, record.Record) { return tenant, device }},
		{
			"line", lineSettings, twoOfALine,
			func(s string) string { return cases.TenantWith(`"line":{` + s + `}`) },
			func(s string) string { return cases.DeviceWith(`"lines":[{` + s + `}]`) },
			func(tenant, device record.Record) (record.Record, record.Record) {
				return tenant[TenantLine].List[0], device[DeviceLines].List[0]
			},
		},
	} {
		tested := 0
		leaves("", table.fields, func(path string, f *record.Field) {
			values, ok := table.two[path]
			if !ok {
				t.Errorf("%s: no values for %s", table.name, path)
				return
			}
			tested++
			first, second := nest(path, values[0]), nest(path, values[1])
			for _, c := range []struct{ name, tenant, device, want string }{
				{"neither", "", "", ""},
				{"tenant only", first, "", first},
				{"device only", "", second, second},
				{"both", first, second, second},
				{"both, the other way", second, first, first},
			} {
				tenant := mustParse(t, cases.Tenant, table.tenant(c.tenant))
				device := mustParse(t, cases.Device, table.device(c.device))
				before := show(record.Value{Set: true, List: []record.Record{tenant, device}})
				from, to := table.records(tenant, device)
				merged := make(record.Record, len(table.fields))
				copy(merged, to)
				b := Builder{Arena: record.NewArena(64)}
				b.inherit(table.fields, merged, from)

				want := byDefault(f)
				if strings.Contains(path, ".") && c.want == "" {
					want = record.Value{} // nobody has set the group
				}
				if c.want != "" {
					_, wanted := table.records(mustParse(t, cases.Tenant, table.tenant(c.want)), mustParse(t, cases.Device, table.device(c.want)))
					want = at(table.fields, wanted, path)
				}
				if got := at(table.fields, merged, path); show(got) != show(want) {
					t.Errorf("%s, %s, %s: %s, want %s", table.name, path, c.name, show(got), show(want))
				}
				// Every other field is what it would be by itself.
				leaves("", table.fields, func(other string, f *record.Field) {
					group, _, _ := strings.Cut(other, ".")
					sameGroup := strings.HasPrefix(path, group+".")
					want := byDefault(f)
					if strings.Contains(other, ".") && !sameGroup || strings.Count(other, ".") == 2 && !strings.HasPrefix(path, other[:strings.LastIndex(other, ".")+1]) {
						want = record.Value{}
					}
					if c.want == "" && strings.Contains(other, ".") {
						want = record.Value{}
					}
					if got := at(table.fields, merged, other); other != path && show(got) != show(want) {
						t.Errorf("%s, %s, %s: %s became %s", table.name, path, c.name, other, show(got))
					}
				})
				if after := show(record.Value{Set: true, List: []record.Record{tenant, device}}); before != after {
					t.Errorf("%s, %s, %s: the documents were changed", table.name, path, c.name)
				}
			}
		})
		if tested != len(table.two) {
			t.Errorf("%s: %d fields, %d pairs of values", table.name, tested, len(table.two))
		}
	}
}

// What a phone gets when nobody has said anything, and when everybody has.
func TestBuildUsesTheMerge(t *testing.T) {
	phone, _ := mustBuild(t, base(""), active(""))
	for _, c := range []struct {
		name string
		got  record.Value
		want string
	}{
		{"mac", phone[PhoneMAC], `"001565aabb01" 0`},
		{"MAC", phone[PhoneMACUpper], `"001565AABB01" 0`},
		{"tenant", phone[PhoneTenant], `"demo" 0`},
		{"url", phone[PhoneURL], `"` + phoneURL + `" 0`},
		{"model", phone[Model], `"D2" 0`},
		{"language", phone[Language], "unset"},
		{"ntp", phone[NTP], "unset"},
		{"admin_password", phone[AdminPassword], "unset"},
		{"phonebook", phone[PhonebookField], "unset"},
		{"zone", phone[PhoneZone], "unset"},
		{"codecs", phone[PhoneCodecs], "unset"},
		{"boot", phone[PhoneBoot], "unset"},
		{"extra", phone[PhoneExtra], `"" 0`},
		{"features", phone[PhoneFeatures], `"" 0("blf" 0,)("colour" 0,)("new" 0,)`},
	} {
		if show(c.got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, show(c.got), c.want)
		}
	}

	phone, _ = mustBuild(t, cases.AllTenant, cases.AllDevice)
	for _, c := range []struct {
		name string
		got  record.Value
		want string
	}{
		{"model", phone[Model], `"D4" 0`},
		{"firmware", phone[Firmware], `"1.2.4" 0`},
		{"language", phone[Language], `"de" 0`},
		{"ntp", phone[NTP], `"" 0("[2001:db8::1]" 0,)`},
		{"admin_password", phone[AdminPassword], `"adminD" 0`},
		{"pickup_code", phone[PickupCode], `"*9" 0`},
		{"phonebook", phone[PhonebookField], `"" 0("Book D" 0,"https://pbx.example/d.xml" 0,)`},
		{"firmware_url", phone[FirmwareURL], `"http://fw.example/d.rom" 0`},
		{"codecs", phone[PhoneCodecs], `"" 0("opus" 0,"" 1,"" 1,)("g722" 0,"" 0,"" 0,)("pcma" 0,"" 0,"" 0,)("pcmu" 0,"" 0,"" 0,)`},
		{"boot", phone[PhoneBoot], "unset"},
		{"extra", phone[PhoneExtra], `"" 0("ring.tone" 0,"3" 0,)("screen.saver" 0,"20" 0,)`},
		{"features", phone[PhoneFeatures], `"" 0("old" 0,)`},
	} {
		if show(c.got) != c.want {
			t.Errorf("all fields, %s: %s, want %s", c.name, show(c.got), c.want)
		}
	}
	first, second := phone[PhoneLines].List[0], phone[PhoneLines].List[1]
	for i, want := range []string{
		LineEnabled: "true", LineServer: "sip.example", LinePort: "5070", LineTransport: "tcp", LineOutboundProxy: "proxy.example", LineOutboundPort: "5080",
		LineRegister: "900", LineSRTP: "required", LineVoicemail: "*97", LineMWI: "false", LineIndex: "2", LineUser: "1002", LineAuthUser: "1002",
		LinePassword: "pw2", LineLabel: "1002", LineDisplayName: "1002",
	} {
		got := second[i].Str
		switch Line.Fields[i].Kind {
		case record.Int:
			got = strconv.FormatInt(second[i].Num, 10)
		case record.Bool:
			got = strconv.FormatBool(second[i].Num == 1)
		}
		if got != want || !second[i].Set {
			t.Errorf("line 2, %s: %q, want %q", Line.Fields[i].Name, got, want)
		}
	}
	if got := show(record.Value{Set: true, List: []record.Record{first[:LineRegistration]}}); got != show(record.Value{Set: true, List: []record.Record{mustParse(t, cases.Device, cases.AllDevice)[DeviceLines].List[0]}}) {
		t.Errorf("a line that says everything became %s", got)
	}
}

// refusedPhones are documents that are each good and do not make a phone.
func TestBuildRefuses(t *testing.T) {
	lines := func(s string) string { return cases.DeviceWith(`"lines":[` + s + `]`) }
	const account = `"user":"1","password":"p"`
	for _, c := range []struct{ name, tenant, device, want string }{
		{"no model", cases.TenantWith(`"line":{"server":"a"}`), active(""), "model: is required"},
		{"F23: unknown model", base(""), active(`"model":"D9"`), "model: is not a model of this vendor"},
		{"F24: model in other case", base(""), active(`"model":"d2"`), "model: is not a model of this vendor"},
		{"unknown time zone", base(`"time_zone":"Europe/Atlantis"`), active(""), "time_zone: is not a time zone that this version knows"},
		{"time zone in other case", base(""), active(`"time_zone":"europe/belgrade"`), "time_zone: is not a time zone that this version knows"},

		{"F14: no lines", base(""), cases.DeviceWith(""), "lines: is required: an active device has at least one"},
		{"F14: empty lines", base(""), lines(""), "lines: is required: an active device has at least one"},
		{"no user", base(""), lines(`{"password":"p"}`), "lines[0].user: is required"},
		{"F15: no password", base(""), lines(`{` + account + `},{"user":"2"}`), "lines[1].password: is required"},
		{"F15: no password on a disabled line", base(""), lines(`{"user":"2","enabled":false}`), "lines[0].password: is required"},
		{"no server", cases.TenantWith(`"model":"D2"`), active(""), "lines[0].server: is required"},
		{"F16: duplicate index", base(""), lines(`{"index":1,` + account + `},{"index":1,` + account + `}`), "lines[1].index: is not above that of the line before"},
		{"F16: falling index", base(""), lines(`{"index":2,` + account + `},{"index":1,` + account + `}`), "lines[1].index: is not above that of the line before"},
		{"F16: index beyond the model", base(""), lines(`{"index":3,` + account + `}`), "lines[0].index: is above the 2 lines of the model"},
		{"F16: more lines than the model has", base(""), lines(`{` + account + `},{` + account + `},{` + account + `}`), "lines[2].index: is above the 2 lines of the model"},
		{"F16: counted on from an index", base(""), lines(`{"index":2,` + account + `},{` + account + `}`), "lines[1].index: is above the 2 lines of the model"},
		{"staged lines are judged, too", base(`"state":"staged"`), lines(`{"user":"1"}`), "lines[0].password: is required"},

		{"check-in below", base(`"timers":{"checkin":{"interval":119}}`), active(""), "timers.checkin.interval: is below the phone's range, which starts at 120 seconds"},
		{"check-in below a unit", base(""), active(`"timers":{"checkin":{"interval":59}}`), "timers.checkin.interval: is below the phone's range, which starts at 120 seconds"},
		{"check-in above", base(`"timers":{"checkin":{"interval":120060}}`), active(""), "timers.checkin.interval: is above the phone's range, which ends at 120000 seconds"},
		{"register below", base(`"timers":{"register":{"interval":29}}`), active(""), "timers.register.interval: is below the phone's range, which starts at 30 seconds"},
		{"register above", base(`"timers":{"register":{"interval":7201}}`), active(""), "timers.register.interval: is above the phone's range, which ends at 7200 seconds"},
		{"subscribe below", base(`"timers":{"subscribe":{"interval":1}}`), active(""), "timers.subscribe.interval: is below the phone's range, which starts at 30 seconds"},
		{"register of a line below", base(""), lines(`{` + account + `},{"register":29,` + account + `}`), "lines[1].register: is below the phone's range, which starts at 30 seconds"},
		{"register of a line above", base(""), lines(`{"register":7201,` + account + `}`), "lines[0].register: is above the phone's range, which ends at 7200 seconds"},
		{"register of the tenant's lines", cases.TenantWith(`"model":"D2","line":{"server":"a","register":29}`), active(""), "line.register: is below the phone's range, which starts at 30 seconds"},
		{"boot above", base(`"timers":{"boot":61}`), active(""), "timers.boot: is above the phone's range, which ends at 60 seconds"},

		{"key without a type", base(`"keys":[{"index":1}]`), active(""), "keys[0].type: is required"},
		{"key index beyond the model", base(""), active(`"keys":[{"index":3,"type":"dnd"}]`), "keys[0].index: is above the 2 keys of the model"},
		{"more keys than the model has", base(""), active(`"keys":[{"type":"dnd"},{"type":"dnd"},{"type":"dnd"}]`), "keys[2].index: is above the 2 keys of the model"},
		{"key on a model without keys", base(`"keys":[{"type":"dnd"}]`), active(`"model":"D1"`), "keys[0].index: is above the 0 keys of the model"},
		{"duplicate key index", base(""), active(`"keys":[{"index":1,"type":"dnd"},{"index":1,"type":"dnd"}]`), "keys[1].index: is not above that of the key before"},
		{"falling key index", base(""), active(`"keys":[{"index":2,"type":"dnd"},{"index":1,"type":"dnd"}]`), "keys[1].index: is not above that of the key before"},
		{"module on a model without", base(""), active(`"keys":[{"module":1,"type":"dnd"}]`), "keys[0].module: is above the 0 modules of the model"},
		{"module beyond the model", base(""), active(`"model":"D4","keys":[{"module":3,"type":"dnd"}]`), "keys[0].module: is above the 2 modules of the model"},
		{"falling module", base(""), active(`"model":"D4","keys":[{"module":1,"type":"dnd"},{"type":"dnd"}]`), "keys[1].module: is below that of the key before"},
		{"key index beyond the module", base(""), active(`"model":"D4","keys":[{"module":2,"index":5,"type":"dnd"}]`), "keys[0].index: is above the 4 keys of a module"},
		{"key of a line that is not there", base(""), active(`"keys":[{"type":"line","line":2}]`), "keys[0].line: is not the index of an enabled line of this device"},
		{"key of a disabled line", base(""), lines(`{` + account + `},{"enabled":false,` + account + `}],"keys":[{"type":"line","line":2}`), "keys[0].line: is not the index of an enabled line of this device"},
		{"blf without value", base(""), active(`"keys":[{"type":"blf"}]`), "keys[0].value: is required for a key of this type"},

		{"codec that the phone lacks", base(`"codecs":["opus","g729"]`), active(""), "codecs[1]: is not a codec of the phone"},
		{"codec twice", base(""), active(`"codecs":["opus","pcma","opus"]`), "codecs[2]: appears twice"},

		{"setting that is not allowed", base(""), active(`"extra":{"acme":{"server.url":"x"}}`), "extra.acme.server.url: is not a setting that a profile may set"},
		{"setting that is denied", base(`"extra":{"acme":{"screen.lock.pin":"x"}}`), active(""), "extra.acme.screen.lock.pin: is not a setting that a profile may set"},
		{"setting that is denied by its full name", base(`"extra":{"acme":{"a.b":"x"}}`), active(""), "extra.acme.a.b: is not a setting that a profile may set"},
		{"setting that is denied, in other case", base(`"extra":{"acme":{"a.B":"x"}}`), active(""), "extra.acme.a.B: is not a setting that a profile may set"},
		{"setting in other case", base(`"extra":{"acme":{"Ring.tone":"x"}}`), active(""), "extra.acme.Ring.tone: is not a setting that a profile may set"},
		{"continuation of an allowed setting", base(`"extra":{"acme":{"ring.tone2":"x"}}`), active(""), "extra.acme.ring.tone2: is not a setting that a profile may set"},
	} {
		switch _, _, err := build(t, c.tenant, c.device); {
		case err == nil:
			t.Errorf("%s: is built", c.name)
		case err.Error() != c.want:
			t.Errorf("%s: %q, want %q", c.name, err, c.want)
		}
	}
	for _, kind := range KeyTypes {
		needs := slices.Contains([]string{"blf", "speed-dial", "intercom", "park", "retrieve-park", "transfer", "dtmf"}, kind)
		if _, _, err := build(t, base(""), active(`"keys":[{"type":"`+kind+`"}]`)); (err != nil) != needs {
			t.Errorf("key %s without value: %v", kind, err)
		}
	}
}

// slots writes places as "module.index".
// The generation of the firmware is a feature of the phone, and decides which body a
// file has.
func TestGenerations(t *testing.T) {
	common, old, colour := &template.Program{}, &template.Program{}, &template.Program{}
	file := &pack.File{Program: common, Variants: []pack.Variant{{Feature: "colour", Program: colour}, {Feature: "old", Program: old}}}
	for _, c := range []struct {
		fields, features string
		program          *template.Program
	}{
		{`"model":"D4"`, `"" 0("new" 0,)`, common},
		{`"model":"D4","firmware":"1.9.9"`, `"" 0("old" 0,)`, old},
		{`"model":"D4","firmware":"1.10"`, `"" 0("new" 0,)`, common},
		{`"model":"D250"`, `"" 0("old" 0,)`, old},
		{`"model":"D250","firmware":"2.0"`, `"" 0("new" 0,)`, common},
		{`"model":"D2","firmware":"1.9"`, `"" 0("blf" 0,)("colour" 0,)("old" 0,)`, colour},
	} {
		phone, _ := mustBuild(t, base(""), active(c.fields))
		if got := show(phone[PhoneFeatures]); got != c.features {
			t.Errorf("%s: %s, want %s", c.fields, got, c.features)
		}
		if Program(phone, file, "") != c.program {
			t.Errorf("%s: another program", c.fields)
		}
	}
	for _, firmware := range []string{"1.0", "1", "0.9.9"} {
		_, _, err := build(t, base(""), active(`"firmware":"`+firmware+`"`))
		if err == nil || err.Error() != "firmware: is not a version that is known of these phones: they begin with 1.1" {
			t.Errorf("%s: %v", firmware, err)
		}
	}
}

func slots(v record.Value) string {
	var s []string
	for _, r := range v.List {
		s = append(s, fmt.Sprintf("%d.%d", r[0].Num, r[1].Num))
	}
	return strings.Join(s, " ")
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, lines, want, free string }{
		{"one", `{}`, "1", "0.2 0.3 0.4"},
		{"counted", `{},{},{}`, "1 2 3", "0.4"},
		{"all", `{},{},{},{}`, "1 2 3 4", ""},
		{"gap", `{"index":2},{"index":4}`, "2 4", "0.1 0.3"},
		{"counted on", `{"index":2},{}`, "2 3", "0.1 0.4"},
		{"disabled first", `{"enabled":false},{}`, "2", "0.1 0.3 0.4"},
		{"disabled last", `{},{"index":4,"enabled":false}`, "1", "0.2 0.3 0.4"},
		{"all disabled", `{"enabled":false}`, "", "0.1 0.2 0.3 0.4"},
	} {
		filled := strings.ReplaceAll(strings.ReplaceAll(c.lines, "}", `,"user":"u","password":"p"}`), "{,", "{")
		phone, timers := mustBuild(t, base(""), cases.DeviceWith(`"model":"D4","lines":[`+filled+`]`))
		var got []string
		for _, l := range phone[PhoneLines].List {
			got = append(got, strconv.FormatInt(l[LineIndex].Num, 10))
		}
		if s := strings.Join(got, " "); s != c.want || slots(phone[PhoneFreeLines]) != c.free {
			t.Errorf("%s: lines %q, free %q, want %q and %q", c.name, s, slots(phone[PhoneFreeLines]), c.want, c.free)
		}
		// One timer for each line that is on, named by its index.
		var names []string
		for _, s := range timers {
			names = append(names, strings.TrimPrefix(s.Name, "register."))
		}
		if s := strings.Join(names, " "); s != strings.TrimSpace("checkin subscribe "+c.want) {
			t.Errorf("%s: timers %q", c.name, s)
		}
	}
}

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		tenant, line string
		port, proxy  int64 // 0 is unset
	}{
		{"", "", 5060, 0},
		{"", `"transport":"udp"`, 5060, 0},
		{"", `"transport":"tcp"`, 5060, 0},
		{"", `"transport":"tls"`, 5061, 0},
		{"", `"transport":"dns-naptr"`, 0, 0},
		{`"transport":"tls"`, "", 5061, 0},
		{`"transport":"tls"`, `"transport":"udp"`, 5060, 0},
		{`"port":5070`, `"transport":"tls"`, 5070, 0},
		{`"port":5070`, `"port":5080`, 5080, 0},
		{"", `"transport":"dns-naptr","port":5090`, 5090, 0},
		{"", `"outbound_proxy":"p"`, 5060, 5060},
		{"", `"outbound_proxy":"p","transport":"tls","port":1`, 1, 5061},
		{"", `"outbound_proxy":"p","transport":"dns-naptr"`, 0, 0},
		{`"outbound_proxy":"p"`, `"outbound_port":7`, 5060, 7},
		{"", `"outbound_port":7`, 5060, 7},
	} {
		tenant := cases.TenantWith(`"model":"D2","line":{"server":"a"` + strings.TrimSuffix(","+c.tenant, ",") + `}`)
		phone, _ := mustBuild(t, tenant, cases.LineWith(c.line))
		l := phone[PhoneLines].List[0]
		if l[LinePort].Num != c.port || l[LinePort].Set != (c.port != 0) || l[LineOutboundPort].Num != c.proxy || l[LineOutboundPort].Set != (c.proxy != 0) {
			t.Errorf("tenant {%s} line {%s}: port %s, proxy %s, want %d and %d", c.tenant, c.line, show(l[LinePort]), show(l[LineOutboundPort]), c.port, c.proxy)
		}
	}
}

func TestNamesOfALine(t *testing.T) {
	for _, c := range []struct{ line, auth, label, display string }{
		{"", "1001", "1001", "1001"},
		{`"auth_user":"a"`, "a", "1001", "1001"},
		{`"label":"L"`, "1001", "L", "L"},
		{`"display_name":"D"`, "1001", "1001", "D"},
		{`"label":"L","display_name":"D"`, "1001", "L", "D"},
	} {
		phone, _ := mustBuild(t, base(""), cases.LineWith(c.line))
		l := phone[PhoneLines].List[0]
		if l[LineAuthUser].Str != c.auth || l[LineLabel].Str != c.label || l[LineDisplayName].Str != c.display {
			t.Errorf("{%s}: %q %q %q", c.line, l[LineAuthUser].Str, l[LineLabel].Str, l[LineDisplayName].Str)
		}
	}
}

func TestKeys(t *testing.T) {
	const line = `{"user":"u","password":"p","label":"L1"},{"index":3,"user":"u","password":"p","label":"L3"}`
	for _, c := range []struct{ name, model, lines, keys, want, free string }{
		{"nobody said: one for each line", "D4", line, "", "0.1 line 1 L1; 0.2 line 3 L3", "0.3"},
		{"nobody said, disabled line", "D4", `{"user":"u","password":"p","enabled":false},` + line[strings.Index(line, "},")+2:], "", "0.1 line 3 L3", "0.2 0.3"},
		{"nobody said, more lines than keys", "D1", line[:strings.Index(line, ",{")], "", "", ""},
		{"nobody said, no key can be a line", "N3", line, "", "", "0.1 0.2 0.3"},
		{"none at all", "D4", line, `[]`, "", "0.1 0.2 0.3"},
		{"counted", "D4", line, `[{"type":"dnd"},{"type":"hold"}]`, "0.1 dnd 1 -; 0.2 hold 1 -", "0.3"},
		{"gap", "D4", line, `[{"index":2,"type":"dnd"}]`, "0.2 dnd 1 -", "0.1 0.3"},
		{"counted on", "D4", line, `[{"index":2,"type":"dnd"},{"type":"none"}]`, "0.2 dnd 1 -; 0.3 none 1 -", "0.1"},
		{"label from the value", "D4", line, `[{"type":"blf","value":"1002"}]`, "0.1 blf 1 1002", "0.2 0.3"},
		{"label from the line", "D4", line, `[{"type":"line","line":3}]`, "0.1 line 3 L3", "0.2 0.3"},
		{"label of its own", "D4", line, `[{"type":"line","label":"X"},{"type":"blf","value":"2","label":"Y"}]`, "0.1 line 1 X; 0.2 blf 1 Y", "0.3"},
		{"module", "D4", line, `[{"module":1,"type":"dnd"}]`, "1.1 dnd 1 -", "0.1 0.2 0.3 1.2 1.3 1.4"},
		{"phone and module", "D4", line, `[{"type":"dnd"},{"module":1,"index":2,"type":"dnd"},{"module":1,"type":"dnd"}]`, "0.1 dnd 1 -; 1.2 dnd 1 -; 1.3 dnd 1 -", "0.2 0.3 1.1 1.4"},
		{"both modules", "D4", line, `[{"module":1,"index":4,"type":"dnd"},{"module":2,"type":"dnd"}]`, "1.4 dnd 1 -; 2.1 dnd 1 -", "0.1 0.2 0.3 1.1 1.2 1.3 2.2 2.3 2.4"},
	} {
		fields := `"model":"` + c.model + `","lines":[` + c.lines + `]`
		keys := `"keys":` + c.keys
		if c.keys == "" {
			keys = ""
		}
		for who, documents := range map[string][2]string{
			"tenant": {base(keys), cases.DeviceWith(fields)},
			"device": {base(""), cases.DeviceWith(strings.TrimSuffix(fields+","+keys, ","))},
			"both":   {base(`"keys":[{"type":"dnd"},{"type":"dnd"}]`), cases.DeviceWith(strings.TrimSuffix(fields+","+keys, ","))},
		} {
			if who == "both" && c.keys == "" {
				continue
			}
			phone, _ := mustBuild(t, documents[0], documents[1])
			var got []string
			for _, k := range phone[Keys].List {
				label := "-"
				if k[KeyLabel].Set {
					label = k[KeyLabel].Str
				}
				got = append(got, fmt.Sprintf("%d.%d %s %d %s", k[KeyModule].Num, k[KeyIndex].Num, k[KeyType].Str, k[KeyLine].Num, label))
				if !k[KeyModule].Set || !k[KeyIndex].Set || !k[KeyLine].Set {
					t.Errorf("%s, by %s: an incomplete key", c.name, who)
				}
			}
			if s := strings.Join(got, "; "); s != c.want || slots(phone[PhoneFreeKeys]) != c.free {
				t.Errorf("%s, by %s: %q, free %q\nwant %q and %q", c.name, who, s, slots(phone[PhoneFreeKeys]), c.want, c.free)
			}
		}
	}
}

// A phone that waits for its owner has timers and nothing worth stealing.
func TestStaged(t *testing.T) {
	secrets := []string{"secretAdmin", "secretPassword", "secretAuth", "secretUser", "secretLabel", "secretKey", "secretExtra", "secretCode"}
	const fields = `"admin_password":"secretAdmin","pickup_code":"*secretCode","keys":[{"type":"blf","value":"secretKey"}],"extra":{"acme":{"ring.tone":"secretExtra"}},` +
		`"timers":{"boot":20},"time_zone":"UTC","ntp":["a"]`
	const lines = `"lines":[{"user":"secretUser","password":"secretPassword","auth_user":"secretAuth","label":"secretLabel"}]`
	for _, c := range []struct {
		name, tenant, device string
		secret               bool
	}{
		{"active", base(fields), cases.DeviceWith(lines), true},
		{"by the device", base(fields), cases.DeviceWith(`"state":"staged",` + lines), false},
		{"by the tenant", base(`"state":"staged",` + fields), cases.DeviceWith(lines), false},
		{"device's own fields", base(`"state":"staged"`), cases.DeviceWith(fields + "," + lines), false},
		{"without lines", base(fields), cases.DeviceWith(`"state":"staged"`), false},
		{"active again", base(`"state":"staged",` + fields), cases.DeviceWith(`"state":"active",` + lines), true},
	} {
		phone, timers := mustBuild(t, c.tenant, c.device)
		all := ""
		for i, f := range Phone.Fields {
			if f.Name != "" { // what a template can reach
				all += show(phone[i])
			}
		}
		for _, secret := range secrets {
			if strings.Contains(all, secret) != c.secret {
				t.Errorf("%s: holds %s: %v", c.name, secret, !c.secret)
			}
		}
		names := "checkin subscribe"
		if c.secret {
			names += " register.1"
		}
		var got []string
		for _, s := range timers {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%s: timers %v, want %s", c.name, got, names)
		}
		if !phone[PhoneCheckin].Set || phone[PhoneBoot].Num != 20 || !phone[PhoneZone].Set || !phone[NTP].Set {
			t.Errorf("%s: lacks what is no secret", c.name)
		}
		if !c.secret && (slots(phone[PhoneFreeLines]) != "0.1 0.2" || slots(phone[PhoneFreeKeys]) != "0.1 0.2") {
			t.Errorf("%s: free lines %s, free keys %s", c.name, slots(phone[PhoneFreeLines]), slots(phone[PhoneFreeKeys]))
		}
	}
}

func TestStateAndVendor(t *testing.T) {
	for _, c := range []struct{ tenant, device, state, vendor string }{
		{"", "", Active, ""},
		{`"state":"staged","vendor":"a"`, "", Staged, "a"},
		{"", `"state":"disabled","vendor":"b"`, Disabled, "b"},
		{`"state":"disabled","vendor":"a"`, `"state":"active","vendor":"b"`, Active, "b"},
	} {
		tenant, device := mustParse(t, cases.Tenant, cases.TenantWith(c.tenant)), mustParse(t, cases.Device, cases.DeviceWith(c.device))
		if got := State(tenant, device); got != c.state {
			t.Errorf("tenant {%s} device {%s}: state %q", c.tenant, c.device, got)
		}
		if got := VendorOf(tenant, device); got != c.vendor {
			t.Errorf("tenant {%s} device {%s}: vendor %q", c.tenant, c.device, got)
		}
	}
}

// The timers that reach package spread, with interval, window and floor from
// where they should come, and the value in the unit of the phone.
func TestTimers(t *testing.T) {
	timer := func(interval, window, floor uint64, p pack.Timer, place spread.Place) spread.Timer {
		return spread.Timer{Interval: interval, Window: window, Floor: floor, Unit: p.Unit, Min: p.Min, Max: p.Max, Place: place}
	}
	for _, c := range []struct {
		name, tenant, device string
		want                 []Spread
	}{
		{"nobody said", base(""), active(""), []Spread{
			{Name: "checkin", Timer: timer(86400, 14400, 3600, acme.Checkin, spread.Jump)},
			{Name: "subscribe", Timer: timer(3600, 600, 60, acme.Subscribe, spread.Jump)},
			{Name: "register.1", Timer: timer(3600, 600, 60, acme.Register, spread.Jump)},
		}},
		{"merged, modulo", base(`"place":"modulo-1","timers":{"checkin":{"interval":7200,"window":60},"register":{"floor":45}}`), active(`"timers":{"checkin":{"window":120,"floor":180}}`), []Spread{
			{Name: "checkin", Timer: timer(7200, 120, 180, acme.Checkin, spread.Modulo)},
			{Name: "subscribe", Timer: timer(3600, 600, 60, acme.Subscribe, spread.Modulo)},
			{Name: "register.1", Timer: timer(3600, 600, 45, acme.Register, spread.Modulo)},
		}},
		{
			"interval of a line", cases.TenantWith(`"model":"D4","place":"jump-1","line":{"server":"a","register":900},"timers":{"register":{"window":50,"floor":70}}`),
			cases.DeviceWith(`"lines":[{"user":"a","password":"p"},{"index":4,"user":"b","password":"p","register":1800}]`), []Spread{
				{Name: "checkin", Timer: timer(86400, 14400, 3600, acme.Checkin, spread.Jump)},
				{Name: "subscribe", Timer: timer(3600, 600, 60, acme.Subscribe, spread.Jump)},
				{Name: "register.1", Timer: timer(900, 50, 70, acme.Register, spread.Jump)},
				{Name: "register.4", Timer: timer(1800, 50, 70, acme.Register, spread.Jump)},
			},
		},
		{"ends of the phone's range", base(`"timers":{"checkin":{"interval":120000},"register":{"interval":30},"subscribe":{"interval":31622400}}`), active(""), []Spread{
			{Name: "checkin", Timer: timer(120000, 14400, 3600, acme.Checkin, spread.Jump)},
			{Name: "subscribe", Timer: timer(31622400, 600, 60, acme.Subscribe, spread.Jump)},
			{Name: "register.1", Timer: timer(30, 600, 60, acme.Register, spread.Jump)},
		}},
	} {
		phone, timers := mustBuild(t, c.tenant, c.device)
		for i := range c.want {
			c.want[i].Value = c.want[i].Timer.For("001565aabb01", c.want[i].Name)
		}
		if !slices.Equal(timers, c.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.name, timers, c.want)
			continue
		}
		if phone[PhoneCheckin].Num != int64(timers[0].Value.Seconds/60) || phone[PhoneSubscribe].Num != int64(timers[1].Value.Seconds) {
			t.Errorf("%s: checkin %d, subscribe %d", c.name, phone[PhoneCheckin].Num, phone[PhoneSubscribe].Num)
		}
		for i, l := range phone[PhoneLines].List {
			if l[LineRegistration].Num != int64(timers[2+i].Value.Units) {
				t.Errorf("%s: line %d registers for %d", c.name, i, l[LineRegistration].Num)
			}
		}
	}
}

// A phone that looks at the clock comes at a time of the day, in whole days.
func TestTimeOfDay(t *testing.T) {
	clocked := *acme
	clocked.Checkin = pack.Timer{Unit: 60, Days: 30}
	for _, c := range []struct {
		name, timers, want string
		days               int64
		base, window       uint64
		bad                string
	}{
		{name: "nobody said", timers: `{}`, base: 7200, window: 14400, days: 1},
		{name: "a floor means nothing", timers: `{"floor":86400}`, base: 7200, window: 14400, days: 1},
		{name: "every 30 days, past midnight", timers: `{"at":"23:30","window":3600,"interval":2592000}`, base: 84600, window: 3600, days: 30},
		{name: "all at one time", timers: `{"at":"00:00","window":0}`, days: 1},
		{name: "twice a day", timers: `{"interval":43200}`, bad: "timers.checkin.interval: is not a whole number of days from 1 to 30, in seconds: the phone comes at a time of the day"},
		{name: "31 days", timers: `{"interval":2678400}`, bad: "timers.checkin.interval: is not a whole number of days from 1 to 30, in seconds: the phone comes at a time of the day"},
	} {
		b := Builder{Arena: record.NewArena(64)}
		phone, err := b.Build(mustParse(t, cases.Tenant, base(`"timers":{"checkin":`+c.timers+`}`)), mustParse(t, cases.Device, active("")), &clocked, phoneURL)
		if err != nil || c.bad != "" {
			if err == nil || err.Error() != c.bad {
				t.Errorf("%s: %v, want %q", c.name, err, c.bad)
			}
			continue
		}
		want := spread.Timer{Interval: uint64(c.days) * spread.Day, Window: c.window, Floor: b.Timers[0].Timer.Floor, Unit: 60, Days: 30, Base: c.base}
		v := want.For("001565aabb01", "checkin")
		if b.Timers[0] != (Spread{"checkin", want, v}) {
			t.Errorf("%s: %+v, want %+v", c.name, b.Timers[0], want)
		}
		minutes := v.Seconds / 60
		if phone[PhoneCheckin].Num != int64(minutes) || phone[PhoneCheckinHour].Str != fmt.Sprintf("%02d", minutes/60) ||
			phone[PhoneCheckinMinute].Str != fmt.Sprintf("%02d", minutes%60) || phone[PhoneCheckinDays].Num != c.days {
			t.Errorf("%s: %d minutes, %s:%s, %d days", c.name, phone[PhoneCheckin].Num, phone[PhoneCheckinHour].Str, phone[PhoneCheckinMinute].Str, phone[PhoneCheckinDays].Num)
		}
	}
	if what := otherDays(pack.Timer{Days: 1}); what != "is not a day, 86400 seconds: the phone comes at a time of the day" {
		t.Error(what)
	}
	if phone, _ := mustBuild(t, base(""), active("")); phone[PhoneCheckinHour].Set || phone[PhoneCheckinMinute].Set || phone[PhoneCheckinDays].Set {
		t.Error("a phone with an interval has a time of the day")
	}
}

// The parts of a URL, for phones that want it so.
func TestParts(t *testing.T) {
	for _, c := range []struct{ url, host, port, dir string }{
		{"prov.example.com/demo/token", "prov.example.com", "", "demo/token"},
		{"192.0.2.1:8080/p/demo/token", "192.0.2.1", "8080", "p/demo/token"},
		{"[2001:db8::1]/demo/token", "[2001:db8::1]", "", "demo/token"},
		{"[2001:db8::1]:8443/demo/a:b", "[2001:db8::1]", "8443", "demo/a:b"},
		{"prov.example.com", "prov.example.com", "", ""},
	} {
		host, port, dir := inParts(c.url)
		if host.Str != c.host || port.Str != c.port || port.Set != (c.port != "") || dir.Str != c.dir {
			t.Errorf("%s: %q %q %q", c.url, host.Str, port.Str, dir.Str)
		}
	}
}

// A phone that draws the moment itself has the interval as it stands.
func TestNative(t *testing.T) {
	able, unable := *acme, *acme
	able.Checkin.Native, unable.Checkin.Native = 43200, 0
	for _, c := range []struct {
		name, tenant, device string
		pack                 *pack.Pack
		native               bool
		bad                  string
	}{
		{name: "not asked for", tenant: `{"interval":43200}`, device: `{}`, pack: &able},
		{name: "the tenant's", tenant: `{"interval":43200,"strategy":"native"}`, device: `{}`, pack: &able, native: true},
		{name: "the device's own", tenant: `{"interval":43200,"strategy":"native"}`, device: `{"strategy":"interval"}`, pack: &able},
		{name: "too long", tenant: `{"interval":43260,"strategy":"native"}`, device: `{}`, pack: &able, bad: "timers.checkin.strategy: is native, for which the interval is at most 43200 seconds"},
		{name: "a phone without", tenant: `{"strategy":"native"}`, device: `{}`, pack: &unable, bad: "timers.checkin.strategy: is native, and the phone draws no moment over the whole interval"},
	} {
		b := Builder{Arena: record.NewArena(64)}
		phone, err := b.Build(mustParse(t, cases.Tenant, base(`"timers":{"checkin":`+c.tenant+`}`)), mustParse(t, cases.Device, active(`"timers":{"checkin":`+c.device+`}`)), c.pack, phoneURL)
		if err != nil || c.bad != "" {
			if err == nil || err.Error() != c.bad {
				t.Errorf("%s: %v, want %q", c.name, err, c.bad)
			}
			continue
		}
		if v := b.Timers[0]; phone[PhoneCheckinNative].True() != c.native || v.Timer.Native != c.native || (v.Value.Seconds == 43200) != c.native {
			t.Errorf("%s: %v, %+v", c.name, phone[PhoneCheckinNative], v)
		}
	}
}

// The names of timers are salts: a changed name changes every phone's value.
func TestRegisterNames(t *testing.T) {
	for i := int64(1); i <= MaxLines; i++ {
		if got, want := registerName(i), fmt.Sprintf("register.%d", i); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A phone that lacks a timer gets none, and its profile may say what it likes.
func TestPhoneWithoutTimers(t *testing.T) {
	bare := *acme
	bare.Checkin, bare.Register, bare.Subscribe, bare.Boot = pack.Timer{}, pack.Timer{}, pack.Timer{}, pack.Timer{}
	b := Builder{Arena: record.NewArena(64)}
	const odd = `"timers":{"checkin":{"interval":1},"register":{"interval":1},"subscribe":{"interval":1},"boot":3600}`
	phone, err := b.Build(mustParse(t, cases.Tenant, base(odd)), mustParse(t, cases.Device, cases.DeviceWith(`"lines":[{"user":"1","password":"p","register":1},{"user":"2","password":"p","enabled":false}]`)), &bare, phoneURL)
	if err != nil {
		t.Fatal(err)
	}
	if phone[PhoneCheckin].Set || phone[PhoneSubscribe].Set || phone[PhoneBoot].Set || phone[PhoneLines].List[0][LineRegistration].Set || len(b.Timers) != 0 {
		t.Errorf("timers out of nothing: %+v", b.Timers)
	}
}

func TestBoot(t *testing.T) {
	for _, c := range []struct {
		name  string
		timer pack.Timer
		boot  string
		want  int64
		what  string
	}{
		{"in range", pack.Timer{Unit: 1, Max: 60}, "60", 60, ""},
		{"none", pack.Timer{Unit: 1, Max: 60}, "0", 0, ""},
		{"in minutes, rounded down", pack.Timer{Unit: 60, Max: 10}, "119", 1, ""},
		{"less than a minute", pack.Timer{Unit: 60, Max: 10}, "59", 0, "timers.boot: is below the phone's range, which starts at 60 seconds"},
		{"below", pack.Timer{Unit: 1, Min: 5}, "4", 0, "timers.boot: is below the phone's range, which starts at 5 seconds"},
		{"no upper limit", pack.Timer{Unit: 1, Min: 5}, "3600", 3600, ""},
		{"above", pack.Timer{Unit: 60, Min: 1, Max: 2}, "180", 0, "timers.boot: is above the phone's range, which ends at 120 seconds"},
	} {
		p := *acme
		p.Boot = c.timer
		b := Builder{Arena: record.NewArena(64)}
		phone, err := b.Build(mustParse(t, cases.Tenant, base(`"timers":{"boot":`+c.boot+`}`)), mustParse(t, cases.Device, active("")), &p, phoneURL)
		what := ""
		if err != nil {
			what = err.Error()
		} else if got := phone[PhoneBoot]; got.Num != c.want || got.Set != (c.want != 0) {
			t.Errorf("%s: %s, want %d", c.name, show(got), c.want)
		}
		if what != c.what {
			t.Errorf("%s: %q, want %q", c.name, what, c.what)
		}
	}
}

// A model that reads ASCII only is refused every other character that would get into
// its file, and no more than that.
func TestASCII(t *testing.T) {
	const what = ": has a character outside ASCII, which is all that the model reads"
	const two = `"lines":[{"user":"1","password":"p","enabled":false},{"user":"2","password":"p",%s}]`
	for _, c := range []struct{ name, tenant, device, want string }{
		{"plain", base(""), active(`"admin_password":"~!"`), ""},
		{"label of a line", base(""), cases.DeviceWith(fmt.Sprintf(two, `"label":"Zoë"`)), "lines[1].label" + what},
		{"name of a line", base(""), cases.DeviceWith(fmt.Sprintf(two, `"display_name":"支店"`)), "lines[1].display_name" + what},
		{"password of a line", base(""), cases.DeviceWith(fmt.Sprintf(two, `"password":"é"`)), "lines[1].password" + what},
		{"label of a key", base(""), active(`"keys":[{"type":"dnd"},{"type":"dnd","label":"é"}]`), "keys[1].label" + what},
		{"label of a tenant's key", base(`"keys":[{"type":"dnd","label":"é"}]`), active(""), "keys[0].label" + what},
		{"admin password", base(`"admin_password":"é"`), active(""), "admin_password" + what},
		{"phonebook", base(`"phonebook":{"name":"é","url":"http://a/"}`), active(""), "phonebook.name" + what},
		{"setting", base(`"extra":{"acme":{"a.c":"1","ring.tone":"é"}}`), active(""), "extra.acme.ring.tone" + what},
		{"setting of another vendor", base(`"extra":{"other":{"ring.tone":"é"}}`), active(""), ""},
		{"staged", base(`"state":"staged","phonebook":{"name":"é","url":"http://a/"}`), active(""), ""},
	} {
		c.tenant = strings.Replace(c.tenant, `"D2"`, `"A2"`, 1)
		c.device = strings.Replace(c.device, `"password":"p","password"`, `"password"`, 1)
		_, _, err := build(t, c.tenant, c.device)
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if _, _, err := build(t, strings.Replace(c.tenant, `"A2"`, `"D2"`, 1), c.device); err != nil {
			t.Errorf("%s, on a model that reads all: %v", c.name, err)
		}
	}
}

// Settings of the device's vendor, sorted; the device's own win.
func TestExtra(t *testing.T) {
	for _, c := range []struct{ name, tenant, device, want string }{
		{"none", "", "", ""},
		{"empty", `"extra":{"acme":{}}`, `"extra":{}`, ""},
		{"tenant", `"extra":{"acme":{"ring.tone":"1"}}`, "", "ring.tone=1"},
		{"device", "", `"extra":{"acme":{"ring.tone":"1"}}`, "ring.tone=1"},
		{"both add up", `"extra":{"acme":{"screen.z":"1","a.c":"2"}}`, `"extra":{"acme":{"ring.tone":"3"}}`, "a.c=2 ring.tone=3 screen.z=1"},
		{"the device wins", `"extra":{"acme":{"ring.tone":"1","a.c":"2"}}`, `"extra":{"acme":{"ring.tone":"3"}}`, "a.c=2 ring.tone=3"},
		{"sorted as bytes", `"extra":{"acme":{"a.b2":"1","a.C":"2","a._":"3","a.b10":"4"}}`, "", "a.C=2 a._=3 a.b10=4 a.b2=1"},
		{"other vendor", `"extra":{"other":{"ring.tone":"1","server.url":"x"},"acme2":{"ring.tone":"2"}}`, "", ""},
		{"vendor in other case", `"extra":{"Acme":{"ring.tone":"1"}}`, "", ""},
	} {
		phone, _ := mustBuild(t, base(c.tenant), active(c.device))
		var got []string
		for _, s := range phone[PhoneExtra].List {
			got = append(got, s[PairName].Str+"="+s[PairValue].Str)
		}
		if s := strings.Join(got, " "); s != c.want || !phone[PhoneExtra].Set {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

func TestZones(t *testing.T) {
	for _, c := range []struct{ zone, want string }{
		{"UTC", "+0:0 dst=0 save=0"},
		{"Asia/Kolkata", "+5:30 dst=0 save=0"},
		{"Asia/Kathmandu", "+5:45 dst=0 save=0"},
		{"America/Phoenix", "-7:0 dst=0 save=0"},
		{"Europe/Belgrade", "+1:0 dst=1 save=60 start=3/5/0/7/2/1 end=10/5/0/7/3/1"},
		{"Europe/Dublin", "+0:0 dst=1 save=60 start=3/5/0/7/1/1 end=10/5/0/7/2/1"},
		{"America/St_Johns", "-3:30 dst=1 save=60 start=3/2/0/7/2/1 end=11/1/0/7/2/1"},
		{"Australia/Lord_Howe", "+10:30 dst=1 save=30 start=10/1/0/7/2/1 end=4/1/0/7/2/1"},
		{"Africa/Cairo", "+2:0 dst=1 save=60 start=4/5/5/5/0/1 end=10/5/4/4/24/0"},
		{"America/Nuuk", "-2:0 dst=1 save=60 start=3/5/0/7/-1/0 end=10/5/0/7/0/1"},
	} {
		for _, documents := range [][2]string{
			{base(`"time_zone":"` + c.zone + `"`), active("")},
			{base(`"time_zone":"Asia/Tokyo"`), active(`"time_zone":"` + c.zone + `"`)},
		} {
			phone, _ := mustBuild(t, documents[0], documents[1])
			z := phone[PhoneZone].List[0]
			got := fmt.Sprintf("%s%d:%d dst=%d save=%d", z[1].Str, z[2].Num, z[3].Num, z[4].Num, z[5].Num)
			for i, name := range []string{" start=", " end="} {
				if z[6+i].Set {
					c := z[6+i].List[0]
					got += name + fmt.Sprintf("%d/%d/%d/%d/%d/%d", c[0].Num, c[1].Num, c[2].Num, c[3].Num, c[4].Num, c[5].Num)
				}
			}
			if got != c.want || z[0].Str != c.zone {
				t.Errorf("%s: %s, want %s", c.zone, got, c.want)
			}
		}
	}
}

// A tool parses a tenant once and builds all its devices: no phone leaves traces
// in the next, and the order of devices does not matter.
func TestPhonesDoNotMeet(t *testing.T) {
	tenant := base(`"keys":[{"type":"line"},{"type":"blf","value":"9"}],"phonebook":{"url":"http://a/"},"timers":{"register":{}},"extra":{"acme":{"a.c":"1"}}`)
	devices := []string{
		cases.DeviceWith(`"lines":[{"user":"1","password":"p","label":"First"}],"phonebook":{"name":"Mine"},"timers":{"register":{"floor":99}}`),
		cases.DeviceWith(`"lines":[{"user":"2","password":"p","label":"Second"}],"extra":{"acme":{"a.c":"2"}}`),
		cases.AllDevice,
		cases.DeviceWith(`"state":"staged"`),
		cases.DeviceWith(`"lines":[{"user":"3","password":"p"}],"model":"D4"`),
	}
	var want []string
	for _, d := range devices {
		phone, timers := mustBuild(t, tenant, d)
		want = append(want, show(record.Value{Set: true, List: []record.Record{phone}})+fmt.Sprint(timers))
	}
	documents := record.NewArena(1024)
	parsed, err := Parse(Tenant, tenant, documents)
	if err != nil {
		t.Fatal(err)
	}
	before := show(record.Value{Set: true, List: []record.Record{parsed}})
	b := Builder{Arena: record.NewArena(16)}
	for round := range 3 {
		for i := range devices {
			i = (i*3 + round) % len(devices)
			b.Arena.Reset()
			device := mustParse(t, cases.Device, devices[i])
			for range 2 { // the same documents twice are the same phone
				phone, err := b.Build(parsed, device, acme, phoneURL)
				if err != nil {
					t.Fatal(err)
				}
				if got := show(record.Value{Set: true, List: []record.Record{phone}}) + fmt.Sprint(b.Timers); got != want[i] {
					t.Errorf("device %d in round %d:\n%s\nalone:\n%s", i, round, got, want[i])
				}
			}
		}
	}
	if after := show(record.Value{Set: true, List: []record.Record{parsed}}); before != after {
		t.Errorf("the tenant became\n%s\nwas\n%s", after, before)
	}
}

// The tables of positions are beside the tables of fields.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		schema *record.Schema
		at     int
		name   string
	}{
		{Tenant, Vendor, "vendor"}, {Tenant, StateField, "state"}, {Tenant, ExtraField, "extra"}, {Tenant, TenantID, "tenant"}, {Tenant, TenantSchema, "schema"},
		{Tenant, TenantSpread, "spread"}, {Tenant, TenantPlace, "place"}, {Tenant, TenantURL, "url"}, {Tenant, TenantAuth, "auth"}, {Tenant, TenantLine, "line"},
		{Device, Model, "model"}, {Device, Firmware, "firmware"}, {Device, Keys, "keys"}, {Device, TimeZone, "time_zone"}, {Device, Language, "language"},
		{Device, NTP, "ntp"}, {Device, AdminPassword, "admin_password"}, {Device, CodecsField, "codecs"}, {Device, PickupCode, "pickup_code"},
		{Device, PhonebookField, "phonebook"}, {Device, FirmwareURL, "firmware_url"}, {Device, TimersField, "timers"},
		{Device, DeviceMAC, "device"}, {Device, DeviceTenant, "tenant"}, {Device, DeviceSchema, "schema"}, {Device, DeviceGeneration, "generation"}, {Device, DeviceLines, "lines"},
		{LineDefaults, LineEnabled, "enabled"}, {Line, LineServer, "server"}, {Line, LinePort, "port"}, {Line, LineTransport, "transport"},
		{Line, LineOutboundProxy, "outbound_proxy"}, {Line, LineOutboundPort, "outbound_port"}, {Line, LineRegister, "register"}, {Line, LineSRTP, "srtp"},
		{Line, LineVoicemail, "voicemail"}, {Line, LineMWI, "mwi"}, {Line, LineIndex, "index"}, {Line, LineUser, "user"}, {Line, LineAuthUser, "auth_user"},
		{Line, LinePassword, "password"}, {Line, LineLabel, "label"}, {Line, LineDisplayName, "display_name"}, {PhoneLine, LineRegistration, "registration"},
		{Key, KeyModule, "module"}, {Key, KeyIndex, "index"}, {Key, KeyType, "type"}, {Key, KeyLine, "line"}, {Key, KeyValue, "value"}, {Key, KeyLabel, "label"}, {Key, KeyPickup, "pickup"},
		{Timer, TimerInterval, "interval"}, {Timer, TimerWindow, "window"}, {Timer, TimerFloor, "floor"}, {Checkin, TimerFloor, "floor"}, {Checkin, CheckinAt, "at"}, {Checkin, CheckinStrategy, "strategy"},
		{Timers, TimersCheckin, "checkin"}, {Timers, TimersRegister, "register"}, {Timers, TimersSubscribe, "subscribe"}, {Timers, TimersBoot, "boot"},
		{Phonebook, PhonebookName, "name"}, {Phonebook, PhonebookURL, "url"}, {Setting, PairName, "name"}, {Setting, PairValue, "value"}, {Extra, PairName, "vendor"}, {Extra, PairValue, "settings"},
		{Phone, PhoneMAC, "mac"}, {Phone, PhoneMACUpper, "MAC"}, {Phone, PhoneTenant, "tenant"}, {Phone, PhoneURL, "url"}, {Phone, PhoneCheckin, "checkin"},
		{Phone, PhoneSubscribe, "subscribe"}, {Phone, PhoneBoot, "boot"}, {Phone, PhoneZone, "zone"}, {Phone, PhoneLines, "lines"}, {Phone, PhoneFreeLines, "free_lines"},
		{Phone, PhoneFreeKeys, "free_keys"}, {Phone, PhoneCodecs, "codecs"}, {Phone, PhoneExtra, "extra"}, {Phone, PhoneFeatures, "features"},
		{Phone, PhonePhonebookPath, "phonebook_path"}, {Phone, PhoneCheckinHour, "checkin_hour"}, {Phone, PhoneCheckinMinute, "checkin_minute"}, {Phone, PhoneCheckinDays, "checkin_days"},
		{Phone, PhoneURLHost, "url_host"}, {Phone, PhoneURLPort, "url_port"}, {Phone, PhoneURLDir, "url_dir"},
		{Phone, PhoneCheckinNative, "checkin_native"},
		{Phone, AdminPassword, "admin_password"}, {Phone, Keys, "keys"},
	} {
		if got := c.schema.Fields[c.at].Name; got != c.name {
			t.Errorf("field %d of %s is %q, want %q", c.at, c.schema.Name, got, c.name)
		}
	}
	// A hidden field has no name that a template could use.
	for _, s := range []*record.Schema{Phone, PhoneLine} {
		for i, f := range s.Fields {
			if f.Hidden != (f.Name == "") {
				t.Errorf("field %d of %s: hidden %v, name %q", i, s.Name, f.Hidden, f.Name)
			}
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	tenant, device := mustParse(b, cases.Tenant, cases.AllTenant), mustParse(b, cases.Device, cases.AllDevice)
	builder := Builder{Arena: record.NewArena(1024)}
	b.ReportAllocs()
	for b.Loop() {
		builder.Arena.Reset()
		if _, err := builder.Build(tenant, device, acme, phoneURL); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPosixZones(t *testing.T) {
	for name, want := range map[string]string{
		"Europe/Belgrade":     "STD-1DST-2,M3.5.0/2,M10.5.0/3",
		"America/New_York":    "STD5DST4,M3.2.0/2,M11.1.0/2",
		"Australia/Sydney":    "STD-10DST-11,M10.1.0/2,M4.1.0/3",
		"Asia/Kolkata":        "STD-5:30",
		"America/St_Johns":    "STD3:30DST2:30,M3.2.0/2,M11.1.0/2",
		"Australia/Lord_Howe": "STD-10:30DST-11,M10.1.0/2,M4.1.0/2",
		"Europe/Dublin":       "STD0DST-1,M3.5.0/1,M10.5.0/2",
		"America/Nuuk":        "STD2DST1,M3.5.0/-1,M10.5.0/0",
		"Pacific/Chatham":     "STD-12:45DST-13:45,M9.5.0/2:45,M4.1.0/3:45",
		"Etc/UTC":             "STD0",
	} {
		if got := posixTZ(zone.Find(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
