package vendors_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"stagger/edge/escape/quoted"
	"stagger/edge/pack/source"
)

func init() {
	layouts["panasonic"] = &layout{
		read: readPanasonic, off: "Disabled", offKey: panasonicEmpty, unset: true,
		enable: func(account int) string { return fmt.Sprintf("LINE_ENABLE_%d", account) },
		key:    func(module, index int) string { return panasonicKey(module, "FACILITY_ACT", index) },
		timer: func(name string, line int) string {
			return map[string]string{
				"checkin": "CFG_CYCLIC_INTVL", "register": fmt.Sprintf("REG_EXPIRE_TIME_%d", line), "subscribe": fmt.Sprintf("SIP_SUBS_EXPIRE_%d", line),
			}[name]
		},
		carries: func(s string, label bool) bool {
			_, bad := quoted.Append(nil, s)
			return bad == ""
		},
		fit: panasonicFit, fitLine: panasonicFitLine, wants: panasonicWants, zone: panasonicZone,
		settings: []string{"DIAL_TONE1_FRQ", "DISPLAY_DATE_PATTERN", "HOLD_RECALL_TIM", "KEY_PAD_TONE"},
		denied: []string{
			// Where the phone gets its configuration and firmware from, and when.
			"CFG_STANDARD_FILE_PATH", "CFG_PRODUCT_FILE_PATH", "CFG_MASTER_FILE_PATH", "CFG_CYCLIC", "CFG_CYCLIC_INTVL", "CFG_RTRY_INTVL", "CFG_RESYNC_TIME", "CFG_RESYNC_FROM_SIP",
			"CFG_FILE_KEY1", "CFG_FILE_KEY2", "CFG_FILE_KEY3", "CFG_FILE_KEY_LENGTH", "CFG_ROOT_CERTIFICATE_PATH", "PROVISION_ENABLE", "OPTION66_ENABLE", "OPTION66_REBOOT", "SIPPNP_ENABLE",
			"FIRM_UPGRADE_ENABLE", "FIRM_UPGRADE_AUTO", "FIRM_FILE_PATH", "FIRM_VERSION", "HTTP_SSL_VERIFY", "HTTP_USER_AGENT", "HTTP_PROXY_ENABLE",
			// Who may open it, and whom it tells what is going on.
			"ADMIN_ID", "ADMIN_PASS", "USER_ID", "USER_PASS", "HTTPD_PORTOPEN_AUTO", "CUSTOM_WEB_PAGE", "NW_SETTING_ENABLE", "SYSLOG_ADDR", "TR069_ACS_URL", "XML_HTTPD_PORT", "XMLAPP_START_URL",
			"LDAP_SERVER", "LDAP_PASSWORD", "STUN_SERV_ADDR",
			// The accounts, keys, emergency calls and the network.
			"SIP_RGSTR_ADDR_1", "SIP_PRXY_ADDR_1", "SIP_OUTPROXY_ADDR_1", "SIP_2NDPROXY_ADDR_1", "SIP_PASS_1", "PHONE_NUMBER_1", "REG_EXPIRE_TIME_1", "REG_INTERVAL_RATE_1", "SIP_SUBS_EXPIRE_1",
			"SIP_TLS_ROOT_CERT_PATH", "SRTP_CONNECT_MODE_1", "EMERGENCY_CALL1", "DIAL_PLAN_1", "CONFERENCE_SERVER_ADDRESS", "FLEX_BUTTON_FACILITY_ACT1", "DSS_BUTTON_QUICK_DIAL1", "VLAN_ENABLE",
			"NTP_ADDR", "TIME_ZONE", "STATIC_IP_ADDRESS", "DNS1_ADDR",
		},
	}
	refusedZones["panasonic"] = slices.Clone(refusedZones["yealink"])
}

// panasonicEmpty is what readPanasonic gives for a parameter that is reset.
const panasonicEmpty = "(empty)"

var panasonicLine = regexp.MustCompile(`^([A-Z][A-Z0-9_]{0,31})="([^"]{0,500})"$`)

// readPanasonic reads NAME="value" lines below the first, which has to be a certain
// comment; the last is empty. What a phone would skip or take for a macro is an error.
func readPanasonic(body []byte) (settings []setting, err error) {
	if !utf8.Valid(body) || bytes.ContainsAny(body, "\x00\t\v\f\u0085\u2028\u2029\ufeff{}") {
		return nil, errors.New("characters that may end a line, or a macro")
	}
	text, ended := strings.CutSuffix(string(body), "\r\n\r\n")
	lines := strings.Split(text, "\r\n")
	first := slices.Contains([]string{"# Panasonic SIP Phone Standard Format File # DO NOT CHANGE THIS LINE!", "# PCC Standard Format File # DO NOT CHANGE THIS LINE!"}, lines[0])
	if !ended || !first || len(body) > 120_000 {
		return nil, fmt.Errorf("begins with %q, empty last line: %v, %d bytes", lines[0], ended, len(body))
	}
	seen := map[string]bool{}
	for i, line := range lines[1:] {
		m := panasonicLine.FindStringSubmatch(line)
		switch {
		case m == nil || strings.ContainsAny(line, "\r\n") || len(line)+2 > 537:
			return nil, fmt.Errorf("line %d is not a name and a value: %q", i+2, line)
		case seen[m[1]]:
			return nil, fmt.Errorf("line %d sets %s a second time", i+2, m[1])
		}
		if m[2] == "" {
			m[2] = panasonicEmpty
		}
		seen[m[1]] = true
		settings = append(settings, setting{m[1], m[2]})
	}
	return settings, nil
}

// panasonicKey is a parameter of the key in this place.
func panasonicKey(module int, what string, index int) string {
	if module > 1 {
		return "beyond"
	}
	return fmt.Sprintf("%s_BUTTON_%s%d", [...]string{"FLEX", "DSS"}[module], what, index)
}

// panasonicFit makes of a key one that the phone has.
func panasonicFit(d *device, k *key, stored map[string]any) {
	delete(stored, "pickup")
	k.pickup = ""
	if k.value == "" && (k.kind == "voicemail" || k.kind == "group-pickup") {
		k.kind, stored["type"] = "none", "none"
	}
}

func panasonicFitLine(s *source.Descriptor, d *device, l *line, stored map[string]any) {
	if l.transport == "dns-naptr" {
		l.transport, stored["transport"] = "tls", "tls"
	}
}

// panasonicWants is what the main file has to say for a phone.
func panasonicWants(s *source.Descriptor, d *device) map[string]string {
	text := func(s string) string {
		if s == "" {
			return panasonicEmpty
		}
		return s
	}
	own := strings.TrimPrefix(ownURL, "https://") + "Config" + strings.ToUpper(d.mac) + ".cfg"
	want := map[string]string{
		"PROVISION_ENABLE": "Y", "CFG_STANDARD_FILE_PATH": "https://" + own, "CFG_PRODUCT_FILE_PATH": panasonicEmpty, "CFG_MASTER_FILE_PATH": panasonicEmpty,
		"CFG_CYCLIC": "Y", "CFG_RESYNC_TIME": panasonicEmpty, "CFG_RTRY_INTVL": "30", "CFG_RESYNC_FROM_SIP": "check-sync",
		"FIRM_UPGRADE_ENABLE": "N", "FIRM_FILE_PATH": d.firmwareURL, "ADMIN_PASS": "", "DEFAULT_LANGUAGE": s.Tables["language"][d.language], "NTP_ADDR": "",
		"NUM_PLAN_PICKUP_DIRECT": panasonicEmpty, "VM_SUBSCRIBE_ENABLE": "N",
	}
	if d.password {
		want["CFG_STANDARD_FILE_PATH"] = "https://" + d.mac + ":" + ownPassword + "@" + own
	}
	if d.firmwareURL != "" {
		want["FIRM_UPGRADE_ENABLE"] = "Y"
	}
	if len(d.ntp) > 0 {
		want["NTP_ADDR"] = d.ntp[0]
	}
	if !d.staged {
		want["ADMIN_PASS"], want["NUM_PLAN_PICKUP_DIRECT"] = d.admin, text(d.pickup)
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		for _, name := range []string{"PHONE_NUMBER", "DISPLAY_NAME", "SIP_AUTHID", "SIP_PASS"} {
			want[fmt.Sprintf("%s_%d", name, i)] = panasonicEmpty
		}
		want[fmt.Sprintf("SIP_RGSTR_ADDR_%d", i)] = ""
	}
	for _, l := range d.lines {
		if l.mwi {
			want["VM_SUBSCRIBE_ENABLE"] = "Y"
		}
		port, tls, proxyPort := strconv.Itoa(l.port), "0", ""
		if l.transport == "tls" {
			tls = "1"
		}
		if l.proxy != "" {
			proxyPort = strconv.Itoa(l.proxyPort)
		}
		for name, value := range map[string]string{
			"LINE_ENABLE": "Enabled", "PHONE_NUMBER": l.user, "SIP_URI": panasonicEmpty, "DISPLAY_NAME": l.display, "SIP_AUTHID": l.authUser, "SIP_PASS": l.password,
			"SIP_RGSTR_ADDR": l.server, "SIP_RGSTR_PORT": port, "SIP_PRXY_ADDR": l.server, "SIP_PRXY_PORT": port, "SIP_PRSNC_ADDR": l.server, "SIP_PRSNC_PORT": port, "SIP_SVCDOMAIN": l.server,
			"SIP_OUTPROXY_ADDR": text(l.proxy), "SIP_OUTPROXY_PORT": proxyPort, "SIP_2NDPROXY_ADDR": panasonicEmpty, "SIP_2NDRGSTR_ADDR": panasonicEmpty, "SIP_TLS_MODE": tls,
			"SIP_TRANSPORT":     map[string]string{"udp": "0", "tcp": "1", "tls": "2"}[l.transport],
			"SRTP_CONNECT_MODE": map[string]string{"off": "1", "optional": "2", "required": "0"}[l.srtp],
			"REG_INTERVAL_RATE": "90", "SUB_INTERVAL_RATE": "90", "REG_RTX_INTVL": "60", "SUB_RTX_INTVL": "60", "VM_NUMBER": text(l.mailbox),
		} {
			want[fmt.Sprintf("%s_%d", name, l.index)] = value
		}
	}
	for _, k := range d.keys {
		act, arg, dial := "X_PANASONIC_IPTEL_ONETOUCH", "", k.value
		ut := slices.Contains(d.model.Features, "ut")
		switch k.kind {
		case "none":
			act, dial = "", ""
		case "line":
			act, arg, dial = "X_PANASONIC_IPTEL_LINE", strconv.Itoa(k.line), ""
			if ut {
				act, arg = "X_PANASONIC_IPTEL_DN", arg+","+arg
			}
		case "blf":
			act, arg, dial = "X_PANASONIC_IPTEL_BLF", k.value, ""
			if ut {
				act = "X_PANASONIC_IPTEL_CONTACT"
			}
		}
		for what, value := range map[string]string{"FACILITY_ACT": act, "FACILITY_ARG": arg, "QUICK_DIAL": dial, "LABEL": k.label} {
			want[panasonicKey(k.module, what, k.index)] = text(value)
		}
	}
	for _, name := range layouts["panasonic"].settings {
		want[name] = ""
		if value := d.extra[name]; !d.staged {
			want[name] = value
		}
	}
	return want
}

// panasonicZone reads the clock's rule: minutes, and changes by week of the month, where
// 5 is the last, in minutes of the day.
func panasonicZone(t *testing.T, file map[string]string) *clock {
	number := func(name string) int {
		n, err := strconv.Atoi(file[name])
		if err != nil || strconv.Itoa(n) != file[name] {
			t.Fatalf("%s = %q", name, file[name])
		}
		return n
	}
	if file["LOCAL_TIME_ZONE_POSIX"] != panasonicEmpty {
		t.Fatal("two rules for one clock")
	}
	c := &clock{standard: number("TIME_ZONE")}
	if c.summer = file["DST_ENABLE"] == "Y"; !c.summer {
		return c
	}
	read := func(which string) change {
		minutes := number("DST_" + which + "_TIME")
		if minutes < 0 || minutes >= 1440 || minutes%60 != 0 {
			t.Fatalf("%d minutes", minutes)
		}
		return change{number("DST_" + which + "_MONTH"), number("DST_" + which + "_ORDINAL_DAY"), number("DST_" + which + "_DAY_OF_WEEK"), minutes / 60}
	}
	c.save, c.start, c.end = number("DST_OFFSET"), read("START"), read("STOP")
	if c.save < 1 || c.save > 720 {
		t.Fatalf("DST_OFFSET = %d", c.save)
	}
	return c
}
