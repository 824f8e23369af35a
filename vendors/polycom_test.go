package vendors_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
)

func init() {
	layouts["polycom"] = &layout{
		read: readPolycom, off: polycomNull, offKey: "Unassigned", unset: true,
		unescape: unescapeXML,
		enable:   func(account int) string { return fmt.Sprintf("reg.%d.address", account) },
		slot: func(d *device, module, index int) string {
			return fmt.Sprintf("lineKey.%d.category", polycomSlot(d, module, index))
		},
		fit: polycomFit, wants: polycomWants, zone: polycomZone,
		settings: []string{"lcl.datetime.time.24HourClock", "up.backlight.onIntensity", "dialplan.digitmap", "call.callWaiting.ring", "nat.keepalive.interval"},
		denied: []string{
			// Where the phone gets its configuration and firmware from, and when.
			"device.set", "device.prov.serverName", "device.prov.serverType", "device.prov.user", "device.prov.password", "device.prov.upgradeServer",
			"device.prov.ztpEnabled", "device.dhcp.bootSrvUseOpt", "prov.polling.time", "prov.polling.timeRandomEnd", "prov.configUploadPath", "upgrade.custom.server.url",
			"log.render.file.upload.period", "APP_FILE_PATH", "CONFIG_FILES",
			// Whom it trusts.
			"device.sec.TLS.customCaCert1", "sec.TLS.customCaCert.5", "sec.TLS.SIP.strictCertCommonNameValidation", "device.sec.TLS.prov.strictCertCommonNameValidation",
			"sec.encryption.upload.config", "device.sec.configEncryption.key",
			// Who may open it.
			"device.auth.localUserPassword", "httpd.enabled", "httpd.cfg.enabled", "sec.pwd.length.admin", "device.net.vlanId", "diags.pcap.remote.enabled",
			// Whom it calls out to, with what is going on.
			"apps.push.serverRootURL", "apps.push.username", "apps.telNotification.URL", "apps.statePolling.URL", "mb.idleDisplay.home", "device.syslog.serverName",
			"softkey.2.action", "efk.efklist.200.action.string", "dir.corp.address", "bg.color.bm.1.name",
			// The accounts, and emergency calls.
			"reg.1.server.2.address", "voIpProt.server.1.address", "voIpProt.SIP.outboundProxy.address", "dialplan.routing.emergency.1.value", "dialplan.routing.server.1.address",
			"divert.fwd.1.enabled",
		},
		files: map[string]func(d *device) string{"master": func(d *device) string {
			firmware := ""
			if d.firmwareURL != "" {
				firmware = ` APP_FILE_PATH="` + d.firmwareURL + `"`
			}
			return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n<APPLICATION" + firmware + ` CONFIG_FILES="` + d.mac +
				`-settings.cfg" MISC_FILES="" LOG_FILE_DIRECTORY="" OVERRIDES_DIRECTORY="" CONTACTS_DIRECTORY="" LICENSE_DIRECTORY="" CALL_LISTS_DIRECTORY=""/>` + "\n"
		}},
	}
	refusedZones["polycom"] = append(slices.Clone(refusedZones["yealink"]), "Australia/Lord_Howe", "Antarctica/Troll")
}

// polycomNull stands for an empty value, which is the phone's default.
const polycomNull = "(null)"

// readPolycom reads the attributes of elements below the root, whatever their names
// are, and refuses what the format has no use for.
func readPolycom(body []byte) (settings []setting, err error) {
	if !bytes.HasPrefix(body, []byte(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`+"\n")) {
		return nil, fmt.Errorf("no declaration in the first line")
	}
	seen := map[string]bool{}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for depth, elements := 0, 0; ; elements++ {
		token, err := decoder.Token()
		if err == io.EOF && depth == 0 && elements > 0 {
			return settings, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.ProcInst:
			if elements > 0 {
				return nil, fmt.Errorf("a second declaration")
			}
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				return nil, fmt.Errorf("text between the elements: %q", token)
			}
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if depth++; depth == 1 && (token.Name.Local != "polycomConfig" || len(token.Attr) > 0) || depth > 2 {
				return nil, fmt.Errorf("element %s at depth %d", token.Name.Local, depth)
			}
			for _, a := range token.Attr {
				if a.Name.Space != "" || seen[a.Name.Local] {
					return nil, fmt.Errorf("%s is set a second time, or in a name space", a.Name.Local)
				}
				seen[a.Name.Local] = true
				if a.Value == "" {
					a.Value = polycomNull
				}
				settings = append(settings, setting{a.Name.Local, a.Value})
			}
		default:
			return nil, fmt.Errorf("%T", token)
		}
	}
}

// polycomSlot numbers the keys of the phone and then those of each module.
func polycomSlot(d *device, module, index int) int {
	if module == 0 {
		return index
	}
	return int(d.model.Keys) + (module-1)*40 + index
}

// polycomFit makes a key dial from the first line, with the phone's pickup code, and
// be of a type that the model has.
func polycomFit(d *device, k *key, stored map[string]any) {
	if k.kind != "line" && len(d.lines) > 0 {
		k.line = d.lines[0].index
		stored["line"] = k.line
	}
	if k.kind == "blf" {
		k.pickup = ""
		delete(stored, "pickup")
	}
	if slices.Contains(d.model.Features, "efk") || slices.Contains([]string{"none", "line", "blf", "park"}, k.kind) {
		return
	}
	k.kind, stored["type"] = "none", "none"
}

func polycomWants(s *source.Descriptor, d *device) map[string]string {
	null := func(s string) string {
		if s == "" {
			return polycomNull
		}
		return s
	}
	want := map[string]string{
		"prov.polling.enabled": "1", "prov.polling.mode": "rel", "prov.autoConfigUpload.enabled": "0", "feature.logUpload.enabled": "0",
		"voIpProt.SIP.specialEvent.checkSync.alwaysReboot": "0", "prov.polling.time": "", "prov.polling.timeRandomEnd": "",
		// What reboots the phone, and its address and password at the server, are never
		// in a file.
		"device.prov.serverName": "", "device.prov.user": "", "device.prov.password": "",
		"lcl.ml.lang": s.Tables["language"][d.language],
		"device.set":  "", "device.auth.localAdminPassword": "", "device.auth.localAdminPassword.set": "",
		"tcpIpApp.sntp.address": "", "tcpIpApp.sntp.address.overrideDHCP": "",
		"mb.main.home": polycomNull, "softkey.1.action": polycomNull, "softkey.1.label": polycomNull, "softkey.1.enable": "0",
		"call.directedCallPickupString": polycomNull, "attendant.uri": polycomNull, "attendant.reg": "1",
	}
	if len(d.ntp) > 0 {
		want["tcpIpApp.sntp.address"], want["tcpIpApp.sntp.address.overrideDHCP"] = d.ntp[0], "1"
	}
	if !d.staged {
		if d.admin != "" {
			want["device.set"], want["device.auth.localAdminPassword.set"], want["device.auth.localAdminPassword"] = "1", "1", d.admin
		}
		if d.bookURL != "" {
			want["mb.main.home"], want["softkey.1.action"], want["softkey.1.label"], want["softkey.1.enable"] = d.bookURL, d.bookURL, d.bookName, "1"
		}
		want["call.directedCallPickupString"] = null(d.pickup)
	}
	if len(d.lines) > 0 {
		want["attendant.reg"] = strconv.Itoa(d.lines[0].index)
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		want[fmt.Sprintf("reg.%d.auth.password", i)] = polycomNull // unless the line is used
	}
	for _, l := range d.lines {
		line, secure := fmt.Sprintf("reg.%d.", l.index), "1"
		if l.srtp == "off" {
			secure = "0"
		}
		for name, value := range map[string]string{
			"address": l.user, "label": l.label, "displayName": l.display, "auth.userId": l.authUser, "auth.password": l.password,
			"server.1.address": l.server, "server.1.port": strconv.Itoa(l.port), "server.1.transport": s.Tables["transport"][l.transport], "server.1.register": "1",
			"server.1.expires":           d.timer(1, "register."+strconv.Itoa(l.index), l.register),
			"server.1.subscribe.expires": d.timer(2, "subscribe", 0),
			"srtp.enable":                secure, "srtp.offer": secure, "srtp.require": map[bool]string{true: "1", false: "0"}[l.srtp == "required"],
			"outboundProxy.address": null(l.proxy),
		} {
			want[line+name] = value
		}
		if l.proxy != "" {
			want[line+"outboundProxy.port"], want[line+"outboundProxy.transport"] = strconv.Itoa(l.proxyPort), s.Tables["transport"][l.transport]
		}
		mwi := fmt.Sprintf("msg.mwi.%d.", l.index)
		if want[mwi+"subscribe"] = polycomNull; l.mwi {
			want[mwi+"subscribe"] = l.user
		}
		if want[mwi+"callBackMode"], want[mwi+"callBack"] = "disabled", polycomNull; l.mailbox != "" {
			want[mwi+"callBackMode"], want[mwi+"callBack"] = "contact", l.mailbox
		}
	}
	for _, k := range d.keys {
		n := polycomSlot(d, k.module, k.index)
		key, blf, efk := fmt.Sprintf("lineKey.%d.", n), fmt.Sprintf("attendant.resourceList.%d.", n), fmt.Sprintf("efk.efklist.%d.", n)
		category := s.Tables["key"][k.kind]
		want[key+"category"], want[key+"index"], want[blf+"address"], want[efk+"status"] = category, "0", polycomNull, "0"
		switch category {
		case "Line":
			want[key+"index"] = strconv.Itoa(k.line)
		case "BLF":
			want[blf+"address"], want[blf+"label"] = k.value, k.label
			want[blf+"type"] = map[bool]string{true: "automata", false: "normal"}[k.kind == "park"]
		case "EFK":
			dials := ""
			if slices.Contains([]string{"speed-dial", "intercom", "retrieve-park", "transfer", "dtmf"}, k.kind) {
				dials = k.value
			}
			label := k.label
			if label == "" {
				label = s.Tables["name"][k.kind]
			}
			want[key+"index"], want[efk+"status"], want[efk+"label"] = strconv.Itoa(n), "1", label
			want[efk+"mname"], want[efk+"action.string"] = "key"+strconv.Itoa(n), dials+s.Tables["macro"][k.kind]
		}
	}
	if !d.staged {
		for name, value := range d.extra {
			want[name] = value
		}
	}
	return want
}

// polycomZone reads the rule by the grammar in polycom/README.md.
func polycomZone(t *testing.T, file map[string]string) *clock {
	number := func(name string, low, high int) int {
		n, err := strconv.Atoi(file[name])
		if err != nil || strconv.Itoa(n) != file[name] || n < low || n > high {
			t.Fatalf("%s = %q", name, file[name])
		}
		return n
	}
	c := &clock{standard: number("tcpIpApp.sntp.gmtOffset", -12*3600, 14*3600) / 60}
	const dst = "tcpIpApp.sntp.daylightSavings."
	if number(dst+"enable", 0, 1) == 0 {
		return c
	}
	read := func(which string) change {
		day := change{number(dst+which+".month", 1, 12), 5, number(dst+which+".dayOfWeek", 1, 7) - 1, number(dst+which+".time", 0, 23)}
		if date := number(dst+which+".date", 1, 22); number(dst+which+".dayOfWeek.lastInMonth", 0, 1) == 0 {
			if date%7 != 1 {
				t.Fatalf("%s: not the first day of a week, %d", which, date)
			}
			day.week = date/7 + 1
		}
		return day
	}
	number(dst+"fixedDayEnable", 0, 0)
	c.summer, c.save, c.start, c.end = true, 60, read("start"), read("stop")
	return c
}

// What these phones cannot express is refused and not left out.
func TestPolycomRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "polycom" {
			return
		}
		for _, c := range []struct{ model, keys, why string }{
			{"VVX601", `{"type":"blf","value":"1","line":2}`, "from the first line only"},
			{"VVX601", `{"type":"speed-dial","value":"1","line":2}`, "from the first line only"},
			{"VVX601", `{"type":"blf","value":"1","pickup":"*9"}`, "one pickup code"},
			{"VVX601", `{"type":"blf","value":"1","pickup":"*8"}`, ""},
			{"VVX601", `{"type":"line","line":2}`, ""},
			{"VVX601", `{"type":"forward"}`, "key"},
			{"VVX601", `{"type":"group-pickup"}`, "key"},
			{"VVX601", `{"module":3,"index":40,"type":"blf","value":"1"}`, ""},
			{"VVX601", `{"module":3,"index":41,"type":"blf","value":"1"}`, "above the 40 keys of a module"},
			{"VVX450", `{"module":1,"type":"blf","value":"1"}`, "modules"},
			{"E450", `{"module":1,"type":"blf","value":"1"}`, "modules"},
			{"E450", `{"index":14,"type":"speed-dial","value":"1"}`, ""},
			{"E350", `{"index":9,"type":"speed-dial","value":"1"}`, "above the 8 keys"},
			{"SPIP650", `{"type":"speed-dial","value":"1"}`, "lines, busy lamps and call parks only"},
			{"SPIP650", `{"type":"park","value":"1"}`, ""},
		} {
			_, err := render(fmt.Sprintf(`{"tenant":"demo","vendor":"polycom","model":%q,"url":"https://a","line":{"server":"a"},"pickup_code":"*8"}`, c.model),
				`{"device":"0004f2aabb01","tenant":"demo","lines":[{"user":"1","password":"a"},{"user":"2","password":"a"}],"keys":[`+c.keys+`]}`, p, "config")
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s %s: %v", c.model, c.keys, err)
			}
		}
	})
}
