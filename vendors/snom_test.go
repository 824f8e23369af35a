package vendors_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/zone"
)

func init() {
	layouts["snom"] = &layout{
		read: readSnom, off: "off",
		enable: func(account int) string { return fmt.Sprintf("user_active %d", account) },
		slot:   func(d *device, module, index int) string { return snomKey(&d.model, module, index) },
		unset:  true, unescape: unescapeXML,
		timer: func(name string, line int) string {
			return map[string]string{
				"checkin":   "settings_refresh_timer",
				"register":  fmt.Sprintf("user_expiry %d", line),
				"subscribe": fmt.Sprintf("user_subscription_expiry %d", line),
			}[name]
		},
		wants:    snomWants,
		settings: []string{"tone_scheme", "dim_timer", "vol_ringer", "mwi_notification", "alert_internal_ring_sound", "date_us_format"},
		denied: []string{
			// Where the phone gets its configuration and firmware from, and when.
			"setting_server", "settings_refresh_timer", "http_client_user", "http_client_pass", "prov_polling_enabled", "prov_polling_mode", "prov_polling_period",
			"prov_polling_time", "prov_polling_time_rand_end", "pnp_config", "provisioning_order", "update_policy", "firmware", "firmware_uxm", "firmware_status",
			"firmware_interval", "tr369_enable", "auto_reboot_on_setting_change", "http_proxy", "custom_bg_image_url",
			// Whom it trusts, and who may open it.
			"webserver_cert", "check_fqdn_against_server_cert", "admin_mode", "admin_mode_login", "admin_mode_password", "admin_mode_password_confirm", "http_user",
			"http_pass", "webserver_admin_name", "webserver_admin_password", "webserver_user_password", "webserver_type", "service_mode_password", "keyboard_lock_pw",
			"filter_registrar", "challenge_reboot", "challenge_checksync", "challenge_response",
			// Whom it calls out to, with what is going on.
			"action_incoming_url", "action_setup_url", "action_connected_url", "xml_notify", "syslog_server", "ldap_server", "ldap_password", "dkey_directory",
			"dkey_retrieve", "context_key", "fkey", "idle_ok_key_action", "pcap_on_bootup", "register_http_contact",
			// The accounts, emergency calls and the network.
			"user_active", "user_name", "user_pass", "user_host", "user_outbound", "user_expiry", "user_subscription_expiry", "user_srtp", "user_savp", "user_mailbox",
			"codec_priority_list", "emergency_numbers", "emergency_proxy", "keyboard_lock_emergency", "vlan_id", "dhcp", "ntp_server", "ntp_refresh_timer", "timezone",
			"phone-settings", "settings", "functionKeys", "tbook", "dialplan",
		},
	}
}

// snomEmpty is what readSnom gives for a setting that is there and empty, which
// resets it.
const snomEmpty = "(empty)"

// readSnom reads the settings, "name" or "name idx", and of each key "fkey idx" (its
// type; "off" for one without a function), its argument, context and label. It knows
// no more XML than the phones are known to.
func readSnom(body []byte) (settings []setting, err error) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<settings>\n"
	if !bytes.HasPrefix(body, []byte(head)) || !bytes.HasSuffix(body, []byte("</settings>\n")) {
		return nil, errors.New("not a document of settings")
	}
	seen := map[string]bool{}
	add := func(name, value string) {
		if seen[name] {
			err = errors.Join(err, fmt.Errorf("%s is set a second time", name))
		}
		seen[name] = true
		if value == "" {
			value = snomEmpty
		}
		settings = append(settings, setting{name, value})
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	var element xml.StartElement
	var text strings.Builder
	for {
		token, failed := d.Token()
		if failed == io.EOF {
			break
		}
		if failed != nil {
			return nil, failed
		}
		switch token := token.(type) {
		case xml.ProcInst:
		case xml.StartElement:
			path = append(path, token.Name.Local)
			element = token.Copy()
			text.Reset()
			if depth := len(path); depth > 3 || depth < 3 && len(token.Attr) > 0 || depth == 2 && !slices.Contains([]string{"phone-settings", "functionKeys"}, path[1]) {
				return nil, fmt.Errorf("%s: no such element", strings.Join(path, "/"))
			}
		case xml.EndElement:
			depth := len(path)
			path = path[:depth-1]
			if depth < 3 {
				continue
			}
			attributes := map[string]string{}
			for _, a := range element.Attr {
				if _, twice := attributes[a.Name.Local]; twice || a.Name.Space != "" {
					return nil, fmt.Errorf("%s: attribute %s", element.Name.Local, a.Name.Local)
				}
				attributes[a.Name.Local] = a.Value
			}
			name, index := element.Name.Local, attributes["idx"]
			if perm := attributes["perm"]; perm != "R" && (perm != "RW" || name != "setting_server" && name != "admin_mode") {
				return nil, fmt.Errorf("%s: perm %q", name, perm)
			}
			if n, bad := strconv.Atoi(index); index != "" && (bad != nil || strconv.Itoa(n) != index) {
				return nil, fmt.Errorf("%s: idx %q", name, index)
			}
			known := map[string]bool{"perm": true, "idx": path[1] == "phone-settings" || name == "fkey", "context": name == "fkey", "label": name == "fkey"}
			for a := range attributes {
				if !known[a] {
					return nil, fmt.Errorf("%s: attribute %s", name, a)
				}
			}
			if path[1] == "phone-settings" {
				if index != "" {
					name += " " + index
				}
				add(name, text.String())
				continue
			}
			if name != "fkey" || index == "" {
				return nil, fmt.Errorf("%s among the keys", name)
			}
			name += " " + index
			kind, argument, _ := strings.Cut(text.String(), " ")
			if kind == "none" {
				kind = "off"
			}
			add(name, kind)
			add(name+" argument", argument)
			add(name+" context", attributes["context"])
			add(name+" label", attributes["label"])
		case xml.CharData:
			if len(path) < 3 && len(bytes.TrimSpace(token)) > 0 {
				return nil, fmt.Errorf("text between the elements: %q", token)
			}
			text.Write(token)
		default:
			return nil, fmt.Errorf("%T", token)
		}
	}
	return settings, err
}

// snomKey is the name of the key in this place. Those of the modules are counted on
// from the phone's own.
func snomKey(m *pack.Model, module, index int) string {
	room, before := int(m.Keys), 0
	if module > 0 {
		room, before = int(m.ModuleKeys), int(m.Keys)+(module-1)*int(m.ModuleKeys)
	}
	if index > room || module > int(m.Modules) {
		return "fkey beyond"
	}
	return fmt.Sprintf("fkey %d", before+index-1)
}

// snomWants is what the main file has to say for a phone.
func snomWants(s *source.Descriptor, d *device) map[string]string {
	want := map[string]string{
		"auto_reboot_on_setting_change": "on", "setting_server": ownURL, "prov_polling_enabled": "off", "pnp_config": "off",
		"http_client_user": "", "http_client_pass": "", "firmware": d.firmwareURL, "update_policy": "settings_only",
		"language": s.Tables["language"][d.language], "web_language": s.Tables["language"][d.language],
		"dkey_directory": "keyevent F_ADR_BOOK", "ntp_server": "", "fkey beyond": "",
	}
	if d.password {
		want["http_client_user"], want["http_client_pass"] = d.mac, ownPassword
	}
	if d.firmwareURL != "" {
		want["update_policy"] = "auto_update"
	}
	if len(d.ntp) > 0 {
		want["ntp_server"] = d.ntp[0]
	}
	if d.bookURL != "" && !d.staged {
		want["dkey_directory"] = "url " + d.bookURL
	}
	admin := d.admin
	if d.staged {
		admin = ""
	}
	for _, name := range []string{"admin_mode_password", "admin_mode_password_confirm", "http_pass"} {
		want[name] = admin
	}
	want["retry_after_failed_register"] = "30,60:600"
	want["admin_mode"], want["http_user"] = "", ""
	if admin != "" {
		want["admin_mode"], want["http_user"] = "off", "admin"
	}
	want["webserver_admin_password"] = ""
	if slices.Contains(d.model.Features, "phone-manager") {
		want["webserver_admin_password"] = admin
	}
	text := func(s string) string {
		if s == "" {
			return snomEmpty
		}
		return s
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		want[fmt.Sprintf("user_pass %d", i)] = snomEmpty
	}
	for _, l := range d.lines {
		n := " " + strconv.Itoa(l.index)
		for name, value := range map[string]string{
			"user_active": "on", "user_realname": l.display, "user_idle_text": l.label, "user_name": l.user, "user_pname": l.authUser, "user_pass": l.password,
			"user_mailbox": text(l.mailbox), "user_srtp": map[string]string{"off": "off", "optional": "on", "required": "on"}[l.srtp],
			"user_savp":   map[string]string{"off": "off", "optional": "optional", "required": "mandatory"}[l.srtp],
			"user_expiry": d.timer(1, "register."+strconv.Itoa(l.index), l.register), "user_subscription_expiry": d.timer(2, "subscribe", 0),
		} {
			want[name+n] = value
		}
		port := func(host string, n int) string {
			if n != 0 {
				host += ":" + strconv.Itoa(n)
			}
			return host
		}
		host, outbound := l.server, port(l.server, l.port)
		if l.proxy != "" {
			outbound = port(l.proxy, l.proxyPort)
			if usual := map[string]int{"udp": 5060, "tcp": 5060, "tls": 5061}[l.transport]; l.port != usual {
				host = port(l.server, l.port)
			}
		}
		if l.transport != "dns-naptr" {
			outbound += ";transport=" + l.transport
		} else if l.proxy == "" {
			host, outbound = port(l.server, l.port), ""
		}
		want["user_host"+n], want["user_outbound"+n] = host, text(outbound)
	}
	// No key is there but those of the phone and of the modules that are named.
	for i := range 200 {
		want[fmt.Sprintf("fkey %d context", i)] = ""
	}
	for m := 0; m <= int(d.model.Modules); m++ {
		if m > 0 && !slices.ContainsFunc(d.keys, func(k key) bool { return k.module == m }) {
			continue
		}
		for i := 1; snomKey(&d.model, m, i) != "fkey beyond"; i++ {
			name := snomKey(&d.model, m, i)
			want[name], want[name+" argument"], want[name+" context"], want[name+" label"] = "off", snomEmpty, "active", snomEmpty
		}
	}
	for _, k := range d.keys {
		name := snomKey(&d.model, k.module, k.index)
		kind, argument, context := s.Tables["key"][k.kind], k.value, strconv.Itoa(k.line)
		switch k.kind {
		case "blf":
			switch {
			case k.pickup != "":
				argument += "|" + k.pickup
			case d.pickup != "":
				argument += "|" + d.pickup
			}
		case "line":
			argument = ""
		case "none", "dnd", "hold", "conference", "directory", "forward":
			context = "active"
			kind, argument, _ = strings.Cut(kind, " ")
			switch {
			case k.kind == "none":
				kind = "off"
			case k.kind == "directory" && d.bookURL != "":
				kind, argument = "url", d.bookURL
			case k.kind == "forward" && k.value != "":
				kind, argument = "redirect", k.value
			}
		case "dtmf":
			context = "active"
		case "voicemail":
			if kind, argument, _ = strings.Cut(kind, " "); k.value != "" {
				kind, argument = "speed", k.value
			}
		}
		want[name], want[name+" argument"], want[name+" context"], want[name+" label"] = kind, text(argument), context, text(k.label)
	}
	if !d.staged {
		for name, value := range d.extra {
			want[name] = value
		}
	}
	return want
}

// snomClocks says for each of the phone's words for a clock a zone that has it.
var snomClocks = map[string]string{
	"USA-10": "Pacific/Honolulu", "USA-9": "America/Anchorage", "USA-8": "America/Los_Angeles", "CAN-8": "America/Vancouver", "USA-7": "America/Denver",
	"CAN-7": "America/Edmonton", "USA2-7": "America/Phoenix", "USA-6": "America/Chicago", "CAN-6": "America/Winnipeg", "CAN2-6": "America/Regina",
	"USA-5": "America/New_York", "CAN-5": "America/Toronto", "COL-5": "America/Bogota", "CAN-4": "America/Halifax", "BMU-4": "Atlantic/Bermuda",
	"TTB-4": "America/Port_of_Spain", "CAN-3.5": "America/St_Johns", "BRA2-3": "America/Sao_Paulo", "BRA-2": "America/Noronha",
	"PRT-1": "Atlantic/Azores", "FRO-0": "Atlantic/Faroe", "IRL-0": "Europe/Dublin", "PRT-0": "Europe/Lisbon", "ESP-0": "Atlantic/Canary", "GBR-0": "Europe/London",
	"ALB+1": "Europe/Tirane", "AUT+1": "Europe/Vienna", "BEL+1": "Europe/Brussels", "HRV+1": "Europe/Zagreb", "CZE+1": "Europe/Prague", "DNK+1": "Europe/Copenhagen",
	"FRA+1": "Europe/Paris", "GER+1": "Europe/Berlin", "HUN+1": "Europe/Budapest", "ITA+1": "Europe/Rome", "LUX+1": "Europe/Luxembourg", "MAK+1": "Europe/Skopje",
	"NLD+1": "Europe/Amsterdam", "NOR+1": "Europe/Oslo", "POL+1": "Europe/Warsaw", "SVK+1": "Europe/Bratislava", "ESP+1": "Europe/Madrid", "SWE+1": "Europe/Stockholm",
	"CHE+1": "Europe/Zurich", "GIB+1": "Europe/Gibraltar", "YUG+1": "Europe/Belgrade", "WAT+1": "Africa/Lagos", "BGR+2": "Europe/Sofia", "CYP+2": "Asia/Nicosia",
	"CAT+2": "Africa/Maputo", "EST+2": "Europe/Tallinn", "FIN+2": "Europe/Helsinki", "GRC+2": "Europe/Athens", "LVA+2": "Europe/Riga", "LBN+2": "Asia/Beirut",
	"MDA+2": "Europe/Chisinau", "ROU+2": "Europe/Bucharest", "UKR+2": "Europe/Kyiv", "EAT+3": "Africa/Nairobi", "UAE+4": "Asia/Dubai", "IND+5.5": "Asia/Kolkata",
	"THA+7": "Asia/Bangkok", "SGP+8": "Asia/Singapore", "JPN+9": "Asia/Tokyo", "AUS+9.5": "Australia/Adelaide", "AUS2+9.5": "Australia/Darwin",
	"AUS+10": "Australia/Sydney", "AUS2+10": "Australia/Brisbane", "AUS3+10": "Australia/Hobart", "AUS+10.5": "Australia/Lord_Howe", "NCL+11": "Pacific/Noumea",
	"NZL+12": "Pacific/Auckland", "NZL+12.75": "Pacific/Chatham",
}

// Every zone's word is that of a clock with the same rule, and all zones with such
// a rule have one.
func TestSnomZones(t *testing.T) {
	s, err := source.Read("snom")
	if err != nil {
		t.Fatal(err)
	}
	table, rules, used := s.Tables["zone"], map[zone.Rule]bool{}, map[string]bool{}
	for word, name := range snomClocks {
		if table[name] != word {
			t.Errorf("%s is %q, want %q", name, table[name], word)
		}
		rules[*zone.Find(name)] = true
		sign := strings.IndexAny(word, "+-")
		hours, err := strconv.ParseFloat(word[sign:], 64)
		if offset := int(zone.Find(name).Offset); err != nil || hours*60 != float64(offset) {
			t.Errorf("%s is the word of %s, which is %d minutes ahead of UTC", word, name, offset)
		}
	}
	for name, word := range table {
		used[word] = true
		rule, like := zone.Find(name), snomClocks[word]
		if rule == nil || like == "" || *rule != *zone.Find(like) {
			t.Errorf("%s: %s is another clock", name, word)
		}
	}
	if len(used) != len(snomClocks) {
		t.Errorf("%d words in use, of %d", len(used), len(snomClocks))
	}
	for name := range zone.Names {
		if rules[*zone.Find(name)] && table[name] == "" && !slices.Contains(irregular, name) {
			t.Errorf("%s has no word", name)
		}
	}
	for name, word := range map[string]string{
		"America/Regina": "CAN2-6", "Asia/Calcutta": "IND+5.5", "US/Eastern": "USA-5", "Europe/Istanbul": "EAT+3", "Europe/Moscow": "EAT+3", "Australia/Perth": "SGP+8",
		"America/Mexico_City": "CAN2-6", "America/Manaus": "TTB-4", "Europe/Vaduz": "CHE+1", "UTC": "", "Atlantic/Reykjavik": "", "Asia/Jerusalem": "", "Africa/Casablanca": "",
	} {
		if table[name] != word {
			t.Errorf("%s is %q, want %q", name, table[name], word)
		}
	}
}
