package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagger/edge/profile"
	"stagger/host/inspect"
)

const fleetFile = `{"tenant":"demo","url":"https://p.example","vendor":"yealink","model":"T46U","line":{"server":"pbx.example"}}
{"tenant":"other","url":"https://p.example"}
{"device":"001565aabb01","tenant":"demo"}
`

func testFleet(t testing.TB) *Fleet {
	t.Helper()
	f, err := ReadFleet("fleet.jsonl", strings.NewReader(fleetFile))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readCSV returns the documents of the good rows and what is wrong, without the
// name of the file.
func readCSV(t testing.TB, text string) (documents, problems []string, r *Result) {
	t.Helper()
	r = CSV("f", []byte(text), testFleet(t), "demo", 0, nil)
	for _, row := range r.Rows {
		if !row.Bad {
			documents = append(documents, row.Document)
		}
	}
	for _, p := range r.Problems {
		problems = append(problems, strings.TrimPrefix(p.Error(), "f: "))
	}
	return documents, problems, r
}

const password = "Xq7LmW2Zx9Kp"

func TestDocuments(t *testing.T) {
	plain := `{"device":"001565aabb11","tenant":"demo","lines":[{"user":"1001","password":"` + password + `","display_name":"Ada"}]}`
	long := "mac,user,password,name\n001565aabb11,1001," + password + ",Ada\n"
	for name, c := range map[string]struct{ text, want string }{
		"plain":                {long, plain},
		"BOM":                  {"\ufeff" + long, plain},
		"CR LF":                {strings.ReplaceAll(long, "\n", "\r\n"), plain},
		"no end of line":       {strings.TrimSuffix(long, "\n"), plain},
		"semicolons":           {strings.ReplaceAll(long, ",", ";"), plain},
		"tabs":                 {strings.ReplaceAll(long, ",", "\t"), plain},
		"BOM, sep=, CR LF":     {"\ufeffsep=;\r\n" + strings.NewReplacer(",", ";", "\n", "\r\n").Replace(long), plain},
		"quoted":               {"\"mac\",\"user\",\"password\",\"name\"\n\"001565aabb11\",\"1001\",\"" + password + "\",\"Ada\"\n", plain},
		"header's spelling":    {" MAC Address ,Extension,PASSWORD,Display-Name\n001565aabb11,1001," + password + ",Ada\n", plain},
		"line 1 by its number": {"mac,line1_user,line1_password,line1_name\n001565aabb11,1001," + password + ",Ada\n", plain},
		"MAC with colons":      {strings.ReplaceAll(long, "001565aabb11", "00:15:65:AA:BB:11"), plain},
		"MAC with dashes":      {strings.ReplaceAll(long, "001565aabb11", "00-15-65-aa-bb-11"), plain},
		"MAC with dots":        {strings.ReplaceAll(long, "001565aabb11", " 0015.65AA.BB11 "), plain},
		"MAC with blanks":      {strings.ReplaceAll(long, "001565aabb11", "00 15 65 aa bb 11"), plain},
		"label trimmed":        {strings.ReplaceAll(long, "Ada", " \t\u00a0Ada\u00a0 "), plain},
		"empty rows":           {strings.Replace(long, "\n", "\n\n,,,\n\r\n", 1), plain},
		"columns without name": {strings.NewReplacer("name\n", "name,,\n", "Ada\n", "Ada,, \n").Replace(long), plain},
		"own tenant": {
			"mac,tenant,vendor,model,server,user,password\n001565aabb11,other,yealink,T31G,x.example,1,p\n001565aabb12,,,,,2,q\n",
			`{"device":"001565aabb11","tenant":"other","vendor":"yealink","model":"T31G","lines":[{"server":"x.example","user":"1","password":"p"}]}` + "\n" + `{"device":"001565aabb12","tenant":"demo","lines":[{"user":"2","password":"q"}]}`,
		},
		"quotes, ampersands": {
			"mac,user,password,name\n001565aabb11,1001,\"a\"\"b&<,\",\"Ada \"\"A\"\" \\ <b>\"\n",
			`{"device":"001565aabb11","tenant":"demo","lines":[{"user":"1001","password":"a\"b&<,","display_name":"Ada \"A\" \\ <b>"}]}`,
		},
		"everything": {
			"mac,vendor,model,firmware,state,time_zone,language,generation,enabled,server,port,transport,register,mwi,user,auth_user,password,label,voicemail,line3_user,line3_password,line4_user,line4_password\n" +
				"001565aabb11,yealink,T54W,96.86.0.1,active,Europe/Belgrade,de,3,YES,s.example,5061,tls,1800,False,1001,a@b,p q,L,*97,1003,pp,1004,ppp\n",
			`{"device":"001565aabb11","tenant":"demo","vendor":"yealink","model":"T54W","firmware":"96.86.0.1","state":"active","time_zone":"Europe/Belgrade","language":"de","generation":3,` +
				`"lines":[{"enabled":true,"server":"s.example","port":5061,"transport":"tls","register":1800,"voicemail":"*97","mwi":false,"user":"1001","auth_user":"a@b","password":"p q","label":"L"},` +
				`{"index":3,"user":"1003","password":"pp"},{"user":"1004","password":"ppp"}]}`,
		},
		"only line 2": {
			"mac,line2_user,line2_password\n001565aabb11,1001,p\n",
			`{"device":"001565aabb11","tenant":"demo","lines":[{"index":2,"user":"1001","password":"p"}]}`,
		},
		"keys": {
			"mac,user,password,keys\n001565aabb11,1001,p,\"line; blf:1002=Bob ;speed-dial/1:+38111222333=Taxi;none;transfer:sip:a\\;b\\=c@x=1 = 2\\;\\\\;\"\n",
			`{"device":"001565aabb11","tenant":"demo","lines":[{"user":"1001","password":"p"}],"keys":[{"type":"line"},{"type":"blf","value":"1002","label":"Bob"},` +
				`{"type":"speed-dial","line":1,"value":"+38111222333","label":"Taxi"},{"type":"none"},{"type":"transfer","value":"sip:a;b=c@x","label":"1 = 2;\\"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents, problems, _ := readCSV(t, c.text)
			if got := strings.Join(documents, "\n"); got != c.want || problems != nil {
				t.Errorf("got\n%s\n%q\nwant\n%s", got, problems, c.want)
			}
		})
	}
}

// TestProblems has the word SECRET in every value that is wrong.
func TestProblems(t *testing.T) {
	head := "mac,user,password,name\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":           {"", []string{"is empty: the first row has to name the columns"}},
		"blank lines":     {"\n\r\n\n", []string{"is empty: the first row has to name the columns"}},
		"UTF-16":          {"\xff\xfem\x00a\x00c\x00", []string{"is UTF-16: export it as CSV in UTF-8"}},
		"no header":       {"001565aabb11,1001,SECRET,SECRET\n", []string{"row 1, column 1 (A): has a name that no column has", "row 1, column 2 (B)", "row 1, column 3 (C)", "row 1, column 4 (D)", "row 1, column mac: is missing"}},
		"unknown column":  {"mac,passwort\n", []string{"row 1, column 2 (B): has a name that no column has"}},
		"line 0":          {"mac,line0_user,line02_user,line251_user,line2_mac,line2_model,line2,line+2_user\n", slices.Repeat([]string{"has a name that no column has"}, 7)},
		"twice":           {"mac,user,Extension,line1_user,MAC\n", []string{"column 3 (C): is user, as is column 2 (B)", "column 4 (D): is user", "column 5 (E): is mac, as is column 1 (A)"}},
		"quote in header": {"mac,us\"er\n", []string{"row 1: has a quote inside"}},
		"no MAC":          {head + ",1,SECRET,x\n", []string{"row 2, column mac: is required"}},
		"all at once": {
			head + "SECRET,a b,\" SECRET\",\"SECRET\nx\"\n001565aabb11,1,p,\n011565aabb11,1,p,SECRET\u202e\n",
			[]string{"row 2, column mac: is not the MAC", "row 2, column user: is not a SIP user", "row 2, column password: has a blank at its edge", "row 2, column display_name: has a control character", "row 4 (line 5), column mac: is not the MAC", "row 4 (line 5), column display_name: has a bidi control"},
		},
		"MAC as a number":       {head + "1,565E+09,x,SECRET\n1.565E+11,1,SECRET,x\n", []string{"row 2, column mac", "row 3, column mac: is not the MAC"}},
		"blank at an edge":      {head + "001565aabb11,1,SECRET ,x\n001565aabb12,1,SECRET\u00a0,x\n001565aabb13, 1,SECRET,x\n001565aabb14,1, generate,x\n", []string{"row 2, column password: has a blank", "row 3, column password: has a blank", "row 4, column user: is not a SIP user", "row 5, column password: has a blank"}},
		"NUL":                   {head + "001565aabb11,1,SEC\x00RET,SECRET\x00\n", []string{"row 2, column password: has a control", "row 2, column display_name: has a control"}},
		"invalid UTF-8":         {head + "001565aabb11,1,SECRET\xff,SECRET\xe4\n", []string{"row 2, column password: is not UTF-8", "row 2, column display_name: is not UTF-8"}},
		"newline in a secret":   {head + "001565aabb11,1,\"SECRET\r\nSECRET\",x\n", []string{"row 2, column password: has a control"}},
		"a million":             {head + "001565aabb11,1," + strings.Repeat("SECRETxx", 125000) + ",x\n", []string{"row 2, column password: is longer than 99 bytes"}},
		"a million quotes":      {head + "001565aabb11,1,\"" + strings.Repeat(`""`, 1000000) + "\",x\n", []string{"row 2, column password: is longer than 99 bytes"}},
		"ragged":                {head + "001565aabb11,1,SECRET\n001565aabb12,1,SECRET,x,y\n", []string{"row 2: has 3 cells, the header 4", "row 3: has 5 cells, the header 4"}},
		"cell without name":     {"mac,\n001565aabb11,SECRET\n", []string{"row 2, column 2 (B): has no name in the header"}},
		"bare quote":            {head + "001565aabb11,1,SEC\"RET,x\nSECRET,1,p,x\n", []string{"row 2: has a quote inside", "row 3, column mac: is not"}},
		"open quote":            {head + "001565aabb11,1,\"SECRET,x\n001565aabb12,1,p,x\n", []string{"row 2: has a quoted field that does not end"}},
		"row after a newline":   {head + "001565aabb11,1,p,\"a\n\nb\"\n\n,1,p,x\n", []string{"row 2, column display_name: has a control", "row 4 (line 6), column mac: is required"}},
		"duplicate":             {head + "001565aabb11,1,p,x\n00-15-65-aa-bb-11,1,p,x\n", []string{"row 2, column mac: the same device as row 3", "row 3, column mac: the same device as row 2"}},
		"duplicate of the bad":  {head + "001565aabb11,1,p, \n001565aabb11,a b,p,x\n", []string{"row 2, column mac: the same device as row 3", "row 3, column user", "row 3, column mac: the same device as row 2"}},
		"in the fleet":          {head + "001565aabb01,1,p,x\n", []string{"row 2, column mac: the same device as fleet.jsonl:3"}},
		"in another tenant":     {"mac,tenant,vendor,model,state\n001565aabb01,other,yealink,T31G,staged\n", []string{"row 2, column mac: the same device as fleet.jsonl:3, there of another tenant"}},
		"unknown tenant":        {"mac,tenant,user\n001565aabb11,SECRET,x y\n", []string{"row 2, column user", "row 2, column tenant: is not a tenant of the fleet"}},
		"unknown vendor":        {"mac,vendor\n001565aabb11,SECRET\n", []string{"row 2, column vendor: is not a vendor that this version knows"}},
		"unknown model":         {"mac,model\n001565aabb11,SECRET\n", []string{"row 2, column model: is not a model of this vendor"}},
		"unknown zone":          {"mac,time_zone\n001565aabb11,SECRET/SECRET\n", []string{"row 2, column time_zone: is not a time zone"}},
		"words":                 {"mac,state,transport,port,mwi\n001565aabb11,SECRET,SECRET,05060,SECRET\n", []string{"column state: is none of active, staged, disabled", "column transport: is none of", "column port: is not a whole number from 1 to 65535", "column mwi: is none of true"}},
		"no line":               {"mac,user\n001565aabb11,\n", []string{"row 2, column user: is required: an active device"}},
		"no password":           {"mac,user,line2_user,line2_password\n001565aabb11,1,2,p\n", []string{"row 2, column password: is required"}},
		"no password on line 3": {"mac,user,password,line3_user\n001565aabb11,1,p,2\n", []string{"row 2, column line3_password: is required"}},
		"too many lines":        {"mac,line17_user,line17_password\n001565aabb11,1,SECRET\n", []string{"row 2, column line17_index: is above the"}},
		"keys": {
			"mac,user,password,keys\n001565aabb11,1,p,blf\n001565aabb12,1,p,SECRET\n001565aabb13,1,p,line;blf:SEC RET\n001565aabb14,1,p,line/x\n001565aabb15,1,p,line;;line\n001565aabb16,1,p,line/7\n001565aabb17,1,p,blf:1=\n" +
				"001565aabb18,1,p,\"" + strings.Repeat("line;", 401) + "\"\n001565aabb19,1,p,\"" + strings.Repeat("line;", 100) + "\"\n",
			[]string{
				"row 2, column keys: key 1: value: is required", "row 3, column keys: key 1: type: is none of", "row 4, column keys: key 2: value: is not a number", "row 5, column keys: key 1: line: is not a whole number",
				"row 6, column keys: key 2: is empty", "row 7, column keys: key 1: line: is not the index", "row 8, column keys: key 1: label: is empty", "row 9, column keys: has more than 400 keys", "row 10, column keys: key 28: index: is above the",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents, problems, r := readCSV(t, c.text)
			if len(problems) != len(c.want) {
				t.Fatalf("%d problems, want %d:\n%s", len(problems), len(c.want), strings.Join(problems, "\n"))
			}
			for i, want := range c.want {
				if !strings.Contains(problems[i], want) {
					t.Errorf("%s\nwant %s", problems[i], want)
				}
				if strings.Contains(problems[i], "SECRET") || strings.Contains(problems[i], "\n") || len(problems[i]) > 600 {
					t.Errorf("a value is in %q", problems[i])
				}
			}
			for _, d := range documents {
				if err := inspect.Check(strings.Split(fleetFile, "\n")[0], d); err != nil {
					t.Errorf("%s: %v", d, err)
				}
			}
			if !r.Unusable && r.Bad() == 0 {
				t.Error("no row is bad")
			}
		})
	}
}

// Bad rows come out as they went in, and behind broken quotes every row is bad.
func TestRaw(t *testing.T) {
	head := "\ufeffsep=;\r\nMAC;user;password;name\r\n"
	rows := []string{
		"001565aabb11;1;p;x\r\n",
		"nonsense;1;p;\"two\r\nlines; \"\"quoted\"\"\"\r\n",
		"\r\n001565aabb12;1;p;x\n",
		"001565aabb13;1;p;5\" screen\r\n",
		"001565aabb14;1;p;x",
	}
	_, _, r := readCSV(t, head+strings.Join(rows, ""))
	var bad []string
	for _, row := range r.Rows {
		if row.Bad {
			bad = append(bad, string(row.Raw))
		}
	}
	if want := []string{rows[1], rows[3], rows[4]}; string(r.Head) != head || !slices.Equal(bad, want) {
		t.Errorf("%q, %q, want %q", r.Head, bad, want)
	}
}

func TestGenerate(t *testing.T) {
	documents, problems, _ := readCSV(t, "mac,admin_password,user,password,line2_user,line2_password\n001565aabb11,generate,1,generate,2,Generate\n001565aabb12,,1,generate,,\n")
	if problems != nil {
		t.Fatal(problems)
	}
	found := regexp.MustCompile(`"(?:admin_)?password":"([A-Za-z0-9]{24})"`).FindAllStringSubmatch(strings.Join(documents, ""), -1)
	seen := map[string]bool{}
	for _, f := range found {
		seen[f[1]] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d different secrets of 4", len(seen))
	}
	// Every character comes as often as the others: 24,000 of 62, 387 of each.
	counts := map[rune]int{}
	for range 1000 {
		for _, c := range newSecret() {
			counts[c]++
		}
	}
	for c, n := range counts {
		if n < 250 || n > 550 {
			t.Errorf("%c came %d times", c, n)
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d characters", len(counts))
	}
}

func TestJSONLines(t *testing.T) {
	good := `{"device":"001565aabb11","tenant":"demo","lines":[{"user":"1","password":"p"}]}`
	lines := []struct{ text, want string }{
		{"\ufeff" + good, ""},
		{"", ""},
		{"  " + strings.Replace(good, "11", "12", 1) + "\r", ""},
		{"SECRET", "not JSON"},
		{strings.Split(fleetFile, "\n")[0], "is the document of a tenant"},
		{strings.Split(fleetFile, "\n")[2], "device: the same device as fleet.jsonl:3"},
		{`{"device":"001565aabb01","tenant":"other","vendor":"yealink","model":"T31G"}`, "device: the same device as fleet.jsonl:3, there of another tenant"},
		{`{"device":"001565aabb15","tenant":"nobody"}`, "tenant: is not a tenant of the fleet"},
		{strings.NewReplacer("11", "16", `"p"`, `" SECRET"`).Replace(good), "lines[0].password: has a blank at its edge"},
		{strings.NewReplacer("11", "17", `"p"`, `"generate"`).Replace(good), "lines[0].password: is the word"},
		{`{"device":"001565aabb18","device":"001565aabb18","tenant":"x","tenant":"demo"}`, "device is there twice"},
	}
	var text, documents strings.Builder
	for _, l := range lines {
		text.WriteString(l.text + "\n")
	}
	r := JSONLines("f", []byte(text.String()), testFleet(t), nil)
	for _, row := range r.Rows {
		if !row.Bad {
			documents.WriteString(row.Document + "\n")
		} else if want := lines[row.Line-1].text + "\n"; string(row.Raw) != want {
			t.Errorf("bad row %q, want %q", row.Raw, want)
		}
	}
	// The same device on lines 6 and 7 says so itself, too.
	if want := good + "\n" + strings.Replace(good, "11", "12", 1) + "\n"; documents.String() != want || r.Bad() != 8 {
		t.Errorf("%d bad\n%s\nwant\n%s", r.Bad(), documents.String(), want)
	}
	var all strings.Builder
	for _, p := range r.Problems {
		all.WriteString(p.Error() + "\n")
	}
	for i, l := range lines {
		if want := fmt.Sprintf("f:%d: %s", i+1, l.want); (l.want != "") != strings.Contains(all.String(), want) {
			t.Errorf("want %q in\n%s", want, all.String())
		}
	}
	if strings.Contains(all.String(), "SECRET") {
		t.Error(all.String())
	}
}

func TestFleetErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "f: has no tenant for the devices to belong to",
		"SECRET\n" + fleetFile:       "f:1: not JSON",
		fleetFile + fleetFile:        "f:4: the same tenant as on line 1\nf:5: the same tenant as on line 2\nf:6: the same device as on line 3",
		`{"tenant":"x","url":"SEC"}`: "f:1: url: is shorter than 8 bytes",
	} {
		if _, err := ReadFleet("f", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "SEC") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Whatever stands in the cells, it is in a document that the core takes, or in no
// document and no error.
func TestAnything(t *testing.T) {
	pieces := []string{"SECRET", "\"", "\"\"", ",", "\n", "\r\n", " ", "\x00", "\xff", "=", ";", ":", "blf", "\\", "generate", "é", "\u2028", "001565aabb11", "demo", "1", "{", "}"}
	random := rand.New(rand.NewPCG(1, 2))
	tenant := strings.Split(fleetFile, "\n")[0]
	good := 0
	for n := range 20000 {
		cell := func() string {
			var b strings.Builder
			for range random.IntN(4) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			s := b.String()
			if random.IntN(4) > 0 {
				s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
			}
			return s
		}
		text := "mac,user,password,label,keys,tenant\n"
		for i := range 3 {
			mac := fmt.Sprintf("0015650000%02x", i)
			text += mac + "," + cell() + "," + cell() + "," + cell() + "," + cell() + ",\n"
		}
		documents, problems, r := readCSV(t, text)
		good += len(documents)
		for _, d := range documents {
			if err := inspect.Check(tenant, d); err != nil || !json.Valid([]byte(d)) {
				t.Fatalf("%d: %q: %v", n, d, err)
			}
		}
		if s := strings.Join(problems, ""); strings.Contains(s, "SECRET") {
			t.Fatalf("%d: %s", n, s)
		}
		var raw bytes.Buffer
		for _, row := range r.Rows {
			raw.Write(row.Raw)
		}
		if len(r.Rows) > 0 && len(documents)+r.Bad() != len(r.Rows) {
			t.Fatalf("%d: %d good, %d bad of %d", n, len(documents), r.Bad(), len(r.Rows))
		}
	}
	if good < 100 {
		t.Errorf("only %d good rows: the test shows nothing", good)
	}
}

// Every field of the profile that a cell can hold is a column, and none is two.
func TestColumns(t *testing.T) {
	names := Columns()
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
		t.Errorf("a name is there twice: %v", sorted)
	}
	for _, name := range names {
		if c, ok := parseColumn(strings.ToUpper(name)); !ok || c.name != name {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if len(lineFields) != len(profile.Line.Fields)-1 {
		t.Errorf("a line has %d columns", len(lineFields))
	}
}

func TestSample(t *testing.T) {
	sample, err := os.ReadFile("../../testdata/fleets/import.csv")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := os.Open("../../testdata/fleets/demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer demo.Close()
	f, err := ReadFleet("demo.jsonl", demo)
	if err != nil {
		t.Fatal(err)
	}
	if r := CSV("import.csv", sample, f, "demo", 0, nil); len(r.Rows) != 3 || len(r.Problems) > 0 {
		t.Errorf("%d rows, %v", len(r.Rows), r.Problems)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("mac,user,password,keys\n001565aabb11,1,SECRET,\"line;blf:1=x\"\n")
	f.Add("\ufeffsep=;\r\nmac;\"us\ner\"\r\n\"\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		documents, _, _ := readCSV(t, text)
		for _, d := range documents {
			if !json.Valid([]byte(d)) {
				t.Errorf("%q", d)
			}
		}
	})
}
