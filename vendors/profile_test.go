package vendors_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/edge/spread"
	"stagger/edge/zone"
)

// device is a made-up phone: its two documents, and what they come to, worked out
// here and not by the core.
type device struct {
	tenantDocument, deviceDocument string

	mac    string
	staged bool
	// password says that the phone has to show one with its URL.
	password bool
	model    pack.Model
	// generation is that of its firmware, "" where the vendor has only one.
	generation string
	lines      []line // those that are enabled
	keys       []key
	timers     [3]spread.Timer // checkin, register, subscribe
	boot       uint64
	// What the documents say, "" where they say nothing.
	admin, language, pickup, firmwareURL, bookName, bookURL string
	ntp, codecs                                             []string
	// values are all texts that a person has typed; secrets those of them that are
	// nobody's business.
	values, secrets []string
	extra           map[string]string
}

type line struct {
	index                                    int
	user, authUser, password, label, display string
	server, transport, proxy, srtp, mailbox  string
	port, proxyPort                          int
	mwi                                      bool
	register                                 uint64
}

type key struct {
	module, index, line        int
	kind, value, label, pickup string
}

// Texts that are legal, and awkward for one format or another.
var (
	labels = []string{
		"Reception", "O'Neil & Sons <Sales>", "Zoë Müller-Łuczak", `"Front" desk`, "#1 Support", "a;b,c", "50% off", `C:\temp\n`, "日本 支店", "R&D; QA", "x=y", "= =",
		"account.1.enable = 0", "sip:100@pbx:5061", "# overwrite_mode = 1", `include:config "http://evil.example/x.cfg"`, "%null%", "NULL", "{{.password}}", "<no value>", "%!s(MISSING)",
		"__label__", "%%x%%", "$MAC", "${user}", "[general]", "//", "-", "🍕🍕", strings.Repeat("long", 24), "a  b", "]]>", "<!--", "&amp;",
	}
	passwords = []string{"e3#rl2(&ae#1", `a<b&"c'`, "two words", "=", "#", "%41", "100%", `\`, "{{.url}}", "ü", ";", "a=b=c", "$(x)", "]]>", "\u00a0x"}
	hosts     = []string{"pbx.example", "192.0.2.1", "[2001:db8::1]", "a_b.example", "sip"}
	users     = []string{"1001", "alice", "+38111222333", "a.b-c_d", "a&b", "a;b=c", "%41", "*9#"}
	dials     = []string{"700", "*97", "#31#", "sip:a@b.example", "+38111222333", "9,,1", "(0)11"}
)

// dice makes one device. shape decides what is there and how many of it, value
// which bytes it has: with the same shape two devices have the same lines in their
// files.
type dice struct {
	shape, value   *rand.Rand
	tenant, device map[string]any
	made           *device
	carries        func(s string, label bool) bool
}

// text is a text of a list, seldom one that the format cannot carry.
func (d *dice) text(list []string, label bool) string {
	s := oneOf(d.value, list)
	if d.carries == nil || d.value.IntN(300) == 0 {
		return s
	}
	for !d.carries(s, label) {
		s = oneOf(d.value, list)
	}
	return s
}

func (d *dice) maybe(in int) bool { return d.shape.IntN(in) == 0 }

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// random is n letters and digits, by which a value is found again.
func (d *dice) random(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"[d.value.IntN(56)]
	}
	return string(b)
}

func (d *dice) label() string { return d.shown(true) }

// shown is a text of a label, or of a setting that is not one.
func (d *dice) shown(label bool) string {
	s := d.readable(d.text(labels, label))
	switch d.value.IntN(200) {
	case 0:
		s = "%NULL%" // what it says is to reset the parameter: refused
	case 1:
		s = "line\nbreak"
	}
	d.made.values = append(d.made.values, s)
	return s
}

func (d *dice) secret() string {
	s := d.readable(d.text(passwords, false)) + d.random(12)
	if d.value.IntN(2) == 0 {
		s = d.random(24)
	}
	d.made.values, d.made.secrets = append(d.made.values, s), append(d.made.secrets, s)
	return s
}

// readable makes ASCII of a text for a model that reads nothing else. Such models
// seldom get something else, or nearly all of them would be refused.
func (d *dice) readable(s string) string {
	if !d.made.model.ASCII || d.value.IntN(100) == 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return r
		}
		return 'x'
	}, s)
}

// set writes a setting into the documents: of the tenant, of the device, or of
// both, and then the device's counts.
func (d *dice) set(name string, v, other any) {
	switch d.shape.IntN(3) {
	case 0:
		d.tenant[name] = v
	case 1:
		d.device[name] = v
	case 2:
		d.tenant[name], d.device[name] = other, v
	}
}

// words are the words of a vendor's table, in order.
func words(s *source.Descriptor, table string) (list []string) {
	for word := range s.Tables[table] {
		list = append(list, word)
	}
	slices.Sort(list)
	return list
}

// randomDevice makes a device of this vendor.
func randomDevice(s *source.Descriptor, settings []string, shapeSeed, valueSeed uint64) *device {
	d := &dice{
		shape: rand.New(rand.NewPCG(shapeSeed, 1)), value: rand.New(rand.NewPCG(valueSeed, 2)),
		tenant: map[string]any{}, device: map[string]any{}, made: &device{extra: map[string]string{}},
		carries: layouts[s.Vendor].carries,
	}
	made, p := d.made, s.Pack()
	made.model = oneOf(d.shape, p.Models)
	d.firmware(p)
	made.mac = fmt.Sprintf("001565%06x", d.value.IntN(1<<24))
	d.tenant["tenant"], d.device["tenant"], d.device["device"] = "demo", "demo", made.mac
	d.tenant["url"] = oneOf(d.value, []string{"https://prov.example", "http://192.0.2.1:8080/p/", "https://[2001:db8::1]/%20"})
	d.set("vendor", s.Vendor, "nobody")
	d.set("model", made.model.Name, "none")
	if made.staged = d.maybe(8); made.staged {
		d.set("state", "staged", "active")
	} else if d.maybe(3) {
		d.set("state", "active", "staged")
	}

	d.settings(s)
	d.timers(s)
	d.lines(s)
	d.keys(s)
	for _, name := range settings {
		if d.maybe(4) {
			made.extra[name] = d.shown(false)
		}
	}
	d.set("extra", map[string]any{s.Vendor: made.extra, "nobody": map[string]any{"a": "b"}}, map[string]any{})

	tenant, err := json.Marshal(d.tenant)
	if err != nil {
		panic(err)
	}
	deviceDocument, err := json.Marshal(d.device)
	if err != nil {
		panic(err)
	}
	made.tenantDocument, made.deviceDocument = string(tenant), string(deviceDocument)
	return made
}

// firmware gives a device one of some generation, or leaves it to the model.
func (d *dice) firmware(p pack.Pack) {
	if len(p.Generations) == 0 {
		return
	}
	d.made.generation = d.made.model.Generation
	if d.made.generation == "" {
		d.made.generation = p.Generations[len(p.Generations)-1].Name
	}
	if d.maybe(2) {
		g := oneOf(d.shape, p.Generations)
		d.made.generation = g.Name
		d.set("firmware", strings.ReplaceAll(g.From, "*", "28")+".90", "0.1")
	}
}

// zones are the names of all time zones.
var zones = slices.Collect(zone.Names)

func (d *dice) settings(s *source.Descriptor) {
	switch d.shape.IntN(4) {
	case 0:
		d.tenant["auth"], d.made.password = "basic", true
	case 1:
		d.tenant["auth"], d.made.password = "digest", true
	}
	if d.maybe(2) {
		d.made.admin = d.secret()
		d.set("admin_password", d.made.admin, d.secret())
	}
	if d.maybe(2) {
		d.set("time_zone", oneOf(d.shape, zones), "UTC")
	}
	if list := words(s, "language"); d.maybe(2) && list != nil {
		if fit := layouts[s.Vendor].fitLanguage; fit != nil {
			list = slices.DeleteFunc(list, func(language string) bool { return !fit(s, d.made, language) })
		}
		language := oneOf(d.value, list)
		if d.value.IntN(100) == 0 {
			language = "tlh" // no phone speaks it: refused
		}
		d.made.language = language
		d.set("language", language, list[0])
	}
	if d.maybe(2) {
		d.made.ntp = []string{d.text(hosts, false), d.text(hosts, false)}[:d.shape.IntN(3)]
		d.set("ntp", d.made.ntp, []string{})
	}
	if d.maybe(3) {
		codecs := slices.Clone(s.Codecs)
		if fit := layouts[s.Vendor].fitCodec; fit != nil && !d.maybe(100) {
			codecs = slices.DeleteFunc(codecs, func(name string) bool { return !fit(d.made, name) })
		}
		d.shape.Shuffle(len(codecs), func(i, j int) { codecs[i], codecs[j] = codecs[j], codecs[i] })
		d.made.codecs = codecs[:1+d.shape.IntN(len(codecs))]
		d.set("codecs", d.made.codecs, codecs[:1])
	}
	if d.maybe(2) {
		d.made.pickup = d.text(dials, false)
		d.set("pickup_code", d.made.pickup, "*8")
	}
	if d.maybe(2) {
		// Not in two documents: groups are merged field by field.
		d.made.bookName, d.made.bookURL = d.label(), "https://pbx.example/book.xml?"+d.text([]string{"a=b&c=", "c="}, false)+d.random(8)
		d.tenant["phonebook"] = map[string]any{"name": d.made.bookName, "url": d.made.bookURL}
	}
	if d.maybe(4) {
		d.made.firmwareURL = "http://fw.example/" + d.random(8) + ".rom"
		d.set("firmware_url", d.made.firmwareURL, "http://fw.example/old.rom")
	}
}

// seconds are what a timer has unless a document says otherwise.
var seconds = [3][3]uint64{{86400, 14400, 3600}, {3600, 600, 60}, {3600, 600, 60}}

func (d *dice) timers(s *source.Descriptor) {
	p := s.Pack()
	place := spread.Jump
	if d.maybe(2) {
		d.tenant["place"], place = "modulo-1", spread.Modulo
	}
	timers := map[string]any{}
	for i, name := range []string{"checkin", "register", "subscribe"} {
		vendor := [...]pack.Timer{p.Checkin, p.Register, p.Subscribe}[i]
		n := seconds[i]
		timer := map[string]any{}
		for j, field := range []string{"interval", "window", "floor"} {
			if !d.maybe(2) {
				continue
			}
			n[j] = d.value.Uint64N(100_000)
			if d.value.IntN(4) == 0 {
				n[j] = d.value.Uint64N(200)
			}
			if j == 0 && d.value.IntN(20) > 0 {
				n[j] = max(n[j], vendor.Unit*max(vendor.Min, 1))
				if vendor.Max != 0 {
					n[j] = min(n[j], vendor.Unit*vendor.Max)
				}
			}
			if j != 1 {
				n[j] = max(n[j], 1)
			}
			timer[field] = n[j]
		}
		if len(timer) > 0 {
			timers[name] = timer
		}
		d.made.timers[i] = spread.Timer{Interval: n[0], Window: n[1], Floor: n[2], Unit: vendor.Unit, Min: vendor.Min, Max: vendor.Max, Place: place}
		if vendor.Days > 0 {
			made := &d.made.timers[i]
			made.Days, made.Base = vendor.Days, 7200
			if d.maybe(2) {
				made.Base = d.value.Uint64N(1440) * 60
				timer["at"] = string(spread.AppendClock(nil, made.Base))
			}
			if _, ok := timer["interval"]; ok && d.value.IntN(20) > 0 {
				made.Interval = (1 + d.value.Uint64N(vendor.Days)) * spread.Day
				timer["interval"] = made.Interval
			}
			if len(timer) > 0 {
				timers[name] = timer
			}
		}
	}
	if p.Boot.Unit != 0 && d.maybe(2) {
		d.made.boot = d.value.Uint64N(min(p.Boot.Max*p.Boot.Unit, 3600) + 1)
		timers["boot"] = d.made.boot
	}
	if d.maybe(2) {
		d.tenant["timers"] = timers
	} else {
		d.device["timers"] = timers
	}
}

func (d *dice) lines(s *source.Descriptor) {
	made, room := d.made, int(d.made.model.Lines)
	shared := map[string]any{"server": "tenant.example", "mwi": false}
	d.tenant["line"] = shared
	var list []any
	last := 0
	for range 1 + d.shape.IntN(min(room, 6)) {
		index := last + 1
		if d.maybe(3) {
			index += d.shape.IntN(3)
		}
		if index > room {
			break
		}
		l := line{index: index, user: d.text(users, false), password: d.secret(), server: "tenant.example", transport: "udp", srtp: "off"}
		stored := map[string]any{"user": l.user, "password": l.password}
		made.values = append(made.values, l.user)
		if index != last+1 || d.maybe(2) {
			stored["index"] = index
		}
		text := func(field string, to *string, v string) {
			if d.maybe(2) {
				*to, stored[field] = v, v
			}
		}
		number := func(field string, to *int, v int) {
			if d.maybe(3) {
				*to, stored[field] = v, v
			}
		}
		text("auth_user", &l.authUser, d.secret())
		text("label", &l.label, d.label())
		text("display_name", &l.display, d.label())
		text("server", &l.server, d.text(hosts, false))
		text("transport", &l.transport, oneOf(d.shape, profile.Transports))
		text("outbound_proxy", &l.proxy, d.text(hosts, false))
		text("srtp", &l.srtp, oneOf(d.value, profile.SRTP))
		text("voicemail", &l.mailbox, d.text(dials, false))
		number("port", &l.port, 1+d.value.IntN(65535))
		if l.proxy != "" {
			number("outbound_port", &l.proxyPort, 1+d.value.IntN(65535))
		}
		if d.maybe(3) {
			l.mwi, stored["mwi"] = true, true
		}
		if l.register = made.timers[1].Interval; d.maybe(4) {
			l.register = s.Pack().Register.Unit*max(s.Pack().Register.Min, 1) + d.value.Uint64N(5000)
			stored["register"] = l.register
		}
		if fit := layouts[s.Vendor].fitLine; fit != nil && !d.maybe(100) {
			fit(s, made, &l, stored)
		}
		complete(&l)
		list, last = append(list, stored), index
		if d.maybe(8) {
			stored["enabled"] = false
			continue
		}
		if !made.staged {
			made.lines = append(made.lines, l)
		}
	}
	d.device["lines"] = list
}

// complete is what follows from what a line says.
func complete(l *line) {
	port := map[string]int{"udp": 5060, "tcp": 5060, "tls": 5061, "dns-naptr": 0}[l.transport]
	if l.port == 0 {
		l.port = port
	}
	if l.proxy != "" && l.proxyPort == 0 {
		l.proxyPort = port
	}
	if l.authUser == "" {
		l.authUser = l.user
	}
	if l.label == "" {
		l.label = l.user
	}
	if l.display == "" {
		l.display = l.label
	}
}

func (d *dice) keys(s *source.Descriptor) {
	made := d.made
	if d.maybe(3) {
		// Nobody lays out the keys: one for each line, where keys can be lines.
		for i, l := range made.lines {
			if i < int(made.model.Keys) && !made.model.NoLineKeys {
				made.keys = append(made.keys, key{index: i + 1, line: l.index, kind: "line", label: l.label})
			}
		}
		return
	}
	var list []any
	for module := 0; module <= int(made.model.Modules); module++ {
		room, last := int(made.model.Keys), 0
		if module > 0 {
			room = int(made.model.ModuleKeys)
		}
		if module > 0 && !d.maybe(3) {
			continue
		}
		for range d.shape.IntN(30) {
			index := last + 1
			if d.maybe(4) {
				index += d.shape.IntN(5)
			}
			if index > room {
				break
			}
			k, stored := d.key(words(s, "key"))
			if fit := layouts[s.Vendor].fit; fit != nil && !d.maybe(100) {
				fit(made, &k, stored)
			}
			k.module, k.index = module, index
			if fits := layouts[s.Vendor].fits; fits != nil && !fits(&made.model, k) && !d.maybe(100) {
				continue
			}
			if module > 0 {
				stored["module"] = module
			}
			if index != last+1 || d.maybe(2) {
				stored["index"] = index
			}
			last = index
			list = append(list, stored)
			if !made.staged {
				made.keys = append(made.keys, k)
			}
		}
	}
	if list == nil {
		list = []any{}
	}
	d.set("keys", list, []any{})
}

func (d *dice) key(kinds []string) (key, map[string]any) {
	k := key{line: 1, kind: oneOf(d.shape, kinds)}
	free := []string{"none", "forward", "dnd", "hold", "conference", "dtmf", "directory"}
	if len(d.made.lines) == 0 && !slices.Contains(free, k.kind) {
		k.kind = oneOf(d.shape, free)
	}
	stored := map[string]any{"type": k.kind}
	if len(d.made.lines) > 0 {
		if l := oneOf(d.shape, d.made.lines); l.index != 1 || d.maybe(2) {
			k.line, stored["line"] = l.index, l.index
		}
	}
	if d.maybe(2) || slices.Contains([]string{"blf", "speed-dial", "intercom", "park", "retrieve-park", "transfer", "dtmf"}, k.kind) {
		k.value = d.text(dials, false)
		stored["value"] = k.value
	}
	if d.maybe(2) {
		k.label = d.label()
		stored["label"] = k.label
	}
	if d.maybe(3) {
		k.pickup = d.text(dials, false)
		stored["pickup"] = k.pickup
	}
	if k.label == "" {
		k.label = k.value
		if k.kind == "line" {
			for _, l := range d.made.lines {
				if l.index == k.line {
					k.label = l.label
				}
			}
		}
	}
	return k, stored
}

// timer is the value that a timer of this device has to have, in the unit of the
// phone.
func (d *device) timer(which int, name string, interval uint64) string {
	t := d.timers[which]
	if interval != 0 {
		t.Interval = interval
	}
	return strconv.FormatUint(t.For(d.mac, name).Units, 10)
}

// resets says whether a label that goes into the file would reset the parameter
// that it is the value of.
func (d *device) resets() bool {
	if d.staged {
		return false
	}
	const reset = "%NULL%"
	return d.bookName == reset || slices.Contains(slices.Collect(maps.Values(d.extra)), reset) ||
		slices.ContainsFunc(d.lines, func(l line) bool { return l.label == reset || l.display == reset }) ||
		slices.ContainsFunc(d.keys, func(k key) bool { return k.label == reset })
}
