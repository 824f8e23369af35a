package provision_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagger/edge/pack"
	"stagger/edge/profile"
	"stagger/edge/provision"
	"stagger/edge/record"
	"stagger/edge/template"
	"stagger/edge/wire"
)

// documents are what the oracle reads of the two documents.
type documents struct {
	Device     string
	Tenant     string
	Vendor     string
	State      string
	Auth       string
	URL        string
	Generation int64
}

// among is a list of tenants, read in another way than the core does.
func among(list, tenant string) bool { return slices.Contains(strings.Split(list, ","), tenant) }

var phonePath = regexp.MustCompile(`(?s)^/([a-z0-9-]{1,32})/([A-Za-z0-9._-]+)/([0-9A-Fa-f]{12})(\.cfg|\.stop|\.xml|-local\.cfg)(\?.*)?$`)

var publicPath = regexp.MustCompile(`(?s)^/([a-z0-9-]{1,32})/[A-Za-z0-9._-]+/first[0-9][0-9]\.cfg(\?.*)?$`)

// expected is the order of the checks a second time, in the plainest words: which
// status the request gets. What makes a document or a profile valid is asked of
// the packages that own that.
func (w *world) expected() uint32 {
	if w.Method != "GET" && w.Method != "HEAD" {
		return 405
	}
	if len(w.Keys) == 0 || len(w.Keys) > 2 || slices.ContainsFunc(w.Keys, func(k string) bool { return len(k) < 32 }) {
		return 500
	}
	if m := publicPath.FindStringSubmatch(w.Target); m != nil && len(w.Target) <= 512 && m[1][0] != '-' && m[1][len(m[1])-1] != '-' {
		if w.Flags&wire.FlagTLS == 0 && !among(w.Fact("plain-http"), m[1]) {
			return 403
		}
		return 200
	}
	m := phonePath.FindStringSubmatch(w.Target)
	if m == nil || len(w.Target) > 512 || m[1][0] == '-' || m[1][len(m[1])-1] == '-' {
		return 404
	}
	tenantName, token, address, suffix := m[1], m[2], strings.ToLower(m[3]), m[4]
	if address == "000000000000" || strings.ContainsRune("13579bdf", rune(address[1])) {
		return 404
	}
	if w.Flags&wire.FlagTLS == 0 && !among(w.Fact("plain-http"), tenantName) {
		return 403
	}
	generation, opened := int64(-1), false
	if token == "open" {
		if opened = among(w.Fact("open"), tenantName); !opened {
			return 404
		}
	} else if generation = w.proven(tenantName, address, token); generation < 0 {
		return 404
	}

	tenantStored, ok := w.store["tenant:"+tenantName]
	deviceStored, ok2 := w.store["device:"+tenantName+":"+address]
	if tenantStored.State == wire.Failed || deviceStored.State == wire.Failed {
		return 503
	}
	if !ok || tenantStored.State == wire.Absent {
		return 404
	}
	arena := record.NewArena(64)
	var tenant, device documents
	tenantRecord, bad := profile.Parse(profile.Tenant, tenantStored.Value, arena)
	if bad != nil || json.Unmarshal([]byte(tenantStored.Value), &tenant) != nil || tenant.Tenant != tenantName {
		return 500
	}
	if opened && tenant.Auth != "open" {
		return 404
	}
	if tenant.Auth == "basic" && !w.hasPassword(tenantName, address, generation) {
		return 401
	}
	if !ok2 || deviceStored.State == wire.Absent {
		return 404
	}
	deviceRecord, bad := profile.Parse(profile.Device, deviceStored.Value, arena)
	if bad != nil || json.Unmarshal([]byte(deviceStored.Value), &device) != nil || device.Device != address || device.Tenant != tenantName {
		return 500
	}
	state := device.State
	if state == "" {
		state = tenant.State
	}
	if state == "disabled" || !opened && device.Generation != generation {
		return 404
	}
	vendor := device.Vendor
	if vendor == "" {
		vendor = tenant.Vendor
	}
	i := slices.IndexFunc(packs, func(p pack.Pack) bool { return p.Vendor == vendor })
	if i < 0 {
		return 500
	}
	j := slices.IndexFunc(packs[i].Files, func(f pack.File) bool { return f.MAC && f.Suffix == suffix })
	if j < 0 || packs[i].Files[j].Program == nil {
		return 404
	}
	if tenant.URL == "" {
		return 500
	}
	b := profile.Builder{Arena: arena}
	phone, bad := b.Build(tenantRecord, deviceRecord, &packs[i], "https://x/")
	if bad != nil {
		return 500
	}
	if _, stopped := new(template.Machine).Run(packs[i].Files[j].Program, nil, phone); stopped != nil {
		return 500
	}
	return 200
}

// proven is the generation of a token that is proper for this device, or -1.
func (w *world) proven(tenant, mac, token string) int64 {
	for _, key := range w.Keys {
		for _, generation := range []int64{0, generation - 1, generation, generation + 1, 12345} {
			if token == standardToken(key, tenant, mac, generation) {
				return generation
			}
		}
	}
	return -1
}

// hasPassword says whether the request has this device's password. The headers
// that change writes are either right or wrong in all of their parts.
func (w *world) hasPassword(tenant, mac string, generation int64) bool {
	for _, key := range w.Keys {
		if w.Fact("authorization") == basicHeader(key, tenant, mac, generation) {
			return true
		}
	}
	return false
}

// change is a random change of a request or of the store behind it.
func change(w *world, random *rand.Rand) {
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	replace := func(key string, pairs ...string) {
		i := 2 * random.IntN(len(pairs)/2)
		if d, ok := w.store[key]; ok {
			w.put(key, strings.Replace(d.Value, pairs[i], pairs[i+1], 1))
		}
	}
	address := pick(goodMAC, goodMAC, "001565aabb02", "001565aabb03", "001565AABB01", "011565aabb01", "000000000000")
	key := pick(tenantKey, tenantKey, deviceKey, deviceKey, "tenant:lab", "device:lab:"+goodMAC, "device:demo:001565aabb02")
	switch random.IntN(17) {
	case 0:
		w.Method = pick("HEAD", "HEAD", "GET", "PUT", "POST", "head", "OPTIONS", "G", "")
	case 1: // a byte of the target
		if i := random.IntN(len(w.Target) + 1); i == len(w.Target) || random.IntN(3) == 0 {
			w.Target = w.Target[:i] + pick("/", "?", ".", "%", "a", "\x00", "\xff", " ", "//", strings.Repeat("x", 500)) + w.Target[i:]
		} else if random.IntN(2) == 0 {
			w.Target = w.Target[:i] + w.Target[i+1:]
		} else {
			w.Target = w.Target[:i] + string([]byte{byte(random.Uint32())}) + w.Target[i+1:]
		}
	case 2, 3, 4: // a token, proper for something
		w.target(pick("demo", "demo", "demo", "lab", "nobody"),
			provision.Token(pick(currentKey, currentKey, previousKey, strangeKey), pick("demo", "demo", "demo", "lab"), strings.ToLower(address),
				[]int64{generation, generation, generation, 0, generation - 1, generation + 1, 12345}[random.IntN(7)]),
			pick(address, address, goodMAC)+pick(".cfg", ".cfg", ".cfg", ".stop", ".xml", "-local.cfg", ".bin"))
	case 5:
		w.target(pick("lab", "lab", "demo", "nobody"), pick("open", "open", "opem", "x"), pick(address, address, address, "first12")+".cfg")
	case 6:
		w.fact(pick("open", "open", "plain-http", "user-agent", "authorization"), pick("lab", "lab,demo", "demo", "", ",", "labs", "Basic zq7", "Acme D100 1.5 zq7", "Acme zq7 2.0", "Acme D2 zq7"))
	case 7:
		w.Flags ^= wire.FlagTLS
	case 8:
		w.Keys = [][]string{{currentKey, previousKey}, {previousKey, currentKey}, {previousKey}, {currentKey, currentKey}, {}, {currentKey, "short"}, {"", currentKey}, {currentKey, previousKey, strangeKey}}[random.IntN(8)]
	case 9:
		w.state(key, wire.State(1+random.IntN(2)))
	case 10:
		w.store[key] = wire.Document{Key: key, Value: w.store[pick(tenantKey, deviceKey, "tenant:lab", "device:demo:001565aabb02")].Value}
	case 11:
		replace(key, `"generation":5`, `"generation":6`, `"generation":5`, `"state":"disabled"`, `"model"`, `"state":"disabled","model"`, `"generation":5`, `"state":"staged","generation":5`,
			`"generation":5`, `"generation":5,"state":"active"`, `"auth":"open"`, `"auth":"token"`, `"model"`, `"auth":"open","model"`, `"001565aabb01"`, `"001565aabb02"`, `"demo"`, `"lab"`)
	case 12:
		replace(key, `"acme"`, `"brand"`, `"acme"`, `"acmf"`, `"generation":5`, `"generation":5,"vendor":"brand","model":"B1"`, `"vendor":"acme",`, ``, `"url":"https://zq7.example/p/",`, ``,
			`/p/`, ``, `"D2"`, `"D3"`, `"password":"zq7password",`, ``, `"zq7 label"`, `"%NULL%"`, `"zq7 label"`, `"zq7\nlabel"`, `"user"`, `"usr"`, `}]`, `},{"user":"zq7-2","password":"zq7-2"}]`)
	case 13, 14: // a byte of a document
		if d := w.store[key]; len(d.Value) > 0 {
			i := random.IntN(len(d.Value))
			w.put(key, d.Value[:i]+pick("", "\x00", `"`, "}", "9", "z", string([]byte{byte(random.Uint32())}))+d.Value[i+random.IntN(2):])
		}
	case 15:
		w.Now = random.Uint64()
	case 16:
		replace(tenantKey, `"model"`, `"auth":"basic","model"`)
		if random.IntN(3) > 0 {
			w.fact("authorization", basicHeader(pick(currentKey, currentKey, previousKey, strangeKey), pick("demo", "demo", "demo", "lab"), pick(goodMAC, goodMAC, "001565aabb02"), generation))
		}
	}
}

// secrets are what no header, no record and no body but that of a file may hold.
func (w *world) secrets() []string {
	secrets := []string{marker}
	for _, segment := range strings.FieldsFunc(w.Target, func(r rune) bool { return r == '/' || r == '?' }) {
		if len(segment) == provision.TokenLength {
			secrets = append(secrets, segment, segment[4:])
		}
	}
	for _, key := range []string{currentKey, previousKey, strangeKey} {
		for _, mac := range []string{goodMAC, "001565aabb02"} {
			secrets = append(secrets, provision.Token(key, "demo", mac, generation)[4:], provision.Password(key, "demo", mac, generation), basicHeader(key, "demo", mac, generation)[6:])
		}
	}
	return secrets
}

// TestInvariants changes a good request at random and holds every answer to the
// order of the checks and to what is true of all answers.
func TestInvariants(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	old := provision.New(packs) // sees all requests
	refusals := map[uint32]string{}
	count := map[uint32]int{}
	outcomes := map[string]int{}
	for range 6000 {
		w := newWorld()
		for range 1 + random.IntN(3) {
			change(w, random)
		}
		a := w.ask(t, old)
		count[a.Status]++
		outcomes[a.audit("outcome")]++

		// A status other than the one expected covers "200 implies that the token is
		// proven for exactly this tenant, MAC and generation, the device enabled and
		// its profile valid", and that each refusal has its status.
		if want := w.expected(); a.Status != want {
			t.Fatalf("got %d %s, want %d, for %q", a.Status, a.audit("outcome"), want, w)
		}
		if blind(w, a.audit("outcome")) && len(a.asked) > 0 {
			t.Fatalf("asked for %q before the token was proven: %q", a.asked, w)
		}
		// All refusals of a status are the same bytes. (To HEAD, the same headers.)
		refusal := a.clone()
		if w.Method == "HEAD" {
			if len(a.Body) > 0 {
				t.Fatalf("HEAD has the body %q", a.Body)
			}
			refusal.Body = []byte(map[uint32]string{401: "unauthorized\n", 404: "not found\n", 500: "error\n", 503: "error\n"}[a.Status])
		}
		if first, ok := refusals[a.Status]; a.Status != 200 && ok && first != refusal.bytes() {
			t.Fatalf("%q and %q are both %d: %q", first, refusal.bytes(), a.Status, w)
		}
		refusals[a.Status] = refusal.bytes()

		public := string(wire.AppendResponse(nil, &wire.Response{Headers: a.Headers, Audit: a.Audit}))
		if a.Status != 200 {
			public += string(a.Body)
		}
		for _, secret := range w.secrets() {
			if strings.Contains(public, secret) {
				t.Fatalf("%q is in %q", secret, public)
			}
		}

		// A core that has seen other requests answers as a new one.
		if fresh := w.ask(t, provision.New(packs)); !slices.Equal(fresh.calls, a.calls) {
			t.Fatalf("a new core answers %q, the old one %q, to %q", fresh.calls, a.calls, w)
		}
		if other := w.clone(); w.Method == "GET" || w.Method == "HEAD" {
			other.Method = map[string]string{"GET": "HEAD", "HEAD": "GET"}[w.Method]
			b := other.ask(t, old)
			if b.Status != a.Status || !slices.Equal(b.Headers, a.Headers) || !slices.Equal(b.Audit, a.Audit) || !slices.Equal(b.asked, a.asked) {
				t.Fatalf("%s: %+v, %s: %+v", w.Method, a.Response, other.Method, b.Response)
			}
		}
	}
	for _, status := range []uint32{200, 401, 403, 404, 405, 500, 503} {
		if count[status] < 50 {
			t.Errorf("%d answers of status %d among %v: the property is empty", count[status], status, count)
		}
	}
	for _, outcome := range []string{
		provision.OK, provision.Public, provision.Method, provision.Malformed, provision.NotServed, provision.PlainHTTP, provision.NoKey, provision.BadToken,
		provision.NoTenant, provision.NoDevice, provision.IsDisabled, provision.Revoked, provision.Credentials, provision.OtherVendor, provision.Store, provision.Invalid,
	} {
		if outcomes[outcome] < 5 {
			t.Errorf("%d outcomes %s among %v", outcomes[outcome], outcome, outcomes)
		}
	}
	if n := len(slices.Collect(maps.Keys(count))); n != 7 {
		t.Errorf("statuses %v", count)
	}
}

func (a *answer) clone() *answer {
	c := *a
	return &c
}

func TestTheSameRequestAThousandTimes(t *testing.T) {
	core := provision.New(packs)
	want := newWorld().ask(t, core)
	for range 1000 {
		if got := newWorld().ask(t, core); !slices.Equal(got.calls, want.calls) {
			t.Fatalf("%q, then %q", want.calls, got.calls)
		}
	}
}

// A warm core takes nothing from the heap but what parsing does: memory stays flat.
func TestMemoryStaysFlat(t *testing.T) {
	core, w := provision.New(packs), newWorld()
	w.Documents = []wire.Document{w.store[tenantKey], w.store[deviceKey]}
	in := wire.AppendRequest(nil, &w.Request)
	core.Handle(in)
	if n := testing.AllocsPerRun(100, func() { core.Handle(in) }); n > 20 {
		t.Errorf("%v allocations a request", n)
	}
}

// Whatever bytes a host sends, the core says what is wrong with them.
func TestMalformedMessages(t *testing.T) {
	core := provision.New(packs)
	w := newWorld()
	w.Documents = []wire.Document{w.store[tenantKey], w.store[deviceKey]}
	good := wire.AppendRequest(nil, &w.Request)
	for n := range good {
		status, out := core.Handle(good[:n])
		if status != wire.StatusMalformed || !strings.HasPrefix(string(out), "malformed message: ") {
			t.Fatalf("cut at %d: %d %q", n, status, out)
		}
	}
	for i := range good {
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, good[i] + 1} {
			bad := slices.Clone(good)
			bad[i] = b
			handle(t, core, bad)
		}
	}
	if status, _ := core.Handle(nil); status != wire.StatusMalformed {
		t.Errorf("nothing at all: %d", status)
	}
	if status, _ := core.Handle(good); status != wire.StatusResponse {
		t.Errorf("the good request afterwards: %d", status)
	}
}

// handle checks what is true of the answer to any bytes.
func handle(t *testing.T, core *provision.Core, in []byte) (r wire.Response) {
	t.Helper()
	status, out := core.Handle(in)
	switch status {
	case wire.StatusResponse:
		if err := wire.DecodeResponse(string(out), &r); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]uint32{200, 401, 403, 404, 405, 500, 503}, r.Status) {
			t.Fatalf("HTTP status %d", r.Status)
		}
	case wire.StatusNeed:
		if need, err := wire.DecodeNeed(string(out), nil); err != nil || len(need) == 0 || len(need) > 2 {
			t.Fatalf("needs %q: %v", need, err)
		}
	case wire.StatusMalformed:
		if !strings.HasPrefix(string(out), "malformed message: ") {
			t.Fatalf("%q", out)
		}
	default:
		t.Fatalf("status %d", status)
	}
	return r
}

func FuzzHandle(f *testing.F) {
	for _, g := range guards {
		w := newWorld()
		g.change(w)
		f.Add([]byte(w.Target))
		f.Add([]byte(w.store[tenantKey].Value))
		f.Add([]byte(w.store[deviceKey].Value))
	}
	w := newWorld()
	f.Add(wire.AppendRequest(nil, &w.Request))
	core := provision.New(packs)
	f.Fuzz(func(t *testing.T, data []byte) {
		handle(t, core, data)
		for _, change := range []func(w *world){
			func(w *world) { w.Target = string(data) },
			func(w *world) { w.Target += string(data) },
			func(w *world) { w.put(tenantKey, string(data)) },
			func(w *world) { w.put(deviceKey, string(data)) },
		} {
			w := newWorld()
			change(w)
			w.Documents = []wire.Document{w.store[tenantKey], w.store[deviceKey]}
			r := handle(t, core, wire.AppendRequest(nil, &w.Request))
			for _, p := range append(r.Headers, r.Audit...) {
				if strings.Contains(p.Value, marker) && !strings.Contains(string(data), marker) {
					t.Fatalf("%s is %q", p.Name, p.Value)
				}
			}
		}
	})
}

// A path that is accepted is put together again from its parts, and has nothing
// in it but what a phone would ask for.
func FuzzRoute(f *testing.F) {
	for _, g := range guards {
		w := newWorld()
		g.change(w)
		f.Add(w.Target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		tenant, token, file, ok := provision.ParsePath(target)
		if !ok {
			return
		}
		path, _, _ := strings.Cut(target, "?")
		if path != "/"+tenant+"/"+token+"/"+file {
			t.Fatalf("%q is %q, %q and %q", target, tenant, token, file)
		}
		if !regexp.MustCompile(`^/[a-z0-9-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`).MatchString(path) {
			t.Fatalf("%q is accepted", path)
		}
	})
}
