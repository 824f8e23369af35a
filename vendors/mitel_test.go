package vendors_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"testing"

	"stagger/edge/escape/colon"
	"stagger/edge/pack"
	"stagger/edge/pack/source"
)

func init() {
	layouts["mitel"] = &layout{
		read: readMitel, off: "0.0.0.0", offKey: "none", unset: true,
		enable: func(account int) string { return fmt.Sprintf("sip line%d registrar ip", account) },
		slot:   func(d *device, module, index int) string { return mitelKey(&d.model, module, index) + " type" },
		timer: func(name string, line int) string {
			return map[string]string{
				"checkin": "auto resync time", "register": fmt.Sprintf("sip line%d registration period", line), "subscribe": "sip explicit mwi subscription period",
			}[name]
		},
		also: map[string][]string{"subscribe": {"sip blf subscription period"}},
		carries: func(s string, label bool) bool {
			_, bad := colon.Append(nil, s)
			if label {
				_, bad = colon.AppendLabel(nil, s)
			}
			return bad == ""
		},
		fit: mitelFit, fitLine: mitelFitLine, wants: mitelWants, zone: mitelZone,
		settings: []string{"backlight_mode", "date_format", "time_format", "tone_set"},
		denied: []string{
			// The profile has no names with blanks, so none of the phone's own is one that it
			// could set; these are the same with what our table has for a blank.
			"download_protocol", "http_server", "http_path", "https_server", "https_path", "https_port", "tftp_server", "ftp_server", "firmware_server", "auto_resync_mode",
			"auto_resync_time", "auto_resync_days", "auto_resync_max_delay", "contact_rcs", "http_digest_username", "http_digest_password", "http_digest_force_login",
			"admin_password", "user_password", "options_password_enabled", "web_interface_enabled", "https_validate_certificates", "https_validate_hostname", "https_validate_expires",
			"https_user_certificates", "sips_trusted_certificates", "sips_root_and_intermediate_certificates", "sips_private_key", "sip_registrar_ip", "sip_proxy_ip",
			"sip_line1_password", "sip_registration_period", "sip_blf_subscription_period", "sip_explicit_mwi_subscription_period", "sip_xml_notify_event", "xml_application_post_list",
			"action_uri_startup", "action_uri_incoming", "action_uri_registered", "directory_script", "directory_1", "emergency_dial_plan", "sip_dial_plan", "tagging_enabled", "vlan_id",
			"lldp", "upnp_manager", "log_server_ip", "time_server1", "time_zone_name", "dst_config", "language", "language_1", "topsoftkey1_type", "prgkey1_value", "softkey1_value",
			"expmod1_key1_value", "sip_autoanswer", "sip_intercom_type", "auto_answer", "mac_lockdown", "include", "image_server_uri", "upgrade_uri",
		},
	}
	refusedZones["mitel"] = append(slices.Clone(refusedZones["yealink"]), "Antarctica/Troll", "Pacific/Easter")
}

var mitelName = regexp.MustCompile(`^[a-z][a-z0-9]*( ([a-z0-9-]+|\[start\|end\]))*$`)

// readMitel reads "name: value" lines, as the first colon separates. A "^" before a
// name is no part of it.
func readMitel(body []byte) (settings []setting, err error) {
	if !utf8.Valid(body) || bytes.ContainsAny(body, "\r\x00\t\v\f\u0085\u2028\u2029\ufeff#") {
		return nil, errors.New("a comment, or characters that may end a line")
	}
	text, found := strings.CutSuffix(string(body), "\n")
	if !found {
		return nil, errors.New("the last line has no end")
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimPrefix(name, "^"), strings.Trim(value, " ")
		switch {
		case !found || value == "" || !strings.HasSuffix(line, name+": "+value):
			return nil, fmt.Errorf("line %d is not a name and a value: %q", i+1, line)
		case !mitelName.MatchString(name):
			return nil, fmt.Errorf("line %d has the name %q", i+1, name)
		case seen[name]:
			return nil, fmt.Errorf("line %d sets %s a second time", i+1, name)
		}
		seen[name] = true
		settings = append(settings, setting{name, value})
	}
	return settings, nil
}

// mitelKey is the name of the key in this place.
func mitelKey(m *pack.Model, module, index int) string {
	kind := map[string]string{"prg": "prgkey", "top": "topsoftkey", "soft": "softkey"}[m.Features[1]]
	if module > 0 {
		kind = fmt.Sprintf("expmod%d key", module)
	}
	return fmt.Sprintf("%s%d", kind, index)
}

// mitelFit makes of a key one that the phone has.
func mitelFit(d *device, k *key, stored map[string]any) {
	delete(stored, "pickup")
	k.pickup = ""
	if k.value == "" && (k.kind == "voicemail" || k.kind == "group-pickup") {
		k.kind, stored["type"] = "dnd", "dnd"
	}
}

// mitelFitLine gives all lines the transport of the first one, which must be one that
// the phone knows.
func mitelFitLine(s *source.Descriptor, d *device, l *line, stored map[string]any) {
	if len(d.lines) > 0 {
		l.transport = d.lines[0].transport
	} else if l.transport == "dns-naptr" {
		l.transport = "tls"
	}
	stored["transport"] = l.transport
}

// mitelWants is what the main file has to say for a phone.
func mitelWants(s *source.Descriptor, d *device) map[string]string {
	want := map[string]string{
		"download protocol": "HTTPS", "https server": "prov.example", "https path": "demo/taaa6mx3t6lkhrl3ch2eza7qwgq3ae", "https port": "", "contact rcs": "0",
		"auto resync mode": "1", "auto resync max delay": "0", "auto resync days": strconv.FormatUint(d.timers[0].Interval/86400, 10), "firmware server": d.firmwareURL,
		"http digest username": "", "http digest password": "", "admin password": "", "language": "", "directory script": "", "time server disabled": "", "time server1": "", "time server2": "",
		"directed call pickup": "0", "directed call pickup prefix": "", "sip transport protocol": "", "sip explicit mwi subscription": "0",
		"sip registration renewal timer": "15", "sip registration retry timer": "300", "sip registration timeout retry timer": "120",
	}
	if want["auto resync days"] == "1" {
		want["auto resync days"] = "0"
	}
	if d.firmwareURL != "" {
		want["auto resync mode"] = "3"
	}
	if d.password {
		want["http digest username"], want["http digest password"] = d.mac, ownPassword
	}
	if d.language != "" {
		want["language"] = "0"
	}
	for i, host := range d.ntp {
		want["time server disabled"], want[fmt.Sprintf("time server%d", i+1)] = "0", host
	}
	if !d.staged {
		want["admin password"], want["directory script"] = d.admin, d.bookURL
		if d.pickup != "" {
			want["directed call pickup"], want["directed call pickup prefix"] = "1", d.pickup
		}
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		n := fmt.Sprintf("sip line%d ", i)
		for _, name := range []string{"user name", "auth name", "password", "proxy ip", "registration period", "vmail", "outbound proxy"} {
			want[n+name] = ""
		}
	}
	for _, l := range d.lines {
		want["sip transport protocol"] = map[string]string{"udp": "1", "tcp": "2", "tls": "4"}[l.transport]
		if l.mwi {
			want["sip explicit mwi subscription"] = "1"
		}
		proxy, proxyPort := "0.0.0.0", 0
		if l.proxy != "" {
			proxy, proxyPort = l.proxy, l.proxyPort
		}
		for name, value := range map[string]string{
			"user name": l.user, "auth name": l.authUser, "password": l.password, "display name": l.display, "screen name": l.label,
			"proxy ip": l.server, "proxy port": strconv.Itoa(l.port), "registrar ip": l.server, "registrar port": strconv.Itoa(l.port),
			"outbound proxy": proxy, "outbound proxy port": strconv.Itoa(proxyPort), "vmail": l.mailbox,
			"srtp mode": map[string]string{"off": "0", "optional": "1", "required": "2"}[l.srtp],
		} {
			want[fmt.Sprintf("sip line%d %s", l.index, name)] = value
		}
		delete(want, fmt.Sprintf("sip line%d registration period", l.index)) // the timers have a check of their own
	}
	for _, k := range d.keys {
		n := mitelKey(&d.model, k.module, k.index)
		kind, value, label, number := k.kind, k.value, k.label, strconv.Itoa(k.line)
		switch k.kind {
		case "speed-dial", "retrieve-park", "group-pickup", "voicemail":
			kind = "speeddial"
		case "park":
			value = "asterisk;" + value
		case "transfer":
			kind = "speeddialxfer"
		case "forward":
			kind = "callforward"
		case "conference":
			kind = "conf"
		case "none":
			label, number = "", ""
		}
		if k.module == 0 && d.model.Features[1] == "prg" {
			label = "" // prgkeys have none
		}
		want[n+" type"], want[n+" value"], want[n+" label"], want[n+" line"] = kind, value, label, number
	}
	for _, name := range layouts["mitel"].settings {
		want[s.Tables["extra"][name]] = ""
		if value := d.extra[name]; !d.staged {
			want[s.Tables["extra"][name]] = value
		}
	}
	return want
}

// mitelZone reads the clock's rule: minutes west of Greenwich, and changes by week of
// the month, where -1 is the last.
func mitelZone(t *testing.T, file map[string]string) *clock {
	number := func(name string) int {
		n, err := strconv.Atoi(file[name])
		if err != nil || strconv.Itoa(n) != file[name] {
			t.Fatalf("%s = %q", name, file[name])
		}
		return n
	}
	if file["time zone name"] != "Custom" {
		t.Fatal("not by rule")
	}
	c := &clock{standard: -number("time zone minutes")}
	if c.summer = number("dst config") == 3; !c.summer {
		return c
	}
	if number("dst [start|end] relative date") != 1 {
		t.Fatal("not by week")
	}
	read := func(which string) change {
		week := number("dst " + which + " week")
		weekday := number("dst "+which+" day") - 1
		if week > 0 && weekday != 0 {
			t.Fatal("a full week, and not its first day")
		}
		if week == -1 {
			week = 5
		}
		return change{number("dst " + which + " month"), week, weekday, number("dst " + which + " hour")}
	}
	c.save, c.start, c.end = number("dst minutes"), read("start"), read("end")
	if c.save < 1 || c.save > 60 {
		t.Fatalf("dst minutes = %d", c.save)
	}
	return c
}
