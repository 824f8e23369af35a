package vendors_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/template"
)

// The two families read one language, in which some words differ.
func init() {
	denied := []string{
		// Where the phone gets its configuration and firmware from, and when.
		"Profile_Rule", "Profile_Rule_B", "Provision_Enable", "Resync_Periodic", "Resync_At__HHmm_", "Resync_At_Random_Delay", "Resync_Random_Delay", "Resync_On_Reset",
		"Resync_From_SIP", "Resync_Trigger_1", "Resync_Error_Retry_Delay", "Resync_Fails_On_FNF", "Forced_Resync_Delay", "Upgrade_Rule", "Upgrade_Enable", "Report_Rule",
		"HTTP_Report_Method", "Report_To_Server", "DHCP_Option_To_Use", "User_Configurable_Resync", "GPP_A", "GPP_SA", "Peer_Firmware_Sharing", "Trans_Auth_Rule",
		"Dictionary_Server_Script", "Picture_Download_URL", "Logo_URL", "BMP_Picture_Download_URL", "Proxy_Mode", "PAC_URL",
		// Whom it trusts, and who may open it.
		"Custom_CA_Rule", "Custom_CA_URL", "MIC_Cert_Refresh_Rule", "CDC_Server_1_", "HTTPS_Name_Validate", "TLS_Name_Validate_1_", "TLS_Cipher_List", "Admin_Password", "Admin_Passwd",
		"User_Password", "Enable_Web_Server", "Enable_Web_Admin_Access", "Restricted_Access_Domains", "Web_Login_Admin_Password", "IVR_Admin_Passwd", "Auth_Resync_Reboot_1_",
		"Enable_Direct_Action_Url", "Webex_Onboard_Enable", "Enable_TR_069", "ACS_URL", "ACS_Password", "VPN_Server",
		// Whom it calls out to, with what is going on.
		"CISCO_XML_EXE_Enable", "XML_Application_Service_URL", "XML_Directory_Service_URL", "Syslog_Server", "Debug_Server", "PRT_Upload_Rule", "LDAP_Server", "LDAP_Password", "PSK_1",
		"Group_Paging_Script", "BLF_List_URI", "Conference_Bridge_URL_1_", "STUN_Server", "NAT_Keep_Alive_Dest_1_", "Log_Request_Msg", "HTTP_User_Agent_Name",
		// The accounts, keys, emergency calls and the network.
		"Proxy_1_", "Outbound_Proxy_1_", "User_ID_1_", "Password_1_", "Auth_ID_1_", "Register_Expires_1_", "Subscribe_Expires", "Subscription_Expires_1_", "SIP_Transport_1_",
		"Secure_Call_Option_1_", "Voice_Mail_Server_1_", "Voice_Mail_Subscribe_Interval_1_", "Mailbox_Subscribe_Expires_1_", "Emergency_Number_1_", "Cfwd_All_Dest", "EM_Enable",
		"Extended_Function_1_", "Unit_1_Key_1", "Unit_1_Key_1_", "Enable_VLAN", "VLAN_ID", "Connection_Type", "Primary_DNS", "Primary_NTP_Server", "Time_Zone", "Router_Mode",
		"flat-profile", "router-configuration", "Web_Management",
	}
	for _, vendor := range []string{"cisco-mpp", "cisco-spa"} {
		unit := "Unit_%d_Key_%d_"
		if vendor == "cisco-spa" {
			unit = "Unit_%d_Key_%d"
		}
		layouts[vendor] = &layout{
			read: readCisco, off: "No", offKey: ciscoEmpty,
			enable: func(account int) string { return fmt.Sprintf("Line_Enable_%d_", account) },
			key: func(module, index int) string {
				if module == 0 {
					return fmt.Sprintf("Extended_Function_%d_", index)
				}
				return fmt.Sprintf(unit, module, index)
			},
			unset: true, unescape: unescapeXML,
			timer: func(name string, line int) string {
				return map[string]string{
					"checkin":   "Resync_Periodic",
					"register":  fmt.Sprintf("Register_Expires_%d_", line),
					"subscribe": "Subscribe_Expires",
					"boot":      "Resync_Random_Delay",
				}[name]
			},
			fitLine: ciscoFitLine, fit: ciscoFit, fits: ciscoFits,
			wants: ciscoWants, zone: ciscoZone,
			settings: ciscoSettings,
			denied:   denied,
		}
		refusedZones[vendor] = append(slices.Clone(refusedZones["yealink"]),
			// No such offset from UTC.
			"Asia/Kabul", "Australia/Eucla", "Australia/Lord_Howe", "Pacific/Kiritimati", "Pacific/Marquesas")
	}
}

// ciscoSettings are the extra settings.
var ciscoSettings = []string{"Back_Light_Timer", "Dial_Plan_1_", "Station_Name", "Time_Format"}

// ciscoEmpty is what readCisco gives for an element that is there and empty.
const ciscoEmpty = "(empty)"

// ciscoName is what a parameter may be called: the label of the web page, with "_"
// for what no element can have.
var ciscoName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// readCisco reads the parameters by name; those of the router stand behind
// "router/". A phone takes the last of two, so that there must not be two. It knows
// no more XML than the phones are known to, trims, and no element has an attribute.
func readCisco(body []byte) (settings []setting, err error) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<flat-profile>\n"
	if !bytes.HasPrefix(body, []byte(head)) || !bytes.HasSuffix(body, []byte("\n</flat-profile>\n")) {
		return nil, errors.New("not a profile")
	}
	seen := map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(body))
	var path []string
	var text strings.Builder
	inner := false
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
			if len(token.Attr) > 0 || token.Name.Space != "" || !ciscoName.MatchString(name) {
				return nil, fmt.Errorf("element %s", name)
			}
			path = append(path, name)
			inner = true
			text.Reset()
		case xml.EndElement:
			name := strings.Join(path[1:], "/")
			router := strings.HasPrefix(name, "router-configuration/")
			path = path[:len(path)-1]
			value := text.String()
			if inner {
				switch {
				case seen[name]:
					return nil, fmt.Errorf("%s is set a second time", name)
				case strings.Contains(name, "/") && !router:
					return nil, fmt.Errorf("%s is nested", name)
				case value != strings.Trim(value, " ") || strings.ContainsAny(value, "\n\r\t"):
					return nil, fmt.Errorf("%s has a blank at its edge, or a line break: %q", name, value)
				case value == "":
					value = ciscoEmpty
				}
				seen[name] = true
				settings = append(settings, setting{name, value})
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

// ciscoFitLine makes of a line one that the phone can express.
func ciscoFitLine(s *source.Descriptor, d *device, l *line, stored map[string]any) {
	if s.Vendor == "cisco-spa" && !slices.Contains(d.model.Features, "secure-option") && l.srtp == "required" {
		l.srtp, stored["srtp"] = "optional", "optional"
	}
}

// ciscoFit makes of a key one that the phone has.
func ciscoFit(d *device, k *key, stored map[string]any) {
	if k.pickup != "" {
		k.pickup = ""
		delete(stored, "pickup")
	}
	if strings.ContainsAny(k.value, "$;@") {
		k.value, stored["value"] = "700", "700"
	}
	if k.kind == "voicemail" && k.value == "" {
		k.value, stored["value"] = "*97", "*97"
	}
	if stored["label"] == nil && k.kind != "line" {
		k.label = k.value
	}
	if strings.ContainsAny(k.label, "$;") {
		k.label, stored["label"] = "desk", "desk"
	}
}

func ciscoFits(m *pack.Model, k key) bool { return k.module == 0 || k.kind != "line" }

// ciscoWants is what the file has to say for a phone.
func ciscoWants(s *source.Descriptor, d *device) map[string]string {
	text := func(s string) string {
		if s == "" {
			return ciscoEmpty
		}
		return s
	}
	yes := func(is bool) string {
		if is {
			return "Yes"
		}
		return "No"
	}
	spa, adapter := s.Vendor == "cisco-spa", slices.Contains(d.model.Features, "adapter")
	rule := ownURL + d.mac + ".xml"
	if d.password {
		rule = "[--uid " + d.mac + " --pwd " + ownPassword + "]" + rule
	}
	boot := "2"
	if d.boot > 0 {
		boot = strconv.FormatUint(d.boot/20, 10)
	}
	want := map[string]string{
		"Profile_Rule": rule, "Profile_Rule_B": ciscoEmpty, "Profile_Rule_C": ciscoEmpty, "Profile_Rule_D": ciscoEmpty, "Report_Rule": ciscoEmpty,
		"Resync_Periodic": d.timer(0, "checkin", 0), "Resync_At__HHmm_": ciscoEmpty, "Resync_Trigger_1": ciscoEmpty, "Resync_Trigger_2": ciscoEmpty,
		"Resync_Random_Delay": boot, "Resync_Error_Retry_Delay": "600,1200,2400,3600", "Upgrade_Rule": text(d.firmwareURL),
		"Reg_Min_Expires": "1", "Reg_Max_Expires": "86400", "Reg_Retry_Intvl_Cap": "600", "Reg_Retry_Random_Delay": "30",
		"Admin_Password": "", "Admin_Passwd": "", "Primary_NTP_Server": "", "Secondary_NTP_Server": "", "Voice_Mail_Number": "", "Subscribe_Expires": "",
		"XML_Directory_Service_Name": "", "XML_Directory_Service_URL": "", "Secure_Call_Setting": "", "Call_Pickup_Code": "", "Attendant_Console_Call_Pickup_Code": "",
		"Number_of_Units": "", "Unit_1_Enable": "", "Language_Selection": "", "Locale": "",
		"router-configuration/Time_Setup/Time_Server": "", "router-configuration/Web_Login_Admin_Name": "", "router-configuration/Web_Login_Admin_Password": "",
	}
	admin := d.admin
	if d.staged {
		admin = ""
	}
	if adapter {
		if len(d.ntp) > 0 {
			want["router-configuration/Time_Setup/Time_Server"] = d.ntp[0]
		}
		if admin != "" {
			want["router-configuration/Web_Login_Admin_Name"], want["router-configuration/Web_Login_Admin_Password"] = "admin", admin
		}
	} else {
		ciscoPhoneWants(s, d, want)
		if spa {
			want["Admin_Passwd"] = admin
		} else {
			want["Admin_Password"] = admin
		}
	}
	for i := 1; i <= int(d.model.Lines); i++ {
		n := fmt.Sprintf("_%d_", i)
		want["Line_Enable"+n], want["Password"+n], want["User_ID"+n], want["Register_Expires"+n], want["Proxy"+n] = "No", ciscoEmpty, ciscoEmpty, "", ""
	}
	for _, l := range d.lines {
		n := fmt.Sprintf("_%d_", l.index)
		port := func(host string, port int) string {
			if port > 0 {
				host += ":" + strconv.Itoa(port)
			}
			return host
		}
		transport := strings.ToUpper(l.transport)
		if l.transport == "dns-naptr" {
			transport = "Auto"
			if spa {
				transport = "UDP"
			}
		}
		for name, value := range map[string]string{
			"Line_Enable": "Yes", "Display_Name": l.display, "User_ID": l.user, "Auth_ID": l.authUser, "Password": l.password, "Proxy": port(l.server, l.port),
			"Outbound_Proxy": text(port(l.proxy, l.proxyPort)), "SIP_Transport": transport, "Use_DNS_SRV": yes(l.transport == "dns-naptr"), "DNS_SRV_Auto_Prefix": yes(l.transport == "dns-naptr"),
			"Register_Expires": d.timer(1, "register."+strconv.Itoa(l.index), l.register), "Register": "Yes",
		} {
			want[name+n] = value
		}
		if spa {
			want["Use_Auth_ID"+n], want["Use_Outbound_Proxy"+n] = "Yes", yes(l.proxy != "")
		} else {
			want["Use_Auth_ID"+n], want["Use_Outbound_Proxy"+n] = "", ""
		}
		want["Secure_Call_Option"+n] = ""
		if !spa || slices.Contains(d.model.Features, "secure-option") {
			want["Secure_Call_Option"+n] = map[string]string{"off": "Optional", "optional": "Optional", "required": "Required"}[l.srtp]
		}
		want["Voice_Mail_Server"+n], want["Mailbox_ID"+n] = ciscoEmpty, ""
		if adapter {
			want["Voice_Mail_Server"+n], want["Mailbox_ID"+n] = "", text(l.mailbox)
		}
	}
	for _, name := range ciscoSettings {
		want[name] = ""
		if value := d.extra[name]; !d.staged {
			want[name] = value
		}
	}
	return want
}

// ciscoPhoneWants is what only phones have.
func ciscoPhoneWants(s *source.Descriptor, d *device, want map[string]string) {
	text := func(s string) string {
		if s == "" {
			return ciscoEmpty
		}
		return s
	}
	spa := s.Vendor == "cisco-spa"
	want["Subscribe_Expires"] = d.timer(2, "subscribe", 0)
	if len(d.ntp) > 0 {
		want["Primary_NTP_Server"], want["Secondary_NTP_Server"] = d.ntp[0], ciscoEmpty
		if len(d.ntp) > 1 {
			want["Secondary_NTP_Server"] = d.ntp[1]
		}
	}
	want["XML_Directory_Service_Name"], want["XML_Directory_Service_URL"] = ciscoEmpty, ciscoEmpty
	if d.bookURL != "" && !d.staged {
		want["XML_Directory_Service_Name"], want["XML_Directory_Service_URL"] = d.bookName, d.bookURL
	}
	want["Language_Selection"], want["Locale"] = s.Tables["language"][d.language], s.Tables["locale"][d.language]
	pickup := d.pickup
	if d.staged {
		pickup = ""
	}
	want["Call_Pickup_Code"] = pickup
	if spa {
		want["Attendant_Console_Call_Pickup_Code"] = pickup
	}
	mailbox, secure := "", "No"
	for _, l := range d.lines {
		if mailbox == "" {
			mailbox = l.mailbox
		}
		if l.srtp != "off" {
			secure = "Yes"
		}
	}
	want["Voice_Mail_Number"], want["Secure_Call_Setting"] = text(mailbox), secure
	units := 0
	for i := 1; i <= int(d.model.Keys); i++ {
		n := fmt.Sprintf("_%d_", i)
		want["Extension"+n], want["Short_Name"+n], want["Extended_Function"+n] = "Disabled", ciscoEmpty, ciscoEmpty
	}
	for _, k := range d.keys {
		units = max(units, k.module)
		host, last := "$PROXY", ";vid="+strconv.Itoa(k.line)
		if spa {
			last = ""
			for _, l := range d.lines {
				if l.index == k.line {
					host = l.server
				}
			}
		}
		if k.label != "" {
			last += ";nme=" + k.label
		}
		function := ""
		switch k.kind {
		case "blf":
			function = "fnc=blf+sd"
			if d.pickup != "" {
				function += "+cp"
			}
			function += ";sub=" + k.value + "@" + host + ";ext=" + k.value + "@" + host + last
		case "speed-dial", "retrieve-park", "voicemail":
			function = "fnc=sd;ext=" + k.value + "@" + host + last
		}
		if k.module > 0 {
			want[layouts[s.Vendor].key(k.module, k.index)] = text(function)
			continue
		}
		n := fmt.Sprintf("_%d_", k.index)
		want["Extended_Function"+n], want["Short_Name"+n] = text(function), text(k.label)
		if k.kind == "line" {
			want["Extension"+n] = strconv.Itoa(k.line)
		}
	}
	if spa {
		yes := []string{"No", "Yes"}
		want["Unit_1_Enable"], want["Unit_2_Enable"] = yes[min(units, 1)], yes[max(units, 1)-1]
	} else {
		want["Number_of_Units"] = strconv.Itoa(units)
	}
}

var (
	ciscoOffset = regexp.MustCompile(`^GMT(?:([+-])(\d\d):(\d\d))?$`)
	ciscoRule   = regexp.MustCompile(`^start=(\d+)/(-?\d+)/([1-7])/(\d+):0:0;end=(\d+)/(-?\d+)/([1-7])/(\d+):0:0;save=([12]):0:0$`)
)

// ciscoZone reads the rule by the grammar in vendors/cisco-spa/README.md: the weekday
// on or after a day, or the last one of a month for -1.
func ciscoZone(t *testing.T, file map[string]string) *clock {
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	offset := ciscoOffset.FindStringSubmatch(file["Time_Zone"])
	if offset == nil {
		t.Fatalf("Time_Zone = %q", file["Time_Zone"])
	}
	c := &clock{}
	if offset[1] != "" {
		c.standard = 60*number(offset[2]) + number(offset[3])
	}
	if offset[1] == "-" {
		c.standard = -c.standard
	}
	rule, ok := file["Daylight_Saving_Time_Rule"]
	if c.summer = file["Daylight_Saving_Time_Enable"] == "Yes"; c.summer != ok {
		t.Fatalf("Daylight_Saving_Time_Enable = %q, and the rule is %q", file["Daylight_Saving_Time_Enable"], rule)
	}
	if !c.summer {
		return c
	}
	parts := ciscoRule.FindStringSubmatch(rule)
	if parts == nil {
		t.Fatalf("Daylight_Saving_Time_Rule = %q", rule)
	}
	read := func(p []string) change {
		day, week := number(p[1]), 5
		if day != -1 {
			if week = (day-1)/7 + 1; day != 7*week-6 || week > 4 {
				t.Fatalf("Daylight_Saving_Time_Rule = %q", rule)
			}
		}
		return change{number(p[0]), week, number(p[2]), number(p[3])}
	}
	c.save, c.start, c.end = 60*number(parts[9]), read(parts[1:5]), read(parts[5:9])
	return c
}

// What a phone would take for syntax is refused where it has some, even if a document
// that says so should ever get past the rules of its fields.
func TestCiscoSyntax(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "cisco-mpp" && s.Vendor != "cisco-spa" {
			return
		}
		const device = `{"device":"001565aabb01","tenant":"demo","firmware_url":"https://a/b","lines":[{"user":"1","password":"a"}],"keys":[{"type":"blf","value":"2","label":"Bob"},{"type":"line","label":"Ada"}]}`
		tenant := fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"auth":"basic","url":"https://a","line":{"server":"a"}}`, s.Vendor, large(p))
		run := func(change func(record.Record)) (string, *template.Error) {
			r, _, err := phone(tenant, device, p)
			if err != nil {
				t.Fatal(err)
			}
			change(r)
			file, _ := p.File("001565aabb01.xml")
			body, stopped := new(template.Machine).Run(file.Program, nil, r)
			return string(body), stopped
		}
		if _, stopped := run(func(record.Record) {}); stopped != nil {
			t.Fatal(stopped)
		}
		for name, change := range map[string]func(record.Record){
			"CI3, macro in the URL":    func(r record.Record) { r[profile.PhoneURL].Str = "https://h/$GPP_SA/" },
			"bar in the URL":           func(r record.Record) { r[profile.PhoneURL].Str = "https://h/|https://evil.example/" },
			"end of the arguments":     func(r record.Record) { r[profile.PhoneProvisioningPassword].Str = "x] https://evil.example/ [" },
			"macro in the firmware":    func(r record.Record) { r[profile.FirmwareURL].Str = "https://h/$SN" },
			"second function":          func(r record.Record) { r[profile.Keys].List[0][profile.KeyLabel].Str = "Bob;fnc=sd;ext=9@evil.example" },
			"macro in the label":       func(r record.Record) { r[profile.Keys].List[1][profile.KeyLabel].Str = "$USER" },
			"host in the number":       func(r record.Record) { r[profile.Keys].List[0][profile.KeyValue].Str = "9@evil.example" },
			"parameters of the number": func(r record.Record) { r[profile.Keys].List[0][profile.KeyValue].Str = "9;vid=2" },
		} {
			if body, stopped := run(change); stopped == nil || !strings.Contains(stopped.What, "could take for syntax") {
				t.Errorf("%s: %v\n%s", name, stopped, body)
			}
		}
	})
}

// The day of a change, for each week that a zone may have.
func TestCiscoWeeks(t *testing.T) {
	each(t, func(t *testing.T, s *source.Descriptor, l *layout, p *pack.Pack) {
		if s.Vendor != "cisco-mpp" && s.Vendor != "cisco-spa" {
			return
		}
		r, _, err := phone(fmt.Sprintf(`{"tenant":"demo","vendor":%q,"model":%q,"url":"https://a","time_zone":"Europe/Belgrade"}`, s.Vendor, large(p)),
			`{"device":"001565aabb01","tenant":"demo","state":"staged"}`, p)
		if err != nil {
			t.Fatal(err)
		}
		file, _ := p.File("001565aabb01.xml")
		start := r[profile.PhoneZone].List[0][profile.Zone.Index("start")].List[0]
		for week, want := range []string{"1", "8", "15", "22", "-1"} {
			start[profile.ZoneChange.Index("week")] = record.Number(int64(week + 1))
			body, stopped := new(template.Machine).Run(file.Program, nil, r)
			if stopped != nil || !bytes.Contains(body, []byte("start=3/"+want+"/7/2:0:0;end=10/-1/7/3:0:0;save=1:0:0<")) {
				t.Errorf("week %d: %v\n%s", week+1, stopped, body)
			}
		}
	})
}
