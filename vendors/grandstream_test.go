package vendors_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
)

func init() {
	layouts["grandstream"] = &layout{
		read: readGrandstream, off: "0", offKey: "-1", unset: true, unescape: unescapeXML,
		enable: func(account int) string { return grandstreamAccount(account, 271, 1) },
		slot:   func(d *device, module, index int) string { return grandstreamPlace(&d.model, module, index) },
		fits:   grandstreamFits,
		timer: func(name string, line int) string {
			switch name {
			case "checkin":
				return "P193"
			case "register":
				return grandstreamAccount(line, 32, 12)
			}
			return "P" + strconv.Itoa(25951+100*line)
		},
		rename: func(d *device, parameter string) string {
			if !grandstreamPorts(&d.model) {
				return parameter
			}
			// The second and third register as ports do.
			return strings.NewReplacer("P412", "P732", "P512", "P532").Replace(parameter)
		},
		fitCodec: func(d *device, name string) bool {
			return !grandstreamPorts(&d.model) || name != map[bool]string{false: "g722", true: "opus"}[slices.Contains(d.model.Features, "dect")]
		},
		wants: grandstreamWants, zone: grandstreamZone,
		settings: []string{"P102", "P122", "P334", "P290", "P1328", "P8346"},
		denied: []string{
			// Where the phone gets its configuration and firmware from, and when.
			"P212", "P237", "P192", "P6767", "P194", "P193", "P8458", "P285", "P286", "P8459", "P145", "P1414", "P8337", "P234", "P235", "P232", "P233", "P240", "P1359", "P1360", "P1361", "P8467", "P238",
			"P6768", "P6769", "P20713", "P4503", "P4504", "P4505", "P4506", "P4511", "P4512",
			// Whom it trusts, and who may open it.
			"P2", "P196", "P22030", "P8463", "P8502", "P8433", "P279", "P280", "P281", "P2311", "P2367", "P1650", "P8469", "P276", "P901", "P22120", "P1357", "P4428", "P26015", "P1382", "P1383",
			// Whom it calls out to, with what is going on.
			"P207", "P208", "P1387", "P8304", "P8310", "P8325", "P337", "P341", "P330", "P331", "P8020", "P8450", "P1591", "P2917", "P934", "P76", "P101",
			// The accounts, emergency calls, and what a second timer would be.
			"P34", "P406", "P1806", "P734", "P735", "P747", "P748", "P732", "P22296", "P4060", "P4120", "P4121", "P27080", "P20721", "P47", "P2312", "P48", "P2333", "P2375", "P2330", "P2430", "P8385", "mac", "config", "gs_provision",
		},
	}
	refusedZones["grandstream"] = refusedZones["yealink"]
}

// empty is what readGrandstream gives for an element without text, so that it
// differs from one that is not there.
const empty = "(empty)"

var grandstreamName = regexp.MustCompile(`^P[1-9][0-9]{0,5}$`)

// readGrandstream reads the file strictly: one element in one line, no attribute
// but the versions, no P-value twice.
func readGrandstream(body []byte) (settings []setting, err error) {
	if !utf8.Valid(body) || !bytes.HasPrefix(body, []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gs_provision version=\"1\">\n<mac>")) || !bytes.HasSuffix(body, []byte("\n</config>\n</gs_provision>\n")) {
		return nil, fmt.Errorf("the frame is not that of a file")
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	seen, path, text := map[string]bool{}, []string{}, ""
	for {
		token, err := d.Token()
		if err == io.EOF {
			return settings, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			path, text = append(path, name), ""
			switch where := strings.Join(path, "/"); {
			case seen[where]:
				return nil, fmt.Errorf("%s is there twice", where)
			case where == "gs_provision" || where == "gs_provision/config":
				if len(token.Attr) != 1 || token.Attr[0].Value != "1" {
					return nil, fmt.Errorf("%s has not just its version", where)
				}
				seen[where] = true
			case len(token.Attr) != 0 || token.Name.Space != "" || where != "gs_provision/mac" && (len(path) != 3 || path[1] != "config" || !grandstreamName.MatchString(name)):
				return nil, fmt.Errorf("an element %s", where)
			default:
				seen[where] = true
			}
		case xml.EndElement:
			if len(path) == 3 || path[len(path)-1] == "mac" {
				if text != strings.Trim(text, " \n\t\r") || strings.ContainsAny(text, "\n\r") {
					return nil, fmt.Errorf("%s is %q", path, text)
				}
				if text == "" {
					text = empty
				}
				settings = append(settings, setting{path[len(path)-1], text})
			} else if strings.TrimSpace(text) != "" {
				return nil, fmt.Errorf("text %q", text)
			}
			path, text = path[:len(path)-1], ""
		case xml.CharData:
			text += string(token)
		case xml.ProcInst:
		default:
			return nil, fmt.Errorf("%T in the file", token)
		}
	}
}

// grandstreamAccount is the P-value of an account: one in the list of the first, and
// for the others a distance from their hundreds.
func grandstreamAccount(account, first, distance int) string {
	switch {
	case account == 1:
		return "P" + strconv.Itoa(first)
	case account <= 4:
		return "P" + strconv.Itoa(200+100*account+distance)
	case account > 6:
		return "P0"
	}
	return "P" + strconv.Itoa(1200+100*account+distance)
}

// grandstreamPorts says whether this is an adapter or a base station.
func grandstreamPorts(m *pack.Model) bool { return m.Name[:2] == "HT" || m.Name[:2] == "DP" }

// grandstreamPort is what the file says of a port of an adapter, or of an account of
// a base station, its server and its handset.
func grandstreamPort(want map[string]string, d *device, l line, text func(string) string, address func(string, int) string) {
	n := l.index - 1
	set := func(value string, numbers ...int) { want["P"+strconv.Itoa(numbers[n])] = value }
	next := func(value string, first int) { want["P"+strconv.Itoa(first+n)] = value }
	set("1", 271, 401, 501, 601)
	set(address(l.server, l.port), 47, 747, 547, 602)
	set(empty, 967, 987, 997, 998)
	set(address(l.proxy, l.proxyPort), 48, 748, 548, 603)
	if strings.HasPrefix(d.model.Name, "DP") {
		next("1", 4595)
		next(strconv.Itoa(n), 4150)
		next(l.user, 4060)
		next(l.authUser, 4090)
		next(l.password, 4120)
		next(l.display, 4180)
		next(strconv.Itoa(l.index), 27080)
		next(l.label, 27020)
		set(strconv.Itoa(l.index), 4300, 4310, 4320, 4250)
		next(text(l.mailbox), 27680)
	} else {
		set(empty, 2333, 2433)
		set(l.user, 35, 735)
		set(l.authUser, 36, 736)
		set(l.password, 34, 734)
		set(l.display, 3, 703)
	}
	set(map[bool]string{false: "0", true: "1"}[l.mwi], 99, 709, 509, 615)
	set(map[bool]string{false: "0", true: "2"}[l.transport == "dns-naptr"], 103, 702, 502, 608)
	set(map[string]string{"udp": "0", "tcp": "1", "tls": "2", "dns-naptr": "0"}[l.transport], 130, 830, 530, 4648)
	set("1", 31, 731, 531, 610)
	set(d.timer(1, "register."+strconv.Itoa(l.index), l.register), 32, 732, 532, 612)
	set("60", 138, 471, 571, 671)
	set(map[string]string{"off": "0", "optional": "1", "required": "2"}[l.srtp], 183, 443, 543, 643)
}

// grandstreamKeys says how many virtual keys of the phone there are before those
// with paper labels, and how many of them are numbered as line keys are.
func grandstreamKeys(model string) (virtual, first int) {
	switch model {
	case "GXP1628", "GXP1630":
		return 0, 0
	case "GXP2130":
		return 3, 3
	case "GXP2140":
		return 4, 4
	case "GXP2160":
		return 6, 6
	case "GXP2170":
		return 48, 12
	case "GXP2135", "GXP1780", "GXP1782":
		return 48, 8
	case "GRP2614", "GRP2616":
		return 16, 0
	}
	return 48, 0
}

// grandstreamNumbers are the P-values of a key: mode, account, label, value.
func grandstreamNumbers(model string, module, index int) [4]int {
	row := func(at int) [4]int { return [4]int{at, at + 1, at + 2, at + 3} }
	virtual, _ := grandstreamKeys(model)
	paper := index - virtual
	switch {
	case module > 4 || module > 0 && index > 40:
	case module > 0:
		return row(23000 + 5*(40*(module-1)+index-1))
	case index <= virtual && index <= 6:
		return [4]int{1363 + 2*(index-1), 1364 + 2*(index-1), 1465 + 2*(index-1), 1466 + 2*(index-1)}
	case index <= virtual:
		return row(23800 + 4*(index-7))
	case virtual == 48:
	case paper <= 7:
		return [4]int{323 + paper - 1, 301 + 3*(paper-1), 302 + 3*(paper-1), 303 + 3*(paper-1)}
	case paper <= 18:
		return row(353 + 4*(paper-8))
	case paper <= 24:
		return row(1440 + 4*(paper-19))
	}
	return [4]int{}
}

func grandstreamPlace(m *pack.Model, module, index int) string {
	return "P" + strconv.Itoa(grandstreamNumbers(m.Name, module, index)[0])
}

func grandstreamFits(m *pack.Model, k key) bool {
	virtual, first := grandstreamKeys(m.Name)
	words, here := strings.HasPrefix(m.Name, "GRP"), k.module == 0 && k.index <= virtual
	switch {
	case k.pickup != "":
		return false
	case k.kind == "line":
		return here && (words || k.index <= first)
	case k.kind == "forward" || k.kind == "dnd":
		return words || here && strings.HasPrefix(m.Name, "GXP21")
	}
	return true
}

// The modes of a key by number, and by word.
var (
	grandstreamMode = map[string]int{"none": -1, "speed-dial": 0, "blf": 1, "dtmf": 5, "voicemail": 6, "transfer": 8, "park": 9, "intercom": 10, "conference": 12, "retrieve-park": 16, "forward": 21, "dnd": 22}
	grandstreamWord = map[string]string{
		"none": "-1", "line": "default", "speed-dial": "speeddial", "blf": "blf", "dtmf": "dialdtmf", "voicemail": "voicemail", "transfer": "transfer",
		"park": "callpark", "intercom": "intercom", "conference": "conference", "retrieve-park": "monitoredcp", "forward": "forward", "dnd": "dnd",
	}
	grandstreamCodec = map[string]string{"pcmu": "0", "g726-32": "2", "pcma": "8", "g722": "9", "g729": "18", "ilbc": "98", "opus": "123"}
)

// grandstreamWants is what the file has to say for a phone.
func grandstreamWants(s *source.Descriptor, d *device) map[string]string {
	text := func(s string) string {
		if s == "" {
			return empty
		}
		return s
	}
	apart := func(url string) string { return strings.TrimSuffix(url[strings.Index(url, "://")+3:], "/") }
	want := map[string]string{
		"mac": d.mac, "P194": "1", "P8458": "0", "P212": "2", "P237": apart(ownURL), "P145": "0", "P1414": "0", "P330": "0", "P331": empty,
		"P1362": s.Tables["language"][d.language], "P2": "", "P1360": "", "P1361": "", "P6767": "", "P192": "", "P30": "", "P8333": "", "P144": "", "P2330": "",
	}
	if d.admin != "" && !d.staged {
		want["P2"] = d.admin
	}
	if d.password {
		want["P1360"], want["P1361"] = d.mac, ownPassword
	}
	if d.firmwareURL != "" {
		want["P6767"], want["P192"] = "1", apart(d.firmwareURL)
	}
	if d.bookURL != "" && !d.staged {
		want["P330"], want["P331"] = "3", apart(d.bookURL)
	}
	if len(d.ntp) > 0 {
		want["P30"], want["P8333"], want["P144"] = d.ntp[0], empty, "0"
		if len(d.ntp) > 1 {
			want["P8333"] = d.ntp[1]
		}
	}
	ports := grandstreamPorts(&d.model)
	if ports {
		want["P1362"], want["P330"], want["P331"] = "", "", ""
		switch {
		case strings.HasSuffix(d.model.Name, "V2"):
			want["P194"], want["P22296"] = "", "1"
		case d.model.Name[:2] == "HT":
			want["P194"] = "3"
		}
	}
	address := func(host string, port int) string {
		if host != "" && port != 0 {
			return host + ":" + strconv.Itoa(port)
		}
		return text(host)
	}
	lamps := slices.Contains(d.model.Features, "blf")
	for _, l := range d.lines {
		if ports {
			grandstreamPort(want, d, l, text, address)
			continue
		}
		set := func(first, distance int, value string) {
			want[grandstreamAccount(l.index, first, distance)] = value
		}
		set(271, 1, "1")
		set(270, 17, l.label)
		set(47, 2, address(l.server, l.port))
		set(48, 3, address(l.proxy, l.proxyPort))
		set(35, 4, l.user)
		set(36, 5, l.authUser)
		set(34, 6, l.password)
		set(3, 7, l.display)
		set(33, 26, text(l.mailbox))
		set(99, 15, map[bool]string{false: "0", true: "1"}[l.mwi])
		set(103, 8, map[bool]string{false: "0", true: "2"}[l.transport == "dns-naptr"])
		set(130, 48, map[string]string{"udp": "0", "tcp": "1", "tls": "2", "dns-naptr": "0"}[l.transport])
		set(31, 10, "1")
		set(32, 12, d.timer(1, "register."+strconv.Itoa(l.index), l.register))
		set(138, 71, "60")
		set(183, 43, map[string]string{"off": "0", "optional": "1", "required": "2"}[l.srtp])
		want["P"+strconv.Itoa(2212+100*l.index)], want["P"+strconv.Itoa(2233+100*l.index)] = empty, empty
		subscription, mode := "P"+strconv.Itoa(25951+100*l.index), "P"+strconv.Itoa(6751+l.index)
		want[subscription], want[mode] = "", ""
		set(1347, 81, "")
		if lamps {
			want[subscription], want[mode] = d.timer(2, "subscribe", 0), "0"
			if d.pickup != "" {
				want[mode] = "1"
				set(1347, 81, d.pickup)
			}
		}
	}
	for _, k := range d.keys {
		n := grandstreamNumbers(d.model.Name, k.module, k.index)
		name := func(i int) string { return "P" + strconv.Itoa(n[i]) }
		_, first := grandstreamKeys(d.model.Name)
		mode := grandstreamMode[k.kind]
		switch {
		case strings.HasPrefix(d.model.Name, "GRP"):
			want[name(0)] = grandstreamWord[k.kind]
		case k.kind == "line":
			want[name(0)] = "0"
		case k.module == 0 && k.index <= first && mode >= 0:
			want[name(0)] = strconv.Itoa(mode + 10)
		default:
			want[name(0)] = strconv.Itoa(mode)
		}
		want[name(1)], want[name(2)], want[name(3)] = strconv.Itoa(k.line-1), text(k.label), text(k.value)
	}
	if !d.staged {
		for name, value := range d.extra {
			want[name] = value
		}
	}
	return want
}

var grandstreamRule = regexp.MustCompile(`^STD(-?)(\d{1,2})(?::(\d\d))?(?:DST(-?)(\d{1,2})(?::(\d\d))?,M(\d{1,2})\.([1-5])\.([0-6])/(\d{1,2}),M(\d{1,2})\.([1-5])\.([0-6])/(\d{1,2}))?$`)

// grandstreamZone reads the rule as POSIX has it: hours west of UTC.
func grandstreamZone(t *testing.T, file map[string]string) *clock {
	m := grandstreamRule.FindStringSubmatch(file["P246"])
	if m == nil || len(file["P246"]) > 64 || file["P64"] != "customize" || file["P143"] != "0" {
		t.Fatalf("P64 = %q, P246 = %q, P143 = %q", file["P64"], file["P246"], file["P143"])
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	east := func(i int) int {
		n := 60*number(m[i+1]) + number(m[i+2])
		if m[i] == "-" {
			return n
		}
		return -n
	}
	c := &clock{standard: east(1)}
	if m[5] == "" {
		return c
	}
	c.summer, c.save = true, east(4)-c.standard
	c.start = change{number(m[7]), number(m[8]), number(m[9]), number(m[10])}
	c.end = change{number(m[11]), number(m[12]), number(m[13]), number(m[14])}
	return c
}

// All eight places for codecs are filled: with those that a profile lists, and then
// with the last of them.
func TestGrandstreamCodecs(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "grandstream" {
			return
		}
		for _, names := range [][]string{{"opus"}, {"g722", "pcma"}, {"g726-32", "ilbc", "g729", "pcmu", "pcma", "g722", "opus"}} {
			file := values(config(t, l, p,
				fmt.Sprintf(`{"tenant":"demo","vendor":"grandstream","model":"GXP2170","url":"https://a","line":{"server":"a"},"codecs":["%s"]}`, strings.Join(names, `","`)),
				`{"device":"000b82aabb01","tenant":"demo","lines":[{"user":"1","password":"a"},{"user":"2","password":"a"},{"index":6,"user":"6","password":"a"}]}`))
			for i := range 8 {
				want := grandstreamCodec[names[min(i, len(names)-1)]]
				for _, name := range []string{[]string{"P57", "P58", "P59", "P60", "P61", "P62", "P46", "P98"}[i], "P45" + strconv.Itoa(i+1), "P185" + strconv.Itoa(i+1)} {
					if file[name] != want {
						t.Errorf("%q: %s = %q, want %q", names, name, file[name], want)
					}
				}
			}
		}
	})
}

// The seven places of an adapter and the eight of a base station, and what they do
// not have.
func TestGrandstreamPortCodecs(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "grandstream" {
			return
		}
		for _, c := range []struct {
			model, codecs, names, want string
		}{
			{"HT802", `"opus","ilbc"`, "P57 P58 P59 P60 P61 P62 P46 P757 P762 P814", "123 97 97 97 97 97 97 123 97 97"},
			{"DP750", `"g722","ilbc"`, "P57 P98 P757 P815 P557 P660 P514 P515 P651 P4657 P658", "9 98 9 98 9 98 98 98 9 98 98"},
			{"HT802", `"g722"`, "", ""}, {"DP750", `"opus"`, "", ""},
		} {
			tenant := fmt.Sprintf(`{"tenant":"demo","vendor":"grandstream","model":%q,"url":"https://a","line":{"server":"a"},"codecs":[%s]}`, c.model, c.codecs)
			lines := `{"user":"1","password":"a"},{"user":"2","password":"b"}`
			if c.model == "DP750" {
				lines += `,{"user":"3","password":"c"},{"user":"4","password":"d"}`
			}
			device := `{"device":"000b82aabb01","tenant":"demo","lines":[` + lines + `]}`
			if c.want == "" {
				if _, err := render(tenant, device, p, "config"); err == nil {
					t.Errorf("%s has %s", c.model, c.codecs)
				}
				continue
			}
			file, got := values(config(t, l, p, tenant, device)), []string{}
			for _, name := range strings.Fields(c.names) {
				got = append(got, file[name])
			}
			if strings.Join(got, " ") != c.want || c.model == "HT802" && file["P98"]+file["P815"] != "" {
				t.Errorf("%s: %q", c.model, got)
			}
		}
	})
}

// The phone removes the virtual keys that come after one that is missing in the
// sequence.
func TestGrandstreamKeysAreInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "grandstream" {
			return
		}
		for seed := range uint64(300) {
			d := randomDevice(s, nil, seed, seed)
			body, err := render(d.tenantDocument, d.deviceDocument, p, "config")
			if err != nil {
				continue
			}
			at, list := -1, names(must(l.read(body)))
			for i := 1; i <= int(d.model.Keys); i++ {
				next := slices.Index(list, grandstreamPlace(&d.model, 0, i))
				if next <= at {
					t.Fatalf("seed %d: key %d of %s is not behind the one before", seed, i, d.model.Name)
				}
				at = next
			}
		}
	})
}

// What a model has no key type for is refused, and said to be.
func TestGrandstreamRefusals(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "grandstream" {
			return
		}
		for _, c := range []struct{ model, key, why string }{
			{"GXP2170", `{"index":12,"type":"line"}`, ""},
			{"GXP2170", `{"index":13,"type":"line"}`, "cannot be a line"},
			{"GXP2170", `{"module":1,"type":"line"}`, "cannot be a line"},
			{"GXP2170", `{"module":1,"type":"dnd"}`, "neither forward nor refuse"},
			{"GXP2170", `{"index":13,"type":"dnd"}`, ""},
			{"GXP1782", `{"index":13,"type":"dnd"}`, "neither forward nor refuse"},
			{"GXP1628", `{"type":"line"}`, "cannot be a line"},
			{"GXP2160", `{"index":7,"type":"forward"}`, "neither forward nor refuse"},
			{"GRP2614", `{"index":17,"type":"forward"}`, ""},
			{"GRP2614", `{"index":17,"type":"line"}`, "cannot be a line"},
			{"GRP2613", `{"index":24,"type":"line"}`, ""},
			{"GRP2613", `{"type":"hold"}`, "has no key for this value"},
			{"GRP2613", `{"type":"blf","value":"2","pickup":"*8"}`, "not for each key"},
		} {
			_, err := render(
				fmt.Sprintf(`{"tenant":"demo","vendor":"grandstream","model":%q,"url":"https://a","line":{"server":"a"}}`, c.model),
				fmt.Sprintf(`{"device":"000b82aabb01","tenant":"demo","lines":[{"user":"1","password":"a"}],"keys":[%s]}`, c.key), p, "config")
			switch {
			case (err == nil) != (c.why == ""):
				t.Errorf("%s %s: %v", c.model, c.key, err)
			case err != nil && !strings.Contains(err.Error(), c.why):
				t.Errorf("%s %s: %v", c.model, c.key, err)
			}
		}
	})
}
