package record

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile holds one value of every kind that no configuration format can carry.
// The text is what Check must say about it.
var hostile = []struct{ name, value, what string }{
	{"NUL", "a\x00b", "has a control character"},
	{"line feed", "a\nb", "has a control character"},
	{"carriage return", "a\r\nb", "has a control character"},
	{"tab", "a\tb", "has a control character"},
	{"vertical tab", "a\vb", "has a control character"},
	{"escape", "a\x1b[0mb", "has a control character"},
	{"unit separator", "a\x1fb", "has a control character"},
	{"DEL", "a\x7fb", "has a control character"},
	{"first C1", "a\u0080b", "has a control character"},
	{"next line", "a\u0085b", "has a control character"},
	{"last C1", "a\u009fb", "has a control character"},
	{"line separator", "a\u2028b", "has a line separator"},
	{"paragraph separator", "a\u2029b", "has a line separator"},
	{"byte order mark", "a\ufeffb", "has a character that is none"},
	{"U+FFFE", "a\ufffeb", "has a character that is none"},
	{"U+FFFF", "a\uffffb", "has a character that is none"},
	{"U+FDD0", "a\ufdd0b", "has a character that is none"},
	{"U+FDEF", "a\ufdefb", "has a character that is none"},
	{"U+1FFFE", "a\U0001fffeb", "has a character that is none"},
	{"U+1FFFF", "a\U0001ffffb", "has a character that is none"},
	{"U+10FFFF", "a\U0010ffffb", "has a character that is none"},
	{"byte 80", "a\x80b", "is not UTF-8"},
	{"Latin-1", "Zo\xeb", "is not UTF-8"},
	{"cut sequence", "a\xe6\x97", "is not UTF-8"},
	{"overlong slash", "a\xc0\xafb", "is not UTF-8"},
	{"overlong NUL", "a\xc0\x80b", "is not UTF-8"},
	{"high surrogate", "a\xed\xa0\x80b", "is not UTF-8"},
	{"low surrogate", "a\xed\xbf\xbfb", "is not UTF-8"},
	{"surrogate pair in UTF-8", "a\xed\xa0\xbd\xed\xb8\x80b", "is not UTF-8"},
	{"beyond Unicode", "a\xf4\x90\x80\x80b", "is not UTF-8"},
	{"byte FF", "a\xffb", "is not UTF-8"},
}

// legitimate is what people do call their phones and lines.
var legitimate = []string{
	"O'Neil & Sons <Sales>", "Zoë Müller-Łuczak", `"Front" desk`, "#1 Support", "a;b,c", "50% off", `C:\temp`,
	"日本 支店", "R&D; QA", "x=y", "sip:100@pbx:5061", "# overwrite_mode = 1", "مبيعات", "🍕 Pizza", "e\u0301", "\u00a0", "\u00a1",
	"a", "%NULL%", "<<END OF FILE>>", "\ufffd", "\ufdcf\ufdf0", "\u2027\u202f", "\U0001fffd",
}

var all = []Rule{Plain, Label, Secret, User, Dial, Host, URL, Base, Parameter, MAC, Tenant, Name, Zone, Tag, Version, Clock}

const edge = "has a blank at its edge"

var rules = []struct {
	name      string
	rule      Rule
	good, bad []string
	what      string
}{
	{"plain", Plain, append(legitimate, "", " a ", "\u202ea", "\u2066a"), nil, ""},
	{"label", Label, append(legitimate, "", "a b"), []string{" a", "a ", " ", "  "}, edge},
	{"label, bidi", Label, []string{"\u200e\u200f", "\u2065\u206a"}, []string{
		"\u202aa", "\u202ba", "\u202ca", "\u202da", "\u202ea", "\u2066a", "\u2067a", "\u2068a", "a\u2069",
	}, "has a bidi control"},
	{"secret", Secret, append(legitimate, "", "p w", "gQ2vX8sLr0TzK4mWbN6yHc3d"), []string{" a", "a ", " "}, edge},
	{"user", User, []string{"", "1001", "ada.example", "a+b", "u-_.!~*'()", "&=+$,;?/", "%41", "#31#", "*97"}, []string{
		"a b", "a@b", "a:b", `a"b`, "a<b", "a>b", `a\b`, "a|b", "é", "a[b]", "{MAC}", "`", "^",
	}, "is not a SIP user"},
	{"dial", Dial, []string{"", "1001", "+38111222333", "*8", "#31#", "sip:600@pbx.example", "sips:a@b:5061;transport=tcp", "**61*1#"}, []string{"1$2", "$MAC$", "!x",
		"1 2", "100 |url http://evil.example", "a|b", `a"b`, "<sip:a@b>", `a\b`, "sip:a@[::1]", "é", "{MAC}",
	}, "is not a number, feature code, user or SIP URI"},
	{"host", Host, []string{
		"a", "localhost", "pbx.example", "PBX.Example", "xn--bcher-kva.example", "_sip._udp.pbx.example", "a_b", "a_", "1a", "a1", "3com.example",
		"1.2.3.example", "192.0.2.1", "0.0.0.0", "255.255.255.255", "[::]", "[::1]", "[2001:db8::1]", "[2001:DB8:0:0:0:0:0:1]",
		"[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[1::8]", "[fe80::1]", "1.2.3.4.example", strings.Repeat("a", 63),
		strings.Repeat("a.", 126) + "a",
	}, []string{
		"", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a-.b", "a b", "a/b", "a:5060", "a@b", "é.example", "a*", "$(reboot)", "pbx;reboot", "{MAC}",
		"1", "123", "1.2", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "01.2.3.4", "1.2.3.00", "1.2.3.0004", "1..2.3", "1.2.3.", "1.2.3.4.",
		"[", "[]", "[:]", "[1]", "[:::]", "[:1]", "[1:]", "[1::2::3]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7:8::]", "[::1:2:3:4:5:6:7:8]",
		"[12345::]", "[g::]", "[fe80::1%eth0]", "[::ffff:192.0.2.1]", "[::1", "::1", "[::1]a", "[[::1]]", "[::1]:80", "[ ::1]",
		strings.Repeat("a", 64), strings.Repeat("a.", 126) + "aa",
	}, "is not a host name or address"},
	{"URL", URL, []string{
		"http://a", "https://a/", "tftp://a/b", "https://pbx.example:8443/a/b.xml", "http://192.0.2.1:80", "http://[2001:db8::1]/", "http://[::1]:8080/x",
		"https://a?b=c&d=e", "https://a/?b", "https://a/%41%2f%2F", "https://a/!'()*+,;:@~-_.=", "http://a:1", "http://a:65535", "http://a/b@c", "http://a/b:c",
	}, []string{
		"", "a", "/a", "//a", "http:", "http:/a", "http://", "http:///a", "http://?a", "HTTP://a", "Https://a", " http://a", "http://a ", "http://a/b c",
		"javascript:alert(1)", "file:///etc/passwd", "ftp://a", "data:,x", "http://u:p@h/", "http://u@h/", "http://@h/", "http://a:80:90/", "http://a:/", "http://a:0/",
		"http://a:00080/", "http://a:65536/", "http://a:x/", "http://a:-1/", "http://[::1/", "http://[::1]:/", "http://::1/", "http://a/$MAC", "http://a/{MAC}", "http://a/[x]", "http://a/<x>",
		`http://a/"x"`, `http://a\b`, "http://a/#x", "http://a/^", "http://a/`", "http://a/|", "http://a/é", "http://a../", "http://-a/",
		"http://a/%", "http://a/%4", "http://a/%4g", "http://a/%g4", "http://a/?%zz", "http://a/%%41",
	}, "is not an absolute http, https or tftp URL without user, password or blanks"},
	{"MAC", MAC, []string{"001565aabbcc", "fefefefefefe", "0a0000000000", "000000000001"}, []string{
		"", "000000000000", "ffffffffffff", "011565aabbcc", "00156aabbcc", "001565aabbccd", "00156gaabbcc", "001565AABBCC", "00:15:65:aa:bb:cc", "00-15-65-aa-bb-cc",
		"0015.65aa.bb", "001565aabbc ", " 01565aabbcc", "００1565",
	}, "is not the MAC of a device in 12 lower-case hexadecimal digits"},
	{"tenant", Tenant, []string{"a", "0", "demo", "a-b", "a--b", strings.Repeat("a", 32)}, []string{
		"", "-", "-a", "a-", "A", "Demo", "a_b", "a.b", "a/b", "a b", "é", "..", strings.Repeat("a", 33),
	}, `is not 1 to 32 of a-z, 0-9 and "-"`},
	{"name", Name, []string{"", "a", "account.1.label", "P271", "a_b-C"}, []string{"a b", "a=b", "a:b", "a\\", "a/b", "é", "a#", "!a", "^a", "a\"", "<a>"}, `is not a name of letters, digits, ".", "_" and "-"`},
	{"base", Base, []string{"https://prov.example.com", "http://a/", "https://h:8443/a/b", "https://[2001:db8::1]/x"}, []string{
		"", "https://h/?a=b", "https://h?x", "https://h//", "https://h/a//", "tftp://h/", "https://u:p@h/", "https://h/a b", "h", "https://h/#f",
	}, "is not an absolute http or https URL without user, password, query or blanks"},
	{"parameter", Parameter, []string{"a", "features.dnd.allow", "P271", "Display_Name_1_", "a.1.b"}, []string{
		"", ".", "a.", ".a", "a..b", "a-b", "a b", "a=b", "a:b", "é", "a/b",
	}, `is not a parameter name: letters, digits and "_" with dots between`},
	{"zone", Zone, []string{"", "UTC", "Europe/Belgrade", "America/Port-au-Prince", "Etc/GMT+5", "America/Argentina/Buenos_Aires"}, []string{
		"../etc/passwd", "Europe.Belgrade", "Europe/Belgrade ", "a b", ":UTC", "é",
	}, "is not the name of a time zone"},
	{"tag", Tag, []string{"en", "pt-BR", "zh-Hant", "es-419", "sr-Latn-RS", "abcdefgh"}, []string{
		"", "e", "-", "en-", "-en", "en--US", "en_US", "a-b", "x-private", "en-x", "abcdefghi", "en-abcdefghi", "12", "4ever", "é", "en US",
	}, "is not a language tag"},
	{"version", Version, []string{"0", "1.2", "124.86.0.20", "999999", "01.02"}, []string{
		"", ".", "1.", ".1", "1..2", "1.2a", "v1", "-1", "1,2", "1 2", "1234567", "1.1234567", "١",
	}, "is not a version: digits with dots between"},
	{"clock", Clock, []string{"00:00", "02:47", "09:59", "19:30", "20:00", "23:59"}, []string{
		"", "24:00", "29:00", "30:00", "02:60", "2:47", "02:4", "02:047", "0247", "02h47", "02:47 ", " 2:47", "-1:00", "+1:00", "0a:00", "02.47", "02:47:00", "٠٢:٤٧",
	}, "is not a time of the day from 00:00 to 23:59"},
}

func TestRules(t *testing.T) {
	tested := map[Rule]bool{}
	for _, c := range rules {
		tested[c.rule] = true
		for _, s := range c.good {
			if got := c.rule.Check(s); got != "" {
				t.Errorf("%s: %q %s", c.name, s, got)
			}
		}
		for _, s := range c.bad {
			// A value can break Plain as well; what matters is that it is refused for
			// the reason of the row when it is plain.
			if got := c.rule.Check(s); got != c.what {
				t.Errorf("%s: %q: %q, want %q", c.name, s, got, c.what)
			}
		}
	}
	for _, r := range all {
		if !tested[r] {
			t.Errorf("rule %d has no row", r)
		}
	}
	// A rule that is added without a row here: the next number must mean nothing.
	if r := all[len(all)-1] + 1; r.Check("é |\"<") != "" {
		t.Errorf("rule %d is not in the list of all rules", r)
	}
}

func TestHostileValuesAreRefusedByEveryRule(t *testing.T) {
	for _, c := range hostile {
		for _, r := range all {
			for _, value := range []string{c.value, strings.Trim(c.value, "ab"), strings.Repeat("日x", 20) + c.value} {
				if got := r.Check(value); got != c.what {
					t.Errorf("%s under rule %d: %q, want %q", c.name, r, got, c.what)
				}
			}
		}
		if got := CheckPlain(c.value); got != c.what {
			t.Errorf("CheckPlain, %s: %q, want %q", c.name, got, c.what)
		}
	}
}

// The definition of Plain once more, character by character, over all of Unicode.
func TestPlainIsWhatItSays(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue // has no encoding; in the hostile table as bytes
		}
		control := r < 0x20 || r >= 0x7f && r <= 0x9f
		separator := r == 0x2028 || r == 0x2029
		none := r == 0xfeff || r&0xffff == 0xfffe || r&0xffff == 0xffff || r >= 0xfdd0 && r <= 0xfdef
		bidi := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		s := "x" + string(r) + "x"
		if got, want := Plain.Check(s) == "", !control && !separator && !none; got != want {
			t.Errorf("plain: U+%04X is accepted: %v", r, got)
		}
		if got, want := Label.Check(s) == "", !control && !separator && !none && !bidi; got != want {
			t.Errorf("label: U+%04X is accepted: %v", r, got)
		}
	}
}

// No rule says more about a value than its name.
func TestTextsHoldNoValue(t *testing.T) {
	const marker = "q7"
	for _, r := range all {
		for _, s := range []string{marker + "\x00", " " + marker, marker + "|", marker + "\u202e", marker + "é"} {
			if got := r.Check(s); strings.Contains(got, marker) {
				t.Errorf("rule %d: %q", r, got)
			}
		}
	}
}

// Only individual addresses (IEEE 802: the lowest bit of the first octet).
func TestMACIsThatOfOneDevice(t *testing.T) {
	const digits = "0123456789abcdef"
	for i := range digits {
		for j := range digits {
			s := digits[i:i+1] + digits[j:j+1] + "1565aabbcc"
			address, err := net.ParseMAC(s[:2] + ":15:65:aa:bb:cc")
			if err != nil {
				t.Fatal(err)
			}
			if want := address[0]&1 == 0; IsMAC(s) != want {
				t.Errorf("IsMAC(%q) is %v", s, !want)
			}
		}
	}
	for at := range 12 {
		for c := range 256 {
			s := []byte("aa1565aabbcc")
			s[at] = byte(c)
			odd := strings.IndexByte(digits, byte(c))&1 == 1
			want := strings.IndexByte(digits, byte(c)) >= 0 && !(at == 1 && odd)
			if IsMAC(string(s)) != want {
				t.Errorf("IsMAC(%q) is %v", s, !want)
			}
		}
	}
}

// hostName is RFC 1123 with the underscore of RFC 2782 and no dot at the end.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$`)

// endsInNumber is the test of the URL standard for what has to be an address.
var endsInNumber = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Za-z_-]*)$`)

// What IsHost accepts, net/netip and net/url accept, and hold it to be the same
// address. What it refuses they refuse too, but for what is refused on purpose:
// zones ("%eth0"), the dotted form inside IPv6, and names that end in a number
// without being an address.
func checkHost(t *testing.T, s string) {
	got := IsHost(s)
	var want bool
	switch bare, bracketed := strings.CutPrefix(s, "["); {
	case bracketed:
		bare, closed := strings.CutSuffix(bare, "]")
		address, err := netip.ParseAddr(bare)
		want = closed && err == nil && address.Is6() && !strings.ContainsAny(bare, "%.")
	case strings.Trim(s, "0123456789.") == "":
		address, err := netip.ParseAddr(s)
		want = err == nil && address.String() == s
	default:
		want = len(s) <= 253 && hostName.MatchString(s) && !endsInNumber.MatchString(s)
	}
	if got != want {
		t.Errorf("IsHost(%q) is %v", s, got)
	}
	if got {
		u, err := url.Parse("https://" + s + ":5061/")
		if err != nil || u.Hostname() != strings.Trim(s, "[]") || u.Port() != "5061" {
			t.Errorf("net/url does not take the host %q: %v, %v", s, u, err)
		}
	}
}

// checkURL: what is accepted, net/url reads as an absolute URL without user and
// fragment, with a host that is one, and writes back as it was.
func checkURL(t *testing.T, s string) {
	if URL.Check(s) != "" {
		return
	}
	u, err := url.Parse(s)
	if err != nil {
		t.Fatalf("URL accepts %q, net/url does not: %v", s, err)
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port, err := strconv.Atoi(u.Port())
	if u.Port() == "" {
		port, err = 80, nil
	}
	switch {
	case u.String() != s, u.User != nil, u.Fragment != "", u.Opaque != "", !IsHost(host),
		u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "tftp",
		err != nil, port < 1, port > 65535, strings.ContainsAny(s, "${}[]<> \"\\|^`#") && !strings.Contains(s, "://["):
		t.Fatalf("URL accepts %q, net/url reads %#v", s, u)
	}
	if _, err := url.QueryUnescape(u.RawQuery); err != nil {
		t.Fatalf("URL accepts %q: %v", s, err)
	}
}

func FuzzHost(f *testing.F) {
	for _, c := range rules {
		if c.rule == Host {
			for _, s := range append(c.good, c.bad...) {
				f.Add(s)
			}
		}
	}
	f.Fuzz(checkHost)
}

func FuzzURL(f *testing.F) {
	for _, c := range rules {
		if c.rule == URL {
			for _, s := range append(c.good, c.bad...) {
				f.Add(s)
			}
		}
	}
	f.Fuzz(checkURL)
}

// Every string over an alphabet in which addresses go wrong: more than any fuzz
// run of a second sees.
func TestShortAddresses(t *testing.T) {
	for _, c := range []struct {
		alphabet, before, after string
		length                  int
		check                   func(*testing.T, string)
	}{
		{"1a:.%]", "[", "]", 7, checkHost},
		{"1:", "[", "]", 17, checkHost},
		{"012.", "", "", 8, checkHost},
		{"256.", "1.25", "", 7, checkHost},
		{"a0.-_:", "", "", 6, checkHost},
		{"a1:/?@%", "http://", "", 6, checkURL},
		{"4g%", "http://a/", "", 8, checkURL},
	} {
		b := []byte(c.before)
		var extend func(int)
		extend = func(left int) {
			c.check(t, string(b)+c.after)
			if left == 0 || t.Failed() {
				return
			}
			for i := range len(c.alphabet) {
				b = append(b, c.alphabet[i])
				extend(left - 1)
				b = b[:len(b)-1]
			}
		}
		extend(c.length)
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range []Rule{Label, Secret, User, Dial} {
			r.Check("gQ2vX8sLr0TzK4mWbN6yHc3d")
		}
	}
}
