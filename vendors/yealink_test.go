package vendors_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagger/edge/pack/source"
)

var layouts = map[string]*layout{"yealink": {
	read:   func(body []byte) ([]setting, error) { return readKeyValue(body, "#!version:1.0.0.1", yealinkName) },
	off:    "0",
	enable: func(account int) string { return fmt.Sprintf("account.%d.enable", account) },
	key: func(module, index int) string {
		if module > 0 {
			return fmt.Sprintf("expansion_module.%d.key.%d.type", module, index)
		}
		return fmt.Sprintf("linekey.%d.type", index)
	},
	slot: func(d *device, module, index int) string { return yealinkKey(d, module, index) + "type" }, rename: yealinkRename, fit: yealinkFit,
	fitLine: func(_ *source.Descriptor, d *device, l *line, stored map[string]any) {
		if yealinkBefore(d, "v81") && l.srtp == "required" {
			l.srtp, stored["srtp"] = "optional", "optional"
		}
	},
	fitCodec: func(d *device, name string) bool { return name != "opus" || !yealinkBefore(d, "v73") },
	wants:    yealinkWants, zone: yealinkZone,
	settings: []string{"features.dnd.allow", "phone_setting.backlight_time", "dialplan.area_code.code", "local_time.date_format", "softkey.layout", "edk.edklist.1.mname"},
	denied: []string{
		// Where the phone gets its configuration and firmware from, and when.
		"static.auto_provision.server.url", "static.auto_provision.server.username", "static.auto_provision.server.password", "static.auto_provision.custom.protect",
		"static.auto_provision.dhcp_option.enable", "static.auto_provision.aes_key_16.com", "auto_provision.server.url", "auto_provision.mode",
		"auto_provision.schedule.periodic_minute", "auto_provision.repeat.minutes", "handset.1.incoming_lines", "template.2.sip_server.1.address", "account.1.sip_server_host", "static.firmware.url", "firmware.url",
		"static.zero_touch.enable", "zero_touch.enable", "autoprovision.1.url", "static.managementserver.url", "overwrite_mode", "include:config",
		// Whom it trusts.
		"static.security.trust_certificates", "static.security.ca_cert", "static.security.dev_cert", "static.security.cn_validation", "static.trusted_certificates.url",
		"static.server_certificates.url", "trusted_certificates.url", "sip.trust_ctrl", "phone_setting.reserve_certs_enable", "phone_setting.reserve_certs_config",
		// Who may open it.
		"static.security.user_password", "static.security.user_name.admin", "security.user_password", "static.wui.https_enable", "wui.http_enable",
		"features.factory_pwd_enable", "features.reset_by_long_press_enable", "static.network.vlan.internet_port_enable", "network.port.http",
		// Whom it calls out to, with what is going on.
		"action_url.setup_completed", "action_url.incoming_call", "features.action_uri_limit_ip", "features.action_uri.enable", "features.action_uri",
		"features.csta_control.enable", "features.upload_server", "features.xml_browser.enable", "features.show_action_uri_option", "static.syslog.server", "syslog.server",
		"push_xml.server", "remote_phonebook.data.1.url", "phone_setting.browser.home_page",
		// The accounts, and emergency calls.
		"account.1.password", "account.16.sip_server.2.address", "account.1.outbound_proxy.2.address", "phone_setting.emergency.number", "phone_setting.phone_lock.unlock_pin", "dialplan.emergency.asserted_id_source",
	},
	files: map[string]func(d *device) string{
		"boot keep": func(d *device) string { return "#!version:1.0.0.1\ninclude:config \"" + d.mac + ".cfg\"\n" },
		"boot overwrite": func(d *device) string {
			return "#!version:1.0.0.1\ninclude:config \"" + d.mac + ".cfg\"\noverwrite_mode = 1\n"
		},
	},
}}

// yealinkLineKeys are those of the models that have memory keys behind them.
var yealinkLineKeys = map[string]int{"T26P": 3, "T28P": 6}

// yealinkKey is the beginning of the names of a key.
func yealinkKey(d *device, module, index int) string {
	if module > 0 {
		return fmt.Sprintf("expansion_module.%d.key.%d.", module, index)
	}
	if lines := yealinkLineKeys[d.model.Name]; lines > 0 && index > lines {
		return fmt.Sprintf("memorykey.%d.", index-lines)
	}
	return fmt.Sprintf("linekey.%d.", index)
}

// yealinkBefore says whether the firmware is older than this generation.
func yealinkBefore(d *device, generation string) bool { return d.generation < generation }

// yealinkRename is the name of a timer in firmware before V81, and on DECT managers.
func yealinkRename(d *device, parameter string) string {
	if yealinkBefore(d, "v81") {
		parameter = strings.TrimPrefix(parameter, "static.")
	}
	if yealinkBefore(d, "v72") {
		parameter = strings.Replace(parameter, ".sip_server.1.expires", ".expires", 1)
		return strings.Replace(parameter, "repeat.minutes", "schedule.periodic_minute", 1)
	}
	if slices.Contains(d.model.Features, "servers") && strings.HasSuffix(parameter, ".sip_server.1.expires") {
		parameter = strings.Replace(parameter, "account.", "template.", 1)
	}
	return parameter
}

// yealinkFit makes of a key one that the firmware has.
func yealinkFit(d *device, k *key, stored map[string]any) {
	if yealinkBefore(d, "v81") && (k.kind == "retrieve-park" || k.kind == "directory") {
		k.kind, stored["type"] = "hold", "hold"
	}
}

// yealinkWants is what the main file has to say for a phone.
func yealinkWants(s *source.Descriptor, d *device) map[string]string {
	want := yealinkWantsV81(s, d)
	if yealinkBefore(d, "v81") {
		for name, value := range want {
			if plain, ok := strings.CutPrefix(name, "static."); ok {
				want[plain], want[name] = value, ""
			}
		}
		want["auto_provision.flexible.enable"], want["static.auto_provision.flexible.enable"] = "", ""
	}
	dect := slices.Contains(d.model.Features, "dect")
	if dect {
		want["lang.gui"], want["features.pickup.direct_pickup_enable"], want["features.pickup.direct_pickup_code"] = "", "", ""
	}
	want["auto_provision.mode"] = ""
	if d.generation == "v70" {
		want["auto_provision.power_on"] = ""
		want["auto_provision.mode"], want["auto_provision.repeat.minutes"] = "6", d.timer(0, "checkin", 0)
	}
	port := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, l := range d.lines {
		account := fmt.Sprintf("account.%d.", l.index)
		expires := d.timer(1, "register."+strconv.Itoa(l.index), l.register)
		old := map[string]string{
			"sip_server_host": l.server, "sip_server_port": port(l.port), "expires": expires, "outbound_host": l.proxy, "outbound_port": port(l.proxyPort),
		}
		for name, value := range old {
			want[account+name] = ""
			if yealinkBefore(d, "v73") {
				want[account+name] = value
			}
		}
		want[account+"transport"] = ""
		if yealinkBefore(d, "v81") {
			want[account+"transport"] = s.Tables["transport"][l.transport]
			want[account+"srtp_encryption"] = "0"
			want[account+"reg_fail_retry_interval"], want[account+"reg_failed_retry_max_time"] = "120", ""
		}
		if d.generation == "v70" {
			for _, name := range []string{"sip_server.1.address", "sip_server.1.port", "sip_server.1.transport_type", "sip_server.1.expires", "outbound_proxy.1.address", "outbound_proxy.1.port"} {
				want[account+name] = ""
			}
		}
		if slices.Contains(d.model.Features, "servers") {
			for name, value := range want {
				if rest, ok := strings.CutPrefix(name, account); ok && (strings.HasPrefix(rest, "sip_server.1.") || strings.HasPrefix(rest, "outbound_proxy")) {
					want[fmt.Sprintf("template.%d.%s", l.index, rest)], want[name] = value, ""
				}
			}
			want[account+"sip_server.template"] = strconv.Itoa(l.index)
		}
		for _, name := range []string{"incoming_lines", "dial_out_lines", "dial_out_default_line"} {
			if want[fmt.Sprintf("handset.%d.%s", l.index, name)] = ""; slices.Contains(d.model.Features, "handsets") {
				want[fmt.Sprintf("handset.%d.%s", l.index, name)] = strconv.Itoa(l.index)
			}
		}
		if d.codecs != nil {
			for i, name := range s.Codecs {
				at := account + "codec." + name
				if yealinkBefore(d, "v73") {
					want[at+".enable"] = ""
					at = account + "codec." + []string{"13", "6", "2", "1", "5"}[i]
				}
				place := slices.Index(d.codecs, name)
				want[at+".enable"], want[at+".priority"] = "0", ""
				if place >= 0 {
					want[at+".enable"], want[at+".priority"] = "1", strconv.Itoa(place+1)
				}
			}
		}
	}
	for _, k := range d.keys {
		at := yealinkKey(d, k.module, k.index)
		if want[at+"pickup_value"] = ""; yealinkBefore(d, "v81") {
			want[at+"pickup_value"] = want[at+"extension"]
		}
	}
	return want
}

// yealinkWantsV81 is what a desk phone wants since V81.
func yealinkWantsV81(s *source.Descriptor, d *device) map[string]string {
	want := map[string]string{
		"static.auto_provision.server.url": ownURL, "sip.reg_surge_prevention": strconv.FormatUint(d.boot, 10), "sip.notify_reboot_enable": "0",
		"static.auto_provision.power_on": "1", "static.auto_provision.repeat.enable": "1", "static.auto_provision.weekly.enable": "0", "static.auto_provision.pnp_enable": "0",
		"static.auto_provision.flexible.enable": "0",
	}
	secret := func(s string) string {
		if s == "" || d.staged {
			return ""
		}
		return "admin:" + s
	}
	want["static.security.user_password"] = secret(d.admin)
	want["static.firmware.url"] = d.firmwareURL
	want["lang.gui"], want["lang.wui"] = s.Tables["language"][d.language], s.Tables["language"][d.language]
	for i := range 2 {
		name := fmt.Sprintf("local_time.ntp_server%d", i+1)
		if want[name] = ""; i < len(d.ntp) {
			want[name] = d.ntp[i]
		}
	}
	want["remote_phonebook.data.1.name"], want["remote_phonebook.data.1.url"] = "%NULL%", "%NULL%"
	if d.bookURL != "" && !d.staged {
		want["remote_phonebook.data.1.name"], want["remote_phonebook.data.1.url"] = d.bookName, d.bookURL
	}
	want["features.pickup.direct_pickup_enable"], want["features.pickup.direct_pickup_code"] = "0", ""
	if d.pickup != "" && !d.staged {
		want["features.pickup.direct_pickup_enable"], want["features.pickup.direct_pickup_code"] = "1", d.pickup
	}
	want["static.auto_provision.server.username"], want["static.auto_provision.server.password"] = "", ""
	if d.password {
		want["static.auto_provision.server.username"], want["static.auto_provision.server.password"] = d.mac, ownPassword
	}
	text := func(s string) string {
		if s == "" {
			return "%NULL%"
		}
		return s
	}
	for _, l := range d.lines {
		account := fmt.Sprintf("account.%d.", l.index)
		for name, value := range map[string]string{
			"enable": "1", "label": l.label, "display_name": l.display, "user_name": l.user, "auth_name": l.authUser, "password": l.password,
			"sip_server.1.address": l.server, "sip_server.1.transport_type": s.Tables["transport"][l.transport], "srtp_encryption": s.Tables["srtp"][l.srtp],
			"subscribe_mwi": map[bool]string{false: "0", true: "1"}[l.mwi],
		} {
			want[account+name] = value
		}
		want["voice_mail.number."+strconv.Itoa(l.index)] = text(l.mailbox)
		if l.port != 0 {
			want[account+"sip_server.1.port"] = strconv.Itoa(l.port)
		}
		want[account+"outbound_proxy_enable"] = "0"
		if l.proxy != "" {
			want[account+"outbound_proxy_enable"], want[account+"outbound_proxy.1.address"] = "1", l.proxy
			if l.proxyPort != 0 {
				want[account+"outbound_proxy.1.port"] = strconv.Itoa(l.proxyPort)
			}
		}
		if slices.Contains(d.model.Features, "blf") {
			want[account+"blf.subscribe_period"] = d.timer(2, "subscribe", 0)
		}
		want[account+"sip_server.1.expires"] = d.timer(1, "register."+strconv.Itoa(l.index), l.register)
	}
	for _, k := range d.keys {
		at := yealinkKey(d, k.module, k.index)
		want[at+"type"], want[at+"line"] = s.Tables["key"][k.kind], strconv.Itoa(k.line)
		want[at+"value"], want[at+"label"], want[at+"extension"] = text(k.value), text(k.label), text(k.pickup)
	}
	if !d.staged {
		for name, value := range d.extra {
			want[name] = value
		}
	}
	return want
}

// clock is a rule as a phone has it: minutes east of UTC, and when summer time
// starts and ends on the wall clock of that moment.
type clock struct {
	standard, save int
	summer         bool
	start, end     change
}

type change struct{ month, week, weekday, hour int }

var (
	yealinkName   = regexp.MustCompile(`^[a-zA-Z0-9_.]+$`)
	yealinkOffset = regexp.MustCompile(`^(?:0|([+-])(\d{1,2})(?::(30|45))?)$`)
	yealinkChange = regexp.MustCompile(`^([1-9]|1[0-2])/([1-5])/([1-7])/(\d|1\d|2[0-3])$`)
)

// yealinkZone reads the rule by the grammar in yealink/README.md.
func yealinkZone(t *testing.T, file map[string]string) *clock {
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	m := yealinkOffset.FindStringSubmatch(file["local_time.time_zone"])
	if m == nil || strings.HasPrefix(file["local_time.time_zone"], "+0") && m[3] == "" {
		t.Fatalf("local_time.time_zone = %q", file["local_time.time_zone"])
	}
	c := &clock{standard: number(m[2])*60 + number(m[3])}
	if m[1] == "-" {
		c.standard = -c.standard
	}
	switch file["local_time.summer_time"] {
	case "0":
		return c
	case "1":
	default:
		t.Fatalf("local_time.summer_time = %q", file["local_time.summer_time"])
	}
	read := func(name string) change {
		m := yealinkChange.FindStringSubmatch(file[name])
		if m == nil {
			t.Fatalf("%s = %q", name, file[name])
		}
		return change{number(m[1]), number(m[2]), number(m[3]) % 7, number(m[4])}
	}
	if file["local_time.dst_time_type"] != "1" {
		t.Fatalf("local_time.dst_time_type = %q: not by week", file["local_time.dst_time_type"])
	}
	c.summer, c.start, c.end = true, read("local_time.start_time"), read("local_time.end_time")
	if c.save = number(file["local_time.offset_time"]); c.save == 0 || strconv.Itoa(c.save) != file["local_time.offset_time"] {
		t.Fatalf("local_time.offset_time = %q", file["local_time.offset_time"])
	}
	return c
}

// at is the moment of a change in a year, where the clock is this far ahead of UTC.
func (c change) at(year, minutes int) time.Time {
	day := time.Date(year, time.Month(c.month), 1, c.hour, -minutes, 0, 0, time.UTC)
	wall := day.Add(time.Duration(minutes) * time.Minute)
	day = day.AddDate(0, 0, (c.weekday-int(wall.Weekday())+7)%7+7*(c.week-1))
	for day.Add(time.Duration(minutes)*time.Minute).Month() != time.Month(c.month) {
		day = day.AddDate(0, 0, -7) // week 5 is the last
	}
	return day
}
