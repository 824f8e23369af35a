// Package cases is a collection of stored documents for tests: good ones, and bad
// ones with the error that each must give. More than one judge is held to it, the
// core's reader and the published JSON Schema, so it belongs to neither.
package cases

import "strings"

// Kinds of documents.
const (
	Tenant = "tenant"
	Device = "device"
)

// Good is a document that must be accepted.
type Good struct{ Name, Kind, Document string }

// Bad is a document that must be refused with this error.
type Bad struct{ Name, Kind, Document, Error string }

// TenantWith and DeviceWith are the smallest documents that are complete, and
// these fields.
func TenantWith(fields string) string { return join(`{"tenant":"demo"`, fields) }
func DeviceWith(fields string) string {
	return join(`{"device":"001565aabb01","tenant":"demo"`, fields)
}

// LineWith is a device with one line that has also these fields.
func LineWith(fields string) string {
	return DeviceWith(`"lines":[` + join(`{"user":"1001","password":"s3cret"`, fields) + `]`)
}

func join(head, fields string) string {
	if fields == "" {
		return head + "}"
	}
	return head + "," + fields + "}"
}

// AllTenant and AllDevice have every field that there is.
const (
	AllTenant = `{
  "tenant": "demo", "schema": 1, "spread": 1, "place": "modulo-1", "url": "https://prov.example/p", "auth": "open", "client_cert": true,
  "vendor": "acme", "model": "D2", "firmware": "1.2.3", "state": "active", "time_zone": "Europe/Belgrade", "language": "pt-BR",
  "ntp": ["0.pool.ntp.org", "192.0.2.1"], "admin_password": "adminT", "codecs": ["g722", "pcma"], "pickup_code": "*8",
  "phonebook": {"name": "Book T", "url": "https://pbx.example/t.xml"}, "firmware_url": "http://fw.example/t.rom",
  "timers": {
    "checkin": {"interval": 43200, "window": 7200, "floor": 1800, "at": "23:59", "strategy": "native"}, "register": {"interval": 1800, "window": 300, "floor": 120},
    "subscribe": {"interval": 2400, "window": 400, "floor": 180}, "boot": 30
  },
  "keys": [{"module": 0, "index": 2, "type": "blf", "line": 1, "value": "1002", "label": "Bob", "pickup": "*81002"}],
  "extra": {"acme": {"screen.saver": "10"}, "other": {"a": "b"}}, "template": {"acme": "old", "other": "3"},
  "rollout": {
    "id": "2026-w49", "share": 0, "settings": {
      "place": "jump-1", "url": "https://prov.example/q",
      "line": {
        "enabled": true, "server": "sip3.example", "port": 5071, "transport": "udp", "outbound_proxy": "proxy3.example", "outbound_port": 5081,
        "register": 800, "srtp": "off", "voicemail": "*96", "mwi": true
      },
      "vendor": "acme", "model": "D4", "firmware": "1.2.5", "state": "active", "time_zone": "Europe/Belgrade", "language": "fr",
      "ntp": ["0.pool.ntp.org"], "admin_password": "adminR", "codecs": ["opus"], "pickup_code": "*7",
      "phonebook": {"name": "Book R", "url": "https://pbx.example/r.xml"}, "firmware_url": "http://fw.example/r.rom",
      "timers": {
        "checkin": {"interval": 43200, "window": 14400, "floor": 1800, "at": "03:30", "strategy": "interval"}, "register": {"interval": 1700, "window": 200, "floor": 100},
        "subscribe": {"interval": 2300, "window": 300, "floor": 170}, "boot": 20
      },
      "keys": [{"type": "dnd"}], "extra": {"acme": {"ring.tone": "9"}}, "template": {"acme": "new"}
    }
  },
  "line": {
    "enabled": true, "server": "sip.example", "port": 5070, "transport": "tcp", "outbound_proxy": "proxy.example", "outbound_port": 5080,
    "register": 900, "srtp": "required", "voicemail": "*97", "mwi": false
  }
}`
	AllDevice = `{
  "device": "001565aabb01", "tenant": "demo", "schema": 1, "generation": 7,
  "vendor": "acme", "model": "D4", "firmware": "1.2.4", "state": "active", "time_zone": "Australia/Sydney", "language": "de",
  "ntp": ["[2001:db8::1]"], "admin_password": "adminD", "codecs": ["opus"], "pickup_code": "*9",
  "phonebook": {"name": "Book D", "url": "https://pbx.example/d.xml"}, "firmware_url": "http://fw.example/d.rom",
  "timers": {
    "checkin": {"interval": 86400, "window": 3600, "floor": 600, "at": "00:00", "strategy": "interval"}, "register": {"interval": 600, "window": 60, "floor": 90},
    "subscribe": {"interval": 1200, "window": 0, "floor": 30}, "boot": 0
  },
  "keys": [{"type": "line", "line": 2}, {"module": 1, "index": 3, "type": "speed-dial", "line": 1, "value": "+38111222333", "label": "Taxi", "pickup": "*7"}],
  "extra": {"acme": {"screen.saver": "20", "ring.tone": "3"}}, "template": {"acme": "new"},
  "lines": [
    {"index": 1, "user": "1001", "auth_user": "a1001", "password": "pw1", "label": "O'Neil & Sons <Sales>", "display_name": "日本 支店",
     "enabled": true, "server": "sip2.example", "port": 5090, "transport": "udp", "outbound_proxy": "192.0.2.7", "outbound_port": 5091,
     "register": 1200, "srtp": "off", "voicemail": "*98", "mwi": true},
    {"index": 2, "user": "1002", "password": "pw2"}
  ]
}`
)

// Accepted are good documents.
var Accepted = []Good{
	{"all fields", Tenant, AllTenant},
	{"all fields", Device, AllDevice},
	{"least", Tenant, TenantWith("")},
	{"least", Device, DeviceWith("")},
	{"blanks around", Tenant, " \t\r\n" + `{ "tenant" : "demo" }` + "\n "},
	{"escaped key", Tenant, `{"te\u006eant":"demo"}`},
	{"escaped value", Tenant, `{"tenant":"d\u0065mo","url":"http:\/\/a\/"}`},
	{"F14: no lines", Device, DeviceWith(`"lines":[]`)},
	{"empty lists and groups", Tenant, TenantWith(`"keys":[],"ntp":[],"timers":{},"phonebook":{},"extra":{},"line":{}`)},
	{"empty settings", Device, DeviceWith(`"extra":{"acme":{}}`)},
	{"ends of ranges", Device, DeviceWith(`"generation":0,"timers":{"checkin":{"interval":1,"window":0,"floor":1},"boot":0}`)},
	{"other ends of ranges", Device, DeviceWith(`"generation":32767,"timers":{"checkin":{"interval":31622400,"window":31622400,"floor":31622400},"boot":3600}`)},
	{"F28: ends of ports", Device, LineWith(`"port":1,"outbound_port":65535`)},
	{"legitimate labels", Device, LineWith(`"label":"\"Front\" desk & R<D; #1 50% C:\\temp","display_name":"Zo\u00eb M\u00fcller \ud83d\ude00 日本"`)},
	{"blank inside a secret", Device, LineWith(`"auth_user":"a b"`)},
	{"F31: label of 99 bytes", Device, LineWith(`"label":"` + strings.Repeat("a", 99) + `"`)},
	{"F31: label of 33 characters in 99 bytes", Device, LineWith(`"label":"` + strings.Repeat("日", 33) + `"`)},
	{"F31: label of 24 emoji", Device, LineWith(`"label":"` + strings.Repeat("🍕", 24) + `"`)},
	{"label of one character", Device, LineWith(`"label":"é"`)},
	{"user with marks", Device, LineWith(`"voicemail":"sip:vm@pbx.example"`)},
	{"URLs", Tenant, TenantWith(`"url":"http://[2001:db8::1]:8080/a%20b","firmware_url":"tftp://192.0.2.1/x?c=d","phonebook":{"url":"https://a"}`)},
	{"hosts", Tenant, TenantWith(`"ntp":["[::1]","a_b.example"]`)},
	{"rollout of nothing to nobody", Tenant, TenantWith(`"rollout":{"id":"x","share":0,"settings":{}}`)},
	{"rollout to everybody", Tenant, TenantWith(`"rollout":{"id":"x","share":10000,"settings":{"template":{"acme":"new"}}}`)},
	{"all codecs", Tenant, TenantWith(`"codecs":["opus","g722","pcma","pcmu","g729","ilbc","g726-32"]`)},
	{"as many lines as may be", Device, DeviceWith(`"lines":[` + repeat(`{}`, 250) + `]`)},
	{"as many keys as may be", Tenant, TenantWith(`"keys":[` + repeat(`{}`, 400) + `]`)},
	{"largest", Tenant, TenantWith("") + strings.Repeat(" ", 256<<10-len(TenantWith("")))},
}

func repeat(item string, n int) string { return strings.Repeat(item+",", n-1) + item }

// settings is n settings of one vendor.
func settings(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"a` + strings.Repeat("b", i%60) + strings.Repeat("c", i/60) + `":"x"`)
	}
	return b.String()
}

// Texts of errors that many rows share.
const (
	notJSON      = "is not JSON"
	notObject    = "is not a JSON object"
	tooDeep      = "nests deeper than 64 levels"
	notString    = "is not a string"
	notNumber    = "is not a number"
	notBool      = "is not true or false"
	noWord       = "is none of its words"
	control      = "has a control character"
	notUTF8      = "is not UTF-8"
	half         = "has half a surrogate pair"
	notHost      = "is not a host name or address"
	notName      = `is not a name of letters, digits, ".", "_" and "-"`
	notParameter = `is not a parameter name: letters, digits and "_" with dots between`
	notBase      = "is not an absolute http or https URL without user, password, query or blanks"
	notURL       = "is not an absolute http, https or tftp URL without user, password or blanks"
	seconds      = "is not a whole number from 1 to 31622400"
	port         = "is not a whole number from 1 to 65535"
)

// Refused are bad documents, with the numbers of the kinds of bad input ("F3").
var Refused = append([]Bad{
	{"F3: empty", Tenant, "", notJSON},
	{"F3: blank", Tenant, "  \n", notJSON},
	{"F3: null", Device, "null", notObject},
	{"F3: array", Device, "[]", notObject},
	{"F3: array of documents", Device, "[" + DeviceWith("") + "]", notObject},
	{"F3: string", Device, `"x"`, notObject},
	{"F3: number", Device, "7", notObject},
	{"F3: true", Device, "true", notObject},
	{"F4: truncated in a string", Device, `{"device":"0015`, notJSON},
	{"F4: truncated after a value", Device, `{"device":"001565aabb01"`, notJSON},
	{"F4: truncated after a comma", Device, `{"device":"001565aabb01",`, notJSON},
	{"F4: truncated after a backslash", Device, `{"device":"001565aabb01\`, notJSON},
	{"F5: trailing text", Tenant, TenantWith("") + " x", notJSON},
	{"F5: two objects", Tenant, TenantWith("") + TenantWith(""), notJSON},
	{"F5: trailing comma", Tenant, `{"tenant":"demo",}`, notJSON},
	{"F5: trailing NUL", Tenant, TenantWith("") + "\x00", notJSON},
	{"F5: comment", Tenant, "/* x */" + TenantWith(""), notJSON},
	{"single quotes", Tenant, `{'tenant':'demo'}`, notJSON},
	{"bare key", Tenant, `{tenant:"demo"}`, notJSON},
	{"no comma", Tenant, `{"tenant":"demo" "schema":1}`, notJSON},
	{"no colon", Tenant, `{"tenant" "demo"}`, notJSON},
	{"no-break space between", Tenant, "{\u00a0\"tenant\":\"demo\"}", notJSON},
	{"bad escape", Tenant, `{"tenant":"d\emo"}`, notJSON},
	{"bad escape of a byte that is no UTF-8", Tenant, "{\"tenant\":\"d\\\xffemo\"}", notJSON},
	{"short escape", Tenant, `{"tenant":"d\u12"}`, notJSON},
	{"raw line feed in a string", Device, LineWith("\"label\":\"a\nb\""), notJSON},
	{"raw NUL in a string", Device, LineWith("\"label\":\"a\x00b\""), notJSON},
	{"F6: byte order mark", Tenant, "\ufeff" + TenantWith(""), notJSON},
	{"F6: UTF-16", Tenant, "\xff\xfe{\x00}\x00", notJSON},
	{"F7: duplicate key", Tenant, `{"tenant":"demo","tenant":"demo"}`, "tenant: appears twice"},
	{"F7: duplicate password", Device, LineWith(`"password":"other"`), "lines[0].password: appears twice"},
	{"F7: duplicate, escaped", Tenant, `{"tenant":"demo","\u0074enant":"demo"}`, "tenant: appears twice"},
	{"F7: duplicate, escaped first", Device, DeviceWith(`"g\u0065neration":1,"generation":2`), "generation: appears twice"},
	{"F7: duplicate after null", Device, DeviceWith(`"generation":null,"generation":2`), "generation: " + notNumber},
	{"F7: duplicate in a group", Tenant, TenantWith(`"timers":{"boot":1,"boot":2}`), "timers.boot: appears twice"},
	{"F7: duplicate group", Tenant, TenantWith(`"timers":{},"timers":{}`), "timers: appears twice"},
	{"F7: duplicate vendor", Tenant, TenantWith(`"extra":{"acme":{},"acme":{}}`), "extra.acme: appears twice"},
	{"F7: duplicate setting", Tenant, TenantWith(`"extra":{"acme":{"a.b":"1","a\u002eb":"2"}}`), "extra.acme.a.b: appears twice"},
	{"F10: 65 levels", Tenant, strings.Repeat("[", 65) + strings.Repeat("]", 65), tooDeep},
	{"F10: 65 levels of objects", Tenant, strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), tooDeep},
	{"F10: 64 levels", Tenant, strings.Repeat("[", 64) + strings.Repeat("]", 64), notObject},
	{"F10: 64 levels of objects", Tenant, strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), `has no field "a"`},
	{"F10: brackets in strings do not nest", Tenant, `{"` + strings.Repeat("[", 100) + `\"` + strings.Repeat("{", 100) + `":1}`, `has no field "` + strings.Repeat("[", 40) + `"`},
	{"F11: 100 000 levels", Tenant, strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), tooDeep},
	{"F11: 200 000 levels, not closed", Tenant, strings.Repeat(`[`, 200_000), tooDeep},
	{"F11: closed before opened", Tenant, strings.Repeat("]", 100_000) + strings.Repeat("[", 100_000), notJSON},
	{"F11: closed by the wrong bracket", Tenant, strings.Repeat("[}", 100_000), notJSON},
	{"F12: a byte too large", Tenant, TenantWith("") + strings.Repeat(" ", 256<<10-len(TenantWith(""))+1), "is larger than 262144 bytes"},
	{"F12: 25 MB", Device, strings.Repeat("x", 25<<20), "is larger than 262144 bytes"},
	{"F13: a line too many", Device, DeviceWith(`"lines":[` + repeat(`{}`, 251) + `]`), "lines: has more than 250 items"},
	{"F13: 10 000 lines", Device, DeviceWith(`"lines":[` + repeat(`{}`, 10_000) + `]`), "lines: has more than 250 items"},
	{"F13: a key too many", Tenant, TenantWith(`"keys":[` + repeat(`{}`, 401) + `]`), "keys: has more than 400 items"},
	{"F13: three time servers", Tenant, TenantWith(`"ntp":["a","b","c"]`), "ntp: has more than 2 items"},
	{"F13: no codec", Tenant, TenantWith(`"codecs":[]`), "codecs: has less than 1 items"},
	{"F13: 17 codecs", Tenant, TenantWith(`"codecs":[` + repeat(`"opus"`, 17) + `]`), "codecs: has more than 16 items"},
	{"F13: 101 settings", Tenant, TenantWith(`"extra":{"acme":{` + settings(101) + `}}`), "extra.acme: has more than 100 items"},
	{"F13: 17 vendors", Tenant, TenantWith(`"extra":{` + strings.ReplaceAll(settings(17), `"x"`, `{}`) + `}`), "extra: has more than 16 items"},
	{"rollout without id", Tenant, TenantWith(`"rollout":{"share":1,"settings":{}}`), "rollout.id: is required"},
	{"rollout without share", Tenant, TenantWith(`"rollout":{"id":"x","settings":{}}`), "rollout.share: is required"},
	{"rollout without settings", Tenant, TenantWith(`"rollout":{"id":"x","share":1}`), "rollout.settings: is required"},
	{"rollout to more than everybody", Tenant, TenantWith(`"rollout":{"id":"x","share":10001,"settings":{}}`), "rollout.share: is not a whole number from 0 to 10000"},
	{"rollout to half a device", Tenant, TenantWith(`"rollout":{"id":"x","share":0.5,"settings":{}}`), "rollout.share: is not a whole number from 0 to 10000"},
	{"rollout with a blank in its id", Tenant, TenantWith(`"rollout":{"id":"x y","share":1,"settings":{}}`), "rollout.id: " + notName},
	{"rollout of who the tenant is", Tenant, TenantWith(`"rollout":{"id":"x","share":1,"settings":{"tenant":"demo"}}`), `rollout.settings: has no field "tenant"`},
	{"rollout of what a phone has to show", Tenant, TenantWith(`"rollout":{"id":"x","share":1,"settings":{"auth":"open"}}`), `rollout.settings: has no field "auth"`},
	{"rollout in a rollout", Tenant, TenantWith(`"rollout":{"id":"x","share":1,"settings":{"rollout":{}}}`), `rollout.settings: has no field "rollout"`},
	{"bad setting of a rollout", Tenant, TenantWith(`"rollout":{"id":"x","share":1,"settings":{"timers":{"boot":-1}}}`), "rollout.settings.timers.boot: is not a whole number from 0 to 3600"},
	{"rollout of a device", Device, DeviceWith(`"rollout":{"id":"x","share":1,"settings":{}}`), `has no field "rollout"`},
	{"template as a word", Tenant, TenantWith(`"template":"new"`), "template: is not an object"},
	{"empty version", Tenant, TenantWith(`"template":{"acme":""}`), "template.acme: is shorter than 1 bytes"},
	{"version of a vendor twice", Device, DeviceWith(`"template":{"acme":"old","acme":"new"}`), "template.acme: appears twice"},
	{"F14: lines are an object", Device, DeviceWith(`"lines":{}`), "lines: is not an array"},
	{"F14: lines are null", Device, DeviceWith(`"lines":null`), "lines: is not an array"},
	{"a line is null", Device, DeviceWith(`"lines":[{},null]`), "lines[1]: is not an object"},
	{"a line is an array", Device, DeviceWith(`"lines":[[]]`), "lines[0]: is not an object"},
	{"F15: empty password", Device, DeviceWith(`"lines":[{"password":""}]`), "lines[0].password: is shorter than 1 bytes"},
	{"F16: index 0", Device, LineWith(`"index":0`), "lines[0].index: is not a whole number from 1 to 250"},
	{"F16: index 251", Device, LineWith(`"index":251`), "lines[0].index: is not a whole number from 1 to 250"},
	{"F17: Latin-1 in a label", Device, LineWith("\"label\":\"Zo\xeb\""), "lines[0].label: " + notUTF8},
	{"F17: invalid UTF-8 in a key", Device, DeviceWith("\"\xff\":1"), `has no field "?"`},
	{"F17: surrogate in UTF-8", Device, LineWith("\"label\":\"\xed\xa0\x80\""), "lines[0].label: " + notUTF8},
	{"F17: overlong", Device, LineWith("\"label\":\"\xc0\xaf\""), "lines[0].label: " + notUTF8},
	{"F18: NUL, escaped", Device, LineWith(`"label":"a\u0000b"`), "lines[0].label: " + control},
	{"F18: NUL in a password", Device, DeviceWith(`"admin_password":"\u0000"`), "admin_password: " + control},
	{"F20: line feed", Device, LineWith(`"display_name":"Bob\naccount.2.enable = 1"`), "lines[0].display_name: " + control},
	{"F20: carriage return", Device, LineWith(`"display_name":"Bob\r"`), "lines[0].display_name: " + control},
	{"F20: tab", Device, LineWith(`"display_name":"a\tb"`), "lines[0].display_name: " + control},
	{"F20: next line", Device, LineWith(`"display_name":"a\u0085b"`), "lines[0].display_name: " + control},
	{"F20: line separator", Device, LineWith(`"display_name":"a\u2028b"`), "lines[0].display_name: has a line separator"},
	{"F20: byte order mark", Device, LineWith(`"display_name":"\ufeffb"`), "lines[0].display_name: has a character that is none"},
	{"F20: U+FDD0", Device, LineWith(`"display_name":"\ufdd0"`), "lines[0].display_name: has a character that is none"},
	{"F20: U+1FFFF", Device, LineWith(`"display_name":"\ud83f\udfff"`), "lines[0].display_name: has a character that is none"},
	{"F20: bidi control", Device, LineWith(`"display_name":"a\u202eb"`), "lines[0].display_name: has a bidi control"},
	{"half a pair, high", Device, LineWith(`"label":"a\ud800b"`), "lines[0].label: " + half},
	{"half a pair, low", Device, LineWith(`"label":"\udc00"`), "lines[0].label: " + half},
	{"half a pair, two high", Device, LineWith(`"label":"\uD83D\uD83D\uDE00"`), "lines[0].label: " + half},
	{"half a pair, turned round", Device, LineWith(`"label":"\ude00\ud83d"`), "lines[0].label: " + half},
	{"half a pair, with an escape between", Device, LineWith(`"label":"\ud83d\\\ude00"`), "lines[0].label: " + half},
	{"half a pair at the end", Device, LineWith(`"label":"a\ud83d"`), "lines[0].label: " + half},
	{"half a pair in a word", Device, DeviceWith(`"state":"\ud800"`), "state: " + half},
	{"half a pair in a key", Device, DeviceWith(`"\ud800":1`), `has no field "???"`},
	{"half a pair in the name of a setting", Device, DeviceWith(`"extra":{"acme":{"\ud800":"x"}}`), "extra.acme: has a name that " + half},
	{"blank first", Device, LineWith(`"label":" a"`), "lines[0].label: has a blank at its edge"},
	{"blank last in a secret", Device, LineWith(`"auth_user":"a "`), "lines[0].auth_user: has a blank at its edge"},
	{"F23: vendor is no word", Tenant, TenantWith(`"vendor":"ac me"`), "vendor: " + notName},
	{"F23: firmware", Tenant, TenantWith(`"firmware":"v86"`), "firmware: is not a version: digits with dots between"},
	{"F24: unknown word", Device, DeviceWith(`"state":"retired"`), "state: " + noWord},
	{"F24: other case", Device, DeviceWith(`"state":"Active"`), "state: " + noWord},
	{"F24: empty word", Device, DeviceWith(`"state":""`), "state: " + noWord},
	{"F24: word and blank", Device, DeviceWith(`"state":"active "`), "state: " + noWord},
	{"F24: unknown transport", Device, LineWith(`"transport":"TLS"`), "lines[0].transport: " + noWord},
	{"F24: unknown codec", Device, DeviceWith(`"codecs":["g722","mp3"]`), "codecs[1]: " + noWord},
	{"F24: unknown key type", Device, DeviceWith(`"keys":[{"type":"BLF"}]`), "keys[0].type: " + noWord},
	{"F25: unknown field", Tenant, TenantWith(`"colour":"red"`), `has no field "colour"`},
	{"F25: field in other case", Tenant, TenantWith(`"Vendor":"acme"`), `has no field "Vendor"`},
	{"F25: empty name", Tenant, TenantWith(`"":1`), `has no field ""`},
	{"F25: field of a device in a tenant", Tenant, TenantWith(`"lines":[]`), `has no field "lines"`},
	{"F25: field of a tenant in a device", Device, DeviceWith(`"line":{}`), `has no field "line"`},
	{"F25: unknown field of a line", Device, LineWith(`"lable":"x"`), `lines[0]: has no field "lable"`},
	{"F25: unknown field of a timer", Tenant, TenantWith(`"timers":{"checkin":{"jitter":1}}`), `timers.checkin: has no field "jitter"`},
	{"F25: user in a tenant's line", Tenant, TenantWith(`"line":{"user":"1001"}`), `line: has no field "user"`},
	{"F25: long and hostile name", Tenant, TenantWith(`"a\n\u0000\"\\é` + strings.Repeat("x", 60) + `":1`), `has no field "a??????` + strings.Repeat("x", 33) + `"`},
	{"F27: newer schema", Tenant, TenantWith(`"schema":2`), "schema: is not a whole number from 1 to 1"},
	{"F27: newer spread", Tenant, TenantWith(`"spread":2`), "spread: is not a whole number from 1 to 1"},
	{"F28: port 0", Device, LineWith(`"port":0`), "lines[0].port: " + port},
	{"F28: port 65536", Device, LineWith(`"port":65536`), "lines[0].port: " + port},
	{"F28: negative port", Device, LineWith(`"port":-5060`), "lines[0].port: " + port},
	{"F28: port is a string", Device, LineWith(`"port":"5060"`), "lines[0].port: " + notNumber},
	{"F28: tenant's port", Tenant, TenantWith(`"line":{"outbound_port":65536}`), "line.outbound_port: " + port},
	{"F30: javascript", Tenant, TenantWith(`"url":"javascript:alert(1)"`), "url: " + notBase},
	{"time of the day", Tenant, TenantWith(`"timers":{"checkin":{"at":"24:00"}}`), "timers.checkin.at: is not a time of the day from 00:00 to 23:59"},
	{"time of another timer", Device, DeviceWith(`"timers":{"register":{"at":"02:00"}}`), `timers.register: has no field "at"`},
	{"F30: file", Tenant, TenantWith(`"firmware_url":"file:///etc/passwd"`), "firmware_url: " + notURL},
	{"F30: user and password", Tenant, TenantWith(`"url":"http://u:p@h/"`), "url: " + notBase},
	{"F30: query in the base", Tenant, TenantWith(`"url":"http://h/?a=b"`), "url: " + notBase},
	{"F30: slashes at the end of the base", Tenant, TenantWith(`"url":"http://h/a//"`), "url: " + notBase},
	{"F30: macro", Tenant, TenantWith(`"phonebook":{"url":"http://a/$MAC"}`), "phonebook.url: " + notURL},
	{"F30: bad escape", Tenant, TenantWith(`"url":"http://a/%zz"`), "url: " + notBase},
	{"F30: short", Tenant, TenantWith(`"url":"http://"`), "url: is shorter than 8 bytes"},
	{"F30: long", Tenant, TenantWith(`"url":"http://a/` + strings.Repeat("x", 250) + `"`), "url: is longer than 255 bytes"},
	{"host with port", Device, LineWith(`"server":"pbx:5060"`), "lines[0].server: " + notHost},
	{"host with command", Device, LineWith(`"server":"pbx.example;reboot"`), "lines[0].server: " + notHost},
	{"host without name", Device, LineWith(`"server":""`), "lines[0].server: is shorter than 1 bytes"},
	{"host that is no address", Device, LineWith(`"server":"256.1.1.1"`), "lines[0].server: " + notHost},
	{"host that is no IPv6 address", Device, LineWith(`"server":"[1::2::3]"`), "lines[0].server: " + notHost},
	{"time server", Tenant, TenantWith(`"ntp":["a",""]`), "ntp[1]: is shorter than 1 bytes"},
	{"time server is an object", Tenant, TenantWith(`"ntp":[{"host":"a"}]`), "ntp[0]: " + notString},
	{"SIP user with domain", Device, DeviceWith(`"lines":[{"user":"1001@pbx"}]`), "lines[0].user: is not a SIP user"},
	{"key with blanks", Device, DeviceWith(`"keys":[{"value":"100 |url http://evil.example"}]`), "keys[0].value: is not a number, feature code, user or SIP URI"},
	{"F31: label of 10 000 bytes", Device, LineWith(`"label":"` + strings.Repeat("a", 10_000) + `"`), "lines[0].label: is longer than 99 bytes"},
	{"F31: label of 100 emoji", Device, LineWith(`"label":"` + strings.Repeat("🍕", 100) + `"`), "lines[0].label: is longer than 99 bytes"},
	{"F31: label of 25 emoji", Device, LineWith(`"label":"` + strings.Repeat("🍕", 25) + `"`), "lines[0].label: is longer than 99 bytes"},
	{"F31: 1000 combining marks", Device, LineWith(`"label":"e` + strings.Repeat("\u0301", 1000) + `"`), "lines[0].label: is longer than 99 bytes"},
	{"MAC in upper case", Device, `{"device":"001565AABB01","tenant":"demo"}`, "device: is not the MAC of a device in 12 lower-case hexadecimal digits"},
	{"MAC of a group", Device, `{"device":"011565aabb01","tenant":"demo"}`, "device: is not the MAC of a device in 12 lower-case hexadecimal digits"},
	{"MAC of nobody", Device, `{"device":"000000000000","tenant":"demo"}`, "device: is not the MAC of a device in 12 lower-case hexadecimal digits"},
	{"MAC with colons", Device, `{"device":"00:15:65:aa:bb:01","tenant":"demo"}`, "device: is longer than 12 bytes"},
	{"MAC of 11 digits", Device, `{"device":"001565aabb0","tenant":"demo"}`, "device: is shorter than 12 bytes"},
	{"tenant in upper case", Tenant, `{"tenant":"Demo"}`, `tenant: is not 1 to 32 of a-z, 0-9 and "-"`},
	{"tenant with a slash", Tenant, `{"tenant":"a/b"}`, `tenant: is not 1 to 32 of a-z, 0-9 and "-"`},
	{"tenant begins with a dash", Tenant, `{"tenant":"-a"}`, `tenant: is not 1 to 32 of a-z, 0-9 and "-"`},
	{"tenant of 33", Tenant, `{"tenant":"` + strings.Repeat("a", 33) + `"}`, "tenant: is longer than 32 bytes"},
	{"time zone with dots", Tenant, TenantWith(`"time_zone":"../../etc/passwd"`), "time_zone: is not the name of a time zone"},
	{"language with underscore", Tenant, TenantWith(`"language":"en_US"`), "language: is not a language tag"},
	{"string is a number", Tenant, TenantWith(`"vendor":7`), "vendor: " + notString},
	{"string is null", Tenant, TenantWith(`"vendor":null`), "vendor: " + notString},
	{"string is an array", Tenant, TenantWith(`"vendor":["acme"]`), "vendor: " + notString},
	{"word is true", Tenant, TenantWith(`"auth":true`), "auth: " + notString},
	{"truth is a number", Device, LineWith(`"enabled":1`), "lines[0].enabled: " + notBool},
	{"truth is a string", Device, LineWith(`"mwi":"true"`), "lines[0].mwi: " + notBool},
	{"truth is null", Tenant, TenantWith(`"line":{"mwi":null}`), "line.mwi: " + notBool},
	{"True", Device, LineWith(`"mwi":True`), notJSON},
	{"group is an array", Tenant, TenantWith(`"timers":[]`), "timers: is not an object"},
	{"group is null", Tenant, TenantWith(`"phonebook":null`), "phonebook: is not an object"},
	{"group is a string", Tenant, TenantWith(`"line":"x"`), "line: is not an object"},
	{"settings are an array", Tenant, TenantWith(`"extra":[]`), "extra: is not an object"},
	{"settings of a vendor are a string", Tenant, TenantWith(`"extra":{"acme":"x"}`), "extra.acme: is not an object"},
	{"setting is a number", Tenant, TenantWith(`"extra":{"acme":{"a.b":1}}`), "extra.acme.a.b: " + notString},
	{"setting is empty", Tenant, TenantWith(`"extra":{"acme":{"a.b":""}}`), "extra.acme.a.b: is shorter than 1 bytes"},
	{"setting with a line feed", Tenant, TenantWith(`"extra":{"acme":{"a.b":"x\ny"}}`), "extra.acme.a.b: " + control},
	{"setting without a name", Tenant, TenantWith(`"extra":{"acme":{"":"x"}}`), "extra.acme: has a name that is shorter than 1 bytes"},
	{"setting with a long name", Tenant, TenantWith(`"extra":{"acme":{"` + strings.Repeat("a", 65) + `":"x"}}`), "extra.acme: has a name that is longer than 64 bytes"},
	{"setting that writes a line", Tenant, TenantWith(`"extra":{"acme":{"a = 1\nb":"x"}}`), "extra.acme: has a name that " + control},
	{"setting that is no name", Tenant, TenantWith(`"extra":{"acme":{"a = b":"x"}}`), "extra.acme: has a name that " + notParameter},
	{"vendor that is no name", Tenant, TenantWith(`"extra":{"a/b":{}}`), "extra: has a name that " + notName},
	{"generation too high", Device, DeviceWith(`"generation":32768`), "generation: is not a whole number from 0 to 32767"},
}, numbers()...)

// numbers is F21: what a timer may not be, wherever it stands.
func numbers() []Bad {
	var out []Bad
	for _, c := range []struct{ value, what string }{
		{"-1", seconds}, {"0", seconds}, {"-0", seconds}, {"31622401", seconds}, {"1e9", seconds}, {"1e999", seconds}, {"1e2", seconds}, {"36E2", seconds},
		{"3.5", seconds}, {"3600.0", seconds}, {"9223372036854775807", seconds}, {"18446744073709551617", seconds}, {"4294967297", seconds},
		{`"3600"`, notNumber}, {`""`, notNumber}, {"true", notNumber}, {"null", notNumber}, {"[3600]", notNumber}, {"{}", notNumber},
		{"NaN", notJSON}, {"Infinity", notJSON}, {"0x10", notJSON}, {"007", notJSON}, {"+1", notJSON}, {"1_000", notJSON}, {".5", notJSON}, {"5.", notJSON}, {"1e", notJSON}, {"-", notJSON},
	} {
		what := func(path string) string {
			if c.what == notJSON {
				return notJSON
			}
			return path + ": " + c.what
		}
		out = append(out,
			Bad{"F21: interval " + c.value, Tenant, TenantWith(`"timers":{"checkin":{"interval":` + c.value + `}}`), what("timers.checkin.interval")},
			Bad{"F21: floor " + c.value, Device, DeviceWith(`"timers":{"subscribe":{"window":0,"floor":` + c.value + `}}`), what("timers.subscribe.floor")},
			Bad{"F21: register " + c.value, Device, LineWith(`"register":` + c.value), what("lines[0].register")},
		)
	}
	return out
}
