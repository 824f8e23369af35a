package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var options = Options{
	Now: func() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }, Zone: time.FixedZone("", 3600), Timed: true,
	Agent: func(userAgent string) string { return strings.ToLower(strings.Fields(userAgent)[0]) },
}

// text is a record with what is in it.
func text(r *Record) string {
	var parts []string
	add := func(format string, value any, there bool) {
		if there {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add("%s", time.Unix(0, r.Time).UTC().Format("2006-01-02T15:04:05.999"), r.Time != 0)
	add("%s", r.MAC, r.MAC != 0)
	add("from %s", r.Remote, r.Remote.IsValid())
	add("%d", r.Status, r.Status != 0)
	add("tenant %s", r.Tenant, r.Tenant != "")
	add("vendor %s", r.Vendor, r.Vendor != "")
	add("file %s", r.File, r.File != "")
	add("key %s", r.Key, r.Key != "")
	add("hash %x", r.Hash, r.Hash != 0)
	add("documents %x", r.Documents, r.Documents != 0)
	add("again %d", r.Checkin, r.Checkin != 0)
	add("%s", r.Outcome, r.Outcome != "")
	add("%d requests", r.Requests, r.Requests != 0)
	add("%s", "served", r.OK())
	return strings.Join(parts, ", ")
}

// parse takes lines and returns what they tell, with "!" before what is wrong.
func parse(p *Parser, lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		if err := p.Line([]byte(line), func(r *Record) { b.WriteString(text(r) + "\n") }); err != nil {
			b.WriteString("! " + err.Error() + "\n")
		}
	}
	if err := p.End(); err != nil {
		b.WriteString("! " + err.Error() + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const token = "ebaaa4kx2n7qwzr3u5hmdjb6cpyvtg"

const served = `"method":"GET","path":"/acme/-/001565aabb01.cfg","status":200,"bytes":6412,"ms":0.173,"remote":"203.0.113.7","agent":"other","tenant":"acme","mac":"001565aabb01","key":"previous","vendor":"yealink","file":"config","hash":"0123456789abcdef","timers":"checkin=76140 register.1=3402","outcome":"ok","documents":"00000000000000aa"}`

func TestFormats(t *testing.T) {
	const full = "001565aabb01, from 203.0.113.7, 200, tenant acme, vendor yealink, file config, key previous, hash 123456789abcdef, documents aa, again 76140, ok, served"
	audit := `{\"tenant\":\"acme\",\"mac\":\"001565aabb01\",\"key\":\"current\",\"vendor\":\"yealink\",\"file\":\"config\",\"hash\":\"00000000000000ff\",\"timers\":\"checkin=60\",\"outcome\":\"ok\"}`
	worker := `"outcome":"ok","scriptName":"stagger","exceptions":[],"logs":[{"message":["` + audit + `"],"level":"log","timestamp":1780000000123},{"message":["stagger: boom"],"level":"error","timestamp":1780000000124}],"eventTimestamp":1780000000100,"event":{"request":{"url":"https://p.example/acme/` + token + `/001565aabb01.cfg","method":"GET","headers":{"cf-connecting-ip":"2001:db8::7"},"cf":{}},"response":{"status":200}},"id":0`
	const fromWorker = "2026-05-28T20:26:40.123, 001565aabb01, from 2001:db8::7, tenant acme, vendor yealink, file config, key current, hash ff, again 60, ok, served"
	for name, c := range map[string]struct{ line, want string }{
		"serve":               {`{"time":"2026-11-30T10:14:03.25+01:00","level":"INFO","msg":"request",` + served, "2026-11-30T09:14:03.25, " + full},
		"serve behind syslog": {`<14>Nov 30 10:14:03 host stagger[7]: {"time":"2026-11-30T09:14:04Z","level":"INFO",` + served, "2026-11-30T09:14:04, " + full},
		"journal":             {`{"__REALTIME_TIMESTAMP":"1780000000123456","MESSAGE":` + fmt.Sprintf("%q", `{"level":"INFO",`+served) + `}`, "2026-05-28T20:26:40.123, " + full},
		"docker":              {`{"log":` + fmt.Sprintf("%q", `{"level":"INFO",`+served+"\n") + `,"stream":"stderr","time":"2026-11-30T09:14:03.25Z"}`, "2026-11-30T09:14:03.25, " + full},
		"serve in text":       {`time=2026-11-30T09:14:03.250Z level=INFO msg=request method=GET path=/acme/-/001565aabb01.cfg status=404 bytes=10 ms=0.1 remote=203.0.113.7 agent=none tenant=acme mac=001565aabb01 vendor=yealink outcome=not-served`, "2026-11-30T09:14:03.25, 001565aabb01, from 203.0.113.7, 404, tenant acme, vendor yealink, not-served"},
		"quoted values":       {`Nov 30 10:14:03 host stagger: level=INFO mac=001565aabb01 timers="checkin=60 subscribe=7" outcome=ok`, "2026-11-30T09:14:03, 001565aabb01, again 60, ok, served"},
		"wrangler tail":       {"{" + worker + "}", fromWorker},
		"logpush":             {`{"EventTimestampMs":1780000000100,"Outcome":"ok","Logs":[{"Level":"log","Message":["` + audit + `"],"TimestampMs":1780000000123}]}`, strings.Replace(fromWorker, ", from 2001:db8::7", "", 1)},
		"refused":             {`{"time":"2026-11-30T09:14:03Z","status":404,"remote":"203.0.113.7","agent":"curl","outcome":"malformed"}`, "2026-11-30T09:14:03, from 203.0.113.7, 404, vendor curl, malformed"},
		"nginx":               {`203.0.113.7 - - [30/Nov/2026:10:14:03 +0100] "GET /acme/` + token + `/001565AABB01.cfg HTTP/1.1" 200 6412 "-" "Yealink SIP-T46U 108.86.0.20" "-" 0.001`, "2026-11-30T09:14:03, 001565aabb01, from 203.0.113.7, 200, tenant acme, vendor yealink, served"},
		"apache with host":    {`prov.example.com:443 2001:db8::7 - bob [30/Nov/2026:09:14:03 +0000] "GET /cfg/SEP001565AABB01.cnf.xml?x=1 HTTP/1.1" 304 - "-" "a \" b"`, "2026-11-30T09:14:03, 001565aabb01, from 2001:db8::7, 304, vendor a, served"},
		"nginx, MAC in query": {`203.0.113.7 - - [30/Nov/2026:09:14:03 +0000] "GET /p.php?mac=00-15-65-AA-BB-01 HTTP/1.1" 500 1`, "2026-11-30T09:14:03, 001565aabb01, from 203.0.113.7, 500"},
		"nginx, no phone":     {`203.0.113.7 - - [30/Nov/2026:09:14:03 +0000] "GET /favicon.ico HTTP/1.1" 404 1 "-" "curl"`, "2026-11-30T09:14:03, from 203.0.113.7, 404, vendor curl"},
		"nginx, no request":   {`203.0.113.7 - - [30/Nov/2026:09:14:03 +0000] "\x16\x03\x01" 400 1 "-" "-"`, "2026-11-30T09:14:03, from 203.0.113.7, 400"},
		"caddy":               {`{"level":"info","ts":1780000000.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.7","method":"GET","uri":"/x/cfg001565aabb01.xml","headers":{"User-Agent":["Grandstream GXP2170"]}},"status":200}`, "2026-05-28T20:26:40.5, 001565aabb01, from 203.0.113.7, 200, vendor grandstream, served"},
		"tftp":                {`Nov 30 10:14:03 tftp in.tftpd[33]: RRQ from 192.0.2.9 filename 0004f2000001.cfg`, "2026-11-30T09:14:03, 0004f2000001, from 192.0.2.9, served"},
		"last year":           {`Dec  3 10:14:03 host 0004f2000001.cfg`, "2025-12-03T09:14:03, 0004f2000001, served"},
		"RFC 5424":            {`<134>1 2026-11-30T09:14:03.5Z host app - - - lease 00:15:65:AA:BB:01 to (192.0.2.9)`, "2026-11-30T09:14:03.5, 001565aabb01, from 192.0.2.9, served"},
		"no header":           {`2026-11-30 10:14:03;0015.65aa.bb01;yes`, "2026-11-30T09:14:03, 001565aabb01, served"},
		"epoch":               {`1780000000 001565aabb01`, "2026-05-28T20:26:40, 001565aabb01, served"},
		"brackets":            {`[2026/11/30 10:14:03] 001565aabb01`, "2026-11-30T09:14:03, 001565aabb01, served"},
		"sums of a minute":    {`{"time":"2026-11-30T09:14:00Z","level":"INFO","msg":"minute","tenant":"acme","vendor":"yealink","file":"config","outcome":"ok","status":200,"requests":17,"bytes":100000,"ms":3.2,"ms_max":0.4}`, "2026-11-30T09:14:00, 200, tenant acme, vendor yealink, file config, ok, 17 requests, served"},
		"another message":     {`{"time":"2026-11-30T09:14:03Z","level":"INFO","msg":"serving","devices":3}`, ""},
		"another line":        {`2026-11-30T09:14:03Z something 550e8400-e29b-41d4-a716-446655440000`, ""},
		"blank":               {"  ", ""},
		"tail of nothing":     {`{"outcome":"ok","logs":[],"eventTimestamp":1780000000100,"event":{"request":{"headers":{}}}}`, ""},
		"no time":             {`{"mac":"001565aabb01","outcome":"ok"}`, "! no time"},
		"no time in text":     {`GET /001565aabb01.cfg`, "! no time"},
		"text":                {`Traceback (most recent call last):`, "! no time"},
		"before phones":       {`1999-12-31T23:59:59Z 001565aabb01`, "! a time before the year 2000"},
		"tomorrow":            {`2026-12-03T09:14:03Z 001565aabb01`, "! a time in the future"},
		"cut off":             {`{"time":"2026-11-30T09:14:03Z","mac":"001565`, "! JSON that is cut off or broken"},
		"a time of the day":   {`{"time":"2026-11-30T09:14:03Z","mac":"001565aabb01","timers":"register.1=60 checkin=03:17","outcome":"ok"}`, "2026-11-30T09:14:03, 001565aabb01, again 86400, ok, served"},
		"no MAC":              {`{"time":"2026-11-30T09:14:03Z","mac":"01005e000001","outcome":"ok"}`, "2026-11-30T09:14:03, ok, served"},
		"odd values":          {`{"time":"2026-11-30T09:14:03Z","mac":"001565aabb01","tenant":"\u001b[31m","vendor":"\u001b[31m<b>","status":"x","remote":7,"hash":"e5fa44f2","timers":"checkin=x","outcome":"ok"}`, fmt.Sprintf("2026-11-30T09:14:03, 001565aabb01, vendor ??31m?b?, hash %x, ok, served", hashOf("e5fa44f2"))},
	} {
		if got := parse(NewParser(options), c.line); got != c.want {
			t.Errorf("%s: %s\n     want %s", name, got, c.want)
		}
	}
	pretty := []string{"{", `  "outcome": "ok",`, `  "logs": [`, "    {", `      "message": ["` + audit + `"],`, `      "timestamp": 1780000000123`, "    }", "  ],", `  "event": {"request": {"headers": {"cf-connecting-ip": "2001:db8::7"}}}`, "}"}
	if got := parse(NewParser(options), append(pretty, pretty...)...); got != fromWorker+"\n"+fromWorker {
		t.Error(got)
	}
	if got := parse(NewParser(options), "{", "  1,", "oops", "{", "  2"); got != "! JSON that is cut off or broken\n! JSON that is cut off or broken" {
		t.Error(got)
	}
}

// TestClock wants a clock that goes on while a log is followed.
func TestClock(t *testing.T) {
	o := options
	now := options.Now()
	o.Now = func() time.Time { return now }
	p := NewParser(o)
	for range 3 {
		if got, want := parse(p, now.Format(time.RFC3339)+" 001565aabb01"), now.Format("2006-01-02T15:04:05")+", 001565aabb01, served"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		now = now.Add(48 * time.Hour)
	}
}

func TestCSV(t *testing.T) {
	want := "2026-11-30T09:14:03, 001565aabb01, from 192.0.2.9, 200, vendor poly, served\n! not as many cells as the header has\n2026-11-30T09:14:04, 001565aabb02, from 192.0.2.9, 404"
	for _, comma := range []string{",", ";", "\t"} {
		row := func(cells ...string) string { return strings.Join(cells, comma) }
		got := parse(NewParser(options), "\uFEFF"+row("Timestamp", "note", "MAC", "client_ip", "Status", "user_agent"),
			row("2026-11-30 10:14:03", `"a`+comma+`b"`, "00:15:65:aa:bb:01", "192.0.2.9:1234", "200", "Poly VVX"), row("x", "y"),
			row("1796030044", "", "001565AABB02", "192.0.2.9", "404", ""))
		if got != want {
			t.Errorf("%q: %s", comma, got)
		}
	}
}

func TestMACIn(t *testing.T) {
	for text, want := range map[string]string{
		"001565aabb01.cfg": "001565aabb01", "001565AABB01-local.cfg": "001565aabb01", "cfg001565aabb01.xml": "001565aabb01",
		"spa001565aabb01.xml": "001565aabb01", "snomD785-000413AABB01.htm": "000413aabb01", "SEP001565AABB01.cnf.xml": "001565aabb01",
		"a 00:15:65:aa:bb:01 b": "001565aabb01", "0015.65aa.bb01.": "001565aabb01", "00-15-65-AA-BB-01": "001565aabb01",
		"000000000000.cfg": "", "ffffffffffff": "", "001565aabb0": "", "001565aabb012": "", "9001565aabb01": "", "00:15:65:aa:bb:01:02": "",
		"00:15-65:aa:bb:01": "", "550e8400-e29b-41d4-a716-446655440000": "", "00:15:65:aa:bb": "", "1.2.3.4": "", token: "",
		"x1y001565aabb01": "",
	} {
		got := ""
		if mac := macIn(text); mac != 0 {
			got = mac.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]MAC{"00:15:65:AA:BB:01": 0x1565aabb01, "001565aabb01": 0x1565aabb01, "0015 65aabb01": 0, "": 0, "001565aabb0g": 0, "00-15-65-aa-bb-01-": 0} {
		if got := ParseMAC(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// FuzzLine wants errors without anything of the line, and words that can be
// shown.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"time":"2026-11-30T09:14:03Z",` + served, "{\n  \"logs\": [{\"message\":[\"{}\"]}]\n}", "time,mac,tenant\n2026-11-30T09:14:03Z,001565aabb01,acme",
		`203.0.113.7 - - [30/Nov/2026:09:14:03 +0000] "GET /a/-/001565aabb01.cfg HTTP/1.1" 200 1 "-" "x"`, "time=2026-11-30T09:14:03Z mac=001565aabb01 x=\"y\\", "<1>1 Nov 30 09:14:03 00:15:65:aa:bb:01",
		`{"message":["{\"message\":[\"{\\\"message\\\":[]}\"]}"],"log":"{","request":{"headers":{"User-Agent":[]}}}`, "9223372036854775807 001565aabb01", "1780000000.", "2026-11-30T09:14:03.+0", `{"ts":1e400}`,
	} {
		f.Add(seed)
	}
	o := options
	o.Agent = func(string) string { return "agent" }
	f.Fuzz(func(t *testing.T, text string) {
		p := NewParser(o)
		known := map[error]bool{nil: true, errTime: true, errPast: true, errFuture: true, errJSON: true, errCells: true}
		for _, line := range strings.Split(text, "\n") {
			err := p.Line([]byte(line), func(r *Record) {
				if r.Time < firstTime || r.Time > o.Now().Add(25*time.Hour).UnixNano() {
					t.Errorf("time %d", r.Time)
				}
				if r.MAC != 0 && ParseMAC(r.MAC.String()) != r.MAC {
					t.Errorf("MAC %s", r.MAC)
				}
				for _, word := range []string{r.Outcome, r.Tenant, r.Vendor, r.File, r.Key} {
					if len(word) > maxWord || strings.ContainsFunc(word, func(c rune) bool { return c > 126 || !printable(byte(c)) && c != '?' }) {
						t.Errorf("%q", word)
					}
				}
			})
			if !known[err] {
				t.Errorf("%v", err)
			}
		}
		if err := p.End(); !known[err] {
			t.Error(err)
		}
	})
}
