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
)

func init() {
	layouts["fanvil"] = &layout{
		read: readFanvil, off: "0",
		enable: func(account int) string { return fmt.Sprintf("sip/line %d/EnableReg", account) },
		slot:   func(d *device, module, index int) string { return fanvilKey(&d.model, module, index) + "/Type" },
		unset:  true, unescape: unescapeXML,
		timer: func(name string, line int) string {
			return map[string]string{
				"checkin":   "ap/FlashInterval",
				"register":  fmt.Sprintf("sip/line %d/RegisterTTL", line),
				"subscribe": fmt.Sprintf("sip/line %d/SubExpire", line),
			}[name]
		},
		fitCodec: func(d *device, name string) bool { return !fanvilOlder(&d.model) || name != "opus" && name != "ilbc" },
		fitLanguage: func(s *source.Descriptor, d *device, language string) bool {
			return !fanvilOlder(&d.model) || s.Tables["older_language"][language] != ""
		},
		fit: fanvilFit, wants: fanvilWants, zone: fanvilZone,
		settings: fanvilSettings,
		denied: []string{
			// Where the phone gets its configuration and firmware from, and when.
			"FlashServerIP", "FlashFileName", "FlashProtocol", "FlashMode", "FlashInterval", "DefaultUsername", "DefaultPassword", "DownloadCommonConf",
			"DownloadDeviceConf", "InputCfgFileName", "DeviceCfgFileKey", "CommonCfgFileKey", "SaveProvisionInfo", "CheckFailTimes", "updatePBInterval",
			"APPswdEncryption", "AutoImageUrl", "Auto_Image_URL", "PNPEnable", "PNPIP", "DHCPOption", "FDPSEnable", "EnableAutoUpgrade", "UpgradeServer1",
			"UpgradeServer2", "AutoUpgradeInterval", "AutoServerDigest", "EnableTR069", "ACSURL", "ACSPassword", "PeriodixInterval", "Version",
			// Whom it trusts, and who may open it.
			"MenuPassword", "KeyLockPassword", "Name", "Password", "Level", "WebAuthentication", "RemoteControl", "EnableTelnet", "EnableMMIFilter", "PermissionCTF",
			"AllPswdEncryption", "SIPPswdEncryption", "NotifyReboot", "StrictUAMatch",
			// Whom it calls out to, with what is going on.
			"EnabledActionUrl", "ActiveUriIP", "IncomingCallUrl", "BootCompletedUrl", "PushXMLIP", "SIPNotifyXML", "SyslogServer", "ServerAddr", "LDAP", "DsskeyPage1XmlUrl",
			"Addr", "MohServer", "VQServer", "STUNServer", "OpenvpnMode", "EnableVPN", "EnablePortMirror",
			// The accounts, keys, emergency calls and the network.
			"RegisterAddr", "RegisterUser", "RegisterPswd", "RegisterTTL", "SubExpire", "ProxyAddr", "EnableReg", "MediaCrypto", "Transport", "MWINum", "AlwaysFWDNum",
			"HotlineNum", "AutoAnswer", "Type", "Value", "Title", "EmergencyCall", "EnableVLAN", "VLANID", "WANIP", "PrimaryDNS", "SNTPServer", "TimeZone", "DefaultLanguage",
			"sysConf", "sip", "ap", "phone",
		},
	}
	refusedZones["fanvil"] = append(slices.Clone(refusedZones["yealink"]), "Antarctica/Troll")
}

// fanvilSettings are the extra settings; they stand in phone/display.
var fanvilSettings = []string{"BacklightOffTime", "LCDConstrast", "LCDLuminanceLevel", "LCDTitle"}

// fanvilEmpty is what readFanvil gives for an element that is there and empty.
const fanvilEmpty = "(empty)"

// fanvilModules are the groups that the older settings have other names for.
var fanvilModules = []string{
	"GLOBAL_CONFIG_MODULE/Language", "phone/display/DefaultLanguage", "GLOBAL_CONFIG_MODULE/", "phone/date/", "SIP_CONFIG_MODULE/SIP_Line_List/SIP", "sip/line ",
	"SIP_CONFIG_MODULE/Reg_Fail_Interval", "sip/RegFailInterval", "MMI_CONFIG_MODULE/MMI_Account/Account", "web/account ", "PHONE_CONFIG_MODULE/Xml_PhoneBook/XML-PBook", "phone/xmlContact ",
	"PHONE_CONFIG_MODULE/Function_Key/", "dsskey/", "PHONE_CONFIG_MODULE/LCD_Luminance", "phone/display/LCDLuminanceLevel", "PHONE_CONFIG_MODULE/LCD_", "phone/display/LCD",
	"PHONE_CONFIG_MODULE/Backlight_", "phone/display/Backlight", "PHONE_CONFIG_MODULE/", "phone/", "AUTOUPDATE_CONFIG_MODULE/PNP_Enable", "ap/pnp/PNPEnable",
	"AUTOUPDATE_CONFIG_MODULE/Download_Server_IP", "ap/FlashServerIP", "AUTOUPDATE_CONFIG_MODULE/Config_File_Name", "ap/FlashFileName", "AUTOUPDATE_CONFIG_MODULE/Download_Protocol", "ap/FlashProtocol",
	"AUTOUPDATE_CONFIG_MODULE/Download_Mode", "ap/FlashMode", "AUTOUPDATE_CONFIG_MODULE/Download_Interval", "ap/FlashInterval", "AUTOUPDATE_CONFIG_MODULE/Download_Username", "ap/DefaultUsername",
	"AUTOUPDATE_CONFIG_MODULE/Download_Password", "ap/DefaultPassword", "AUTOUPDATE_CONFIG_MODULE/", "ap/",
}

// readFanvilOlder reads the older settings, and gives them by the names of the newer
// ones, so that what a file has to say is written down once.
func readFanvilOlder(body []byte) (settings []setting, err error) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<VOIP_CONFIG_FILE>\n<version>2.0002</version>\n"
	if !bytes.HasPrefix(body, []byte(head)) || !bytes.HasSuffix(body, []byte("\n</VOIP_CONFIG_FILE>\n")) {
		return nil, errors.New("not a document of the older settings")
	}
	rename := strings.NewReplacer(fanvilModules...)
	seen := map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	text, inner := "", false
	for {
		token, failed := d.Token()
		if failed == io.EOF {
			return settings, nil
		}
		if failed != nil {
			return nil, failed
		}
		switch token := token.(type) {
		case xml.ProcInst:
		case xml.StartElement:
			if len(token.Attr) > 0 {
				return nil, fmt.Errorf("%s has attributes", token.Name.Local)
			}
			name := token.Name.Local
			path = append(path, name)
			full := strings.Join(path, "/")
			if name != "ID" && !strings.HasSuffix(name, "_Entry") && seen[full] {
				return nil, fmt.Errorf("%s is there a second time", full)
			}
			seen[full], inner, text = true, true, ""
		case xml.EndElement:
			last := path[len(path)-1]
			if inner && last == "ID" {
				// The entry goes by its ID from here on.
				path[len(path)-2] = text
				full := strings.Join(path[:len(path)-1], "/")
				if seen[full] {
					return nil, fmt.Errorf("%s is there a second time", full)
				}
				seen[full] = true
			} else if inner {
				if text == "" {
					text = fanvilEmpty
				}
				full := rename.Replace(strings.Join(path[1:], "/"))
				settings = append(settings, setting{strings.ReplaceAll(full, "_", ""), text})
			}
			path, inner, text = path[:len(path)-1], false, ""
		case xml.CharData:
			if text += string(token); !inner && strings.TrimSpace(text) != "" {
				return nil, fmt.Errorf("text between the elements: %q", text)
			}
		default:
			return nil, fmt.Errorf("%T", token)
		}
	}
}

// fanvilOlder says whether the model has the older settings.
func fanvilOlder(m *pack.Model) bool { return slices.Contains(m.Features, "older") }

// readFanvil reads the innermost elements, by their path: "sip/line 1/Transport". It
// takes no element twice, nor a container, and knows no more XML than the phones are
// known to.
func readFanvil(body []byte) (settings []setting, err error) {
	if bytes.Contains(body, []byte("<VOIP_CONFIG_FILE>")) {
		return readFanvilOlder(body)
	}
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<sysConf>\n"
	if !bytes.HasPrefix(body, []byte(head)) || !bytes.HasSuffix(body, []byte("\n</sysConf>\n")) {
		return nil, errors.New("not a document of settings")
	}
	seen := map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	var text strings.Builder
	var inner bool // the last thing read was a start
	for {
		token, failed := d.Token()
		if failed == io.EOF {
			return settings, nil
		}
		if failed != nil {
			return nil, failed
		}
		switch token := token.(type) {
		case xml.ProcInst:
		case xml.StartElement:
			name := token.Name.Local
			indexed := slices.Contains([]string{"line", "dssSide", "internal", "Fkey", "xmlContact", "account"}, name)
			for _, a := range token.Attr {
				n, bad := strconv.Atoi(a.Value)
				if a.Name.Local != "index" || a.Name.Space != "" || bad != nil || n < 1 || strconv.Itoa(n) != a.Value {
					return nil, fmt.Errorf("%s: attribute %s=%q", name, a.Name.Local, a.Value)
				}
				name += " " + a.Value
			}
			if len(token.Attr) > 1 || indexed != (len(token.Attr) == 1) {
				return nil, fmt.Errorf("%s has %d attributes", name, len(token.Attr))
			}
			if inner && len(bytes.TrimSpace([]byte(text.String()))) > 0 {
				return nil, fmt.Errorf("text before %s: %q", name, text.String())
			}
			path = append(path, name)
			full := strings.Join(path[1:], "/")
			if seen[full] {
				return nil, fmt.Errorf("%s is there a second time", full)
			}
			seen[full], inner = true, true
			text.Reset()
		case xml.EndElement:
			full, value := strings.Join(path[1:], "/"), text.String()
			path = path[:len(path)-1]
			if inner {
				if strings.TrimSpace(value) == "" && value != "" {
					return nil, fmt.Errorf("%s is empty", full)
				}
				if value == "" {
					value = fanvilEmpty
				}
				settings = append(settings, setting{full, value})
			}
			inner = false
			text.Reset()
		case xml.CharData:
			if !inner && len(bytes.TrimSpace(token)) > 0 {
				return nil, fmt.Errorf("text between the elements: %q", token)
			}
			text.Write(token)
		default:
			return nil, fmt.Errorf("%T", token)
		}
	}
}

// fanvilLayouts are how many keys are beside the display, and on a page behind them.
var fanvilLayouts = map[string][2]int{"X3U": {3, 0}, "X4U": {3, 6}, "X5U": {4, 6}, "X6U": {5, 12}}

// fanvilKey is the path of the key in this place.
func fanvilKey(m *pack.Model, module, index int) string {
	if fanvilOlder(m) && module == 0 {
		return fmt.Sprintf("dsskey/Fkey%d", index)
	}
	if module > 0 || index > int(m.Keys) {
		return "dsskey/beyond"
	}
	size := fanvilLayouts[m.Name]
	if index <= size[0] {
		return fmt.Sprintf("dsskey/dssSide 1/Fkey %d", index)
	}
	n := index - size[0] - 1
	return fmt.Sprintf("dsskey/internal %d/Fkey %d", n/size[1]+1, n%size[1]+1)
}

// fanvilFit makes of a key one that the phone has.
func fanvilFit(d *device, k *key, stored map[string]any) {
	if k.kind == "group-pickup" && k.value == "" || k.kind == "directory" && (d.bookURL == "" || fanvilOlder(&d.model)) || k.value != "" && (k.kind == "voicemail" || k.kind == "forward") {
		k.kind, stored["type"] = "hold", "hold"
	}
}

// fanvilWants is what the main file has to say for a phone.
func fanvilWants(s *source.Descriptor, d *device) map[string]string {
	text := func(s string) string {
		if s == "" {
			return fanvilEmpty
		}
		return s
	}
	want := map[string]string{
		"Version": "2.0000000000", "ap/FlashServerIP": strings.TrimSuffix(ownURL, "/"), "ap/FlashFileName": "$mac.cfg", "ap/FlashProtocol": "5", "ap/FlashMode": "2",
		"ap/FlashInterval": d.timer(0, "checkin", 0), "ap/DownloadCommonConf": "0", "ap/pnp/PNPEnable": "0", "sip/RegFailInterval": "60",
		"ap/DefaultUsername": "", "ap/DefaultPassword": "", "fwCheck/EnableAutoUpgrade": "0", "fwCheck/UpgradeServer1": text(d.firmwareURL),
		"phone/display/DefaultLanguage": s.Tables["language"][d.language], "phone/date/EnableSNTP": "", "phone/date/SNTPServer": "",
		"phone/date/SecondSNTPServer": "", "phone/xmlContact 1/Name": fanvilEmpty, "phone/xmlContact 1/Addr": fanvilEmpty,
		"phone/MenuPassword": "", "web/account 1/Name": "", "web/account 1/Password": "", "web/account 1/Level": "",
	}
	if d.password {
		want["ap/DefaultUsername"], want["ap/DefaultPassword"] = d.mac, ownPassword
	}
	if d.firmwareURL != "" {
		want["fwCheck/EnableAutoUpgrade"] = "1"
	}
	if len(d.ntp) > 0 {
		want["phone/date/EnableSNTP"], want["phone/date/SNTPServer"], want["phone/date/SecondSNTPServer"] = "1", d.ntp[0], fanvilEmpty
		if len(d.ntp) > 1 {
			want["phone/date/SecondSNTPServer"] = d.ntp[1]
		}
	}
	if d.bookURL != "" && !d.staged {
		want["phone/xmlContact 1/Name"], want["phone/xmlContact 1/Addr"] = d.bookName, d.bookURL
	}
	if d.admin != "" && !d.staged {
		want["phone/MenuPassword"] = d.admin
		want["web/account 1/Name"], want["web/account 1/Password"], want["web/account 1/Level"] = "admin", d.admin, "10"
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		n := fmt.Sprintf("sip/line %d/", i)
		want[n+"EnableReg"], want[n+"RegisterTTL"], want[n+"SubExpire"], want[n+"Transport"] = "0", "", "", ""
		for _, name := range []string{"PhoneNumber", "DisplayName", "RegisterAddr", "RegisterUser", "RegisterPswd", "ProxyAddr", "ProxyPort", "ProxyUser", "ProxyPswd", "BackupAddr", "BakProxyAddr"} {
			want[n+name] = fanvilEmpty
		}
	}
	port := func(n int) string {
		if n == 0 {
			return fanvilEmpty
		}
		return strconv.Itoa(n)
	}
	for _, l := range d.lines {
		proxyUser, proxyPassword, dns, mode, mwi := "", "", "0", "0", "0"
		if l.proxy != "" {
			proxyUser, proxyPassword = l.authUser, l.password
		}
		if l.transport == "dns-naptr" {
			dns, mode = "1", "2"
		}
		if l.mwi {
			mwi = "1"
		}
		for name, value := range map[string]string{
			"EnableReg": "1", "PhoneNumber": l.user, "DisplayName": l.display, "RegisterAddr": l.server, "RegisterPort": port(l.port), "RegisterUser": l.authUser,
			"RegisterPswd": l.password, "RegisterTTL": d.timer(1, "register."+strconv.Itoa(l.index), l.register), "SubExpire": d.timer(2, "subscribe", 0),
			"ProxyAddr": text(l.proxy), "ProxyPort": port(l.proxyPort), "ProxyUser": text(proxyUser), "ProxyPswd": text(proxyPassword), "MWINum": text(l.mailbox),
			"BackupAddr": fanvilEmpty, "BakProxyAddr": fanvilEmpty, "Subscribe": mwi, "DNSSRV": dns, "DNSMode": mode,
			"Transport":   map[string]string{"udp": "0", "tcp": "1", "tls": "3", "dns-naptr": "0"}[l.transport],
			"MediaCrypto": map[string]string{"off": "0", "optional": "1", "required": "2"}[l.srtp],
		} {
			want[fmt.Sprintf("sip/line %d/%s", l.index, name)] = value
		}
	}
	for i := 1; i <= int(d.model.Keys); i++ {
		n := fanvilKey(&d.model, 0, i)
		want[n+"/Type"], want[n+"/Value"], want[n+"/Title"] = "0", fanvilEmpty, fanvilEmpty
	}
	for _, k := range d.keys {
		kind, value := "1", ""
		number := k.value + "@" + strconv.Itoa(k.line) + "/"
		switch k.kind {
		case "none":
			kind = "0"
		case "line":
			kind, value = "2", "SIP"+strconv.Itoa(k.line)
		case "dnd":
			kind, value = "3", "F_DND"
		case "hold":
			kind, value = "3", "F_HOLD"
		case "dtmf":
			kind, value = "4", k.value
		case "directory":
			kind, value = "21", d.bookURL
		case "blf":
			value = number + "ba"
			if k.pickup != "" {
				value += k.pickup + k.value
			} else if d.pickup != "" {
				value += d.pickup + k.value
			}
		case "speed-dial", "retrieve-park", "group-pickup":
			value = number + "f"
		case "intercom":
			value = number + "i"
		case "park":
			value = number + "c"
		case "voicemail":
			kind, value = "3", "F_MWI"
		case "forward":
			kind, value = "3", "F_CFWD"
		}
		n := fanvilKey(&d.model, 0, k.index)
		want[n+"/Type"], want[n+"/Value"], want[n+"/Title"] = kind, text(value), text(k.label)
	}
	if fanvilOlder(&d.model) {
		delete(want, "Version")
		want["version"], want["fwCheck/EnableAutoUpgrade"], want["fwCheck/UpgradeServer1"], want["ap/AutoImageURL"] = "2.0002", "", "", text(d.firmwareURL)
		want["phone/display/DefaultLanguage"] = s.Tables["older_language"][d.language]
	}
	for _, name := range fanvilSettings {
		want["phone/display/"+name] = ""
		if value := d.extra[name]; !d.staged {
			want["phone/display/"+name] = value
		}
	}
	return want
}

// fanvilZone reads the clock's rule: quarters of an hour, and changes by week of the
// month, where 5 is the last.
func fanvilZone(t *testing.T, file map[string]string) *clock {
	number := func(name string) int {
		n, err := strconv.Atoi(file["phone/date/"+name])
		if err != nil || strconv.Itoa(n) != file["phone/date/"+name] {
			t.Fatalf("%s = %q", name, file["phone/date/"+name])
		}
		return n
	}
	c := &clock{standard: number("TimeZone") * 15}
	name := "UTC"
	if hours, minutes := c.standard/60, c.standard%60; c.standard != 0 {
		if name += fmt.Sprintf("+%d", hours); c.standard < 0 {
			hours, minutes = -hours, -minutes
			name = fmt.Sprintf("UTC-%d", hours)
		}
		if minutes != 0 {
			name += fmt.Sprintf(":%d", minutes)
		}
	}
	if got := file["phone/date/TimeZoneName"]; got != name {
		t.Fatalf("TimeZoneName = %q, want %q", got, name)
	}
	older := file["version"] != ""
	if !older && number("EnableDST") != number("DSTType") {
		t.Fatalf("two switches for summer time, and they differ")
	}
	if c.summer = number("EnableDST") == 2; !c.summer {
		return c
	}
	if !older && number("DSTRuleMode") != 0 || number("DSTFixedType") != 2 {
		t.Fatal("not by week")
	}
	read := func(which string) change {
		return change{number("DST" + which + "Mon"), number("DST" + which + "Week"), number("DST" + which + "Wday"), number("DST" + which + "Hour")}
	}
	c.save, c.start, c.end = number("DSTMinOffset"), read("Start"), read("End")
	if c.save < 1 || c.save > 60 {
		t.Fatalf("DSTMinOffset = %d", c.save)
	}
	return c
}

// The pages of the keys, as the phones have them.
func TestFanvilKeys(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "fanvil" {
			return
		}
		for _, c := range []struct {
			model string
			index int
			want  string
		}{
			{"X3U", 3, "dssSide 1/Fkey 3"}, {"X4U", 4, "internal 1/Fkey 1"}, {"X4U", 33, "internal 5/Fkey 6"}, {"X5U", 10, "internal 1/Fkey 6"}, {"X5U", 11, "internal 2/Fkey 1"},
			{"X4", 30, "Fkey30"}, {"X3G", 1, "Fkey1"}, {"X6U", 5, "dssSide 1/Fkey 5"}, {"X6U", 65, "internal 5/Fkey 12"},
		} {
			body, err := render(fmt.Sprintf(`{"tenant":"demo","vendor":"fanvil","model":%q,"url":"https://a","line":{"server":"a"}}`, c.model),
				fmt.Sprintf(`{"device":"0c383e000001","tenant":"demo","lines":[{"user":"1","password":"a"}],"keys":[{"index":%d,"type":"speed-dial","value":"700"}]}`, c.index), p, "config")
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range must(l.read(body)) {
				if s.value == "700@1/f" && s.name != "dsskey/"+c.want+"/Value" {
					t.Errorf("key %d of %s is %s, want %s", c.index, c.model, s.name, c.want)
				}
			}
			if !bytes.Contains(body, []byte("700@1/f")) {
				t.Errorf("key %d of %s is not there", c.index, c.model)
			}
		}
	})
}
