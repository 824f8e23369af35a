// Package provision decides what a request gets: a phone's file, a refusal, or a
// list of documents to fetch first. It owns the order of the checks and every
// header of every answer. It does no I/O; all it knows is in the request.
package provision

import (
	"strconv"

	"github.com/cespare/xxhash/v2"

	"stagger/edge/hash"
	"stagger/edge/pack"
	"stagger/edge/profile"
	"stagger/edge/record"
	"stagger/edge/spread"
	"stagger/edge/template"
	"stagger/edge/wire"
)

// MaxTarget is the longest request target that is looked at, in bytes.
const MaxTarget = 512

// Sizes in which buffers are made, in bytes: enough for an ordinary phone.
const (
	scratchSize = 768
	bodySize    = 8 << 10
	outSize     = 1 << 10 // of an answer, beyond its body
)

// Outcomes, the word for what happened in the audit record.
const (
	OK          = "ok"
	Public      = "public"       // 200: a text that is the same for everybody and says nothing
	Method      = "method"       // 405: not GET or HEAD
	Malformed   = "malformed"    // 404: no path that a phone would ask for
	NotServed   = "not-served"   // 404: a file that phones ask for and that is deliberately not there
	PlainHTTP   = "plain-http"   // 403: without TLS, for a tenant that has not allowed it
	NoKey       = "no-key"       // 500: the host has no usable master secret
	BadToken    = "token"        // 404: the token is not this device's
	NoTenant    = "no-tenant"    // 404: the store has no such tenant
	NoDevice    = "no-device"    // 404: the store has no such device
	IsDisabled  = "disabled"     // 404: the device is disabled
	Revoked     = "revoked"      // 404: the token is of another generation
	Credentials = "credentials"  // 401: no Authorization that is this device's
	StaleNonce  = "stale"        // 401: right but for the age of the nonce
	NoCert      = "certificate"  // 404: no client certificate that is this device's
	OtherVendor = "other-vendor" // 404: the device is of a vendor that has no such file
	Store       = "store"        // 503: the host could not fetch a document
	Invalid     = "invalid"      // 500: a document or a value breaks a rule
)

// Core answers requests, one at a time.
type Core struct {
	packs    []pack.Pack
	request  wire.Request
	response wire.Response
	arena    *record.Arena
	builder  profile.Builder
	machine  template.Machine
	need     []string
	headers  [7]wire.Pair
	audit    [13]wire.Pair
	// scratch backs the strings that are put together for one answer.
	scratch []byte
	body    []byte
	// out is the last answer, and all that is left of a request after it.
	out []byte
}

// New makes a core that serves these packs.
func New(packs []pack.Pack) *Core {
	c := &Core{
		packs: packs,
		// Nothing is set aside here: what is, a wasm host has to put back after
		// every call, also after those that end before it is used.
		arena: record.NewArena(0),
	}
	c.builder.Arena = c.arena
	return c
}

// Handle is the function that every engine runs: the encoding of a wire.Request
// in, a status and its encoding out. The output is good until the next call, and
// stays in memory until then, secrets included: the host still has to read it.
// Nothing else of a request outlives it.
func (c *Core) Handle(in []byte) (status uint32, out []byte) {
	defer c.forget()
	// The next answer may be shorter than the last one.
	clear(c.out)
	if err := wire.DecodeRequest(view(in), &c.request); err != nil {
		c.out = append(c.out[:0], err.Error()...)
		return wire.StatusMalformed, c.out
	}
	c.need = c.need[:0]
	if cap(c.scratch) == 0 {
		c.scratch = make([]byte, 0, scratchSize)
	}
	c.answer(&c.request)
	if len(c.need) > 0 {
		c.out = wire.AppendNeed(c.out[:0], c.need)
		return wire.StatusNeed, c.out
	}
	if need := len(c.response.Body) + outSize; cap(c.out) < need {
		c.out = make([]byte, 0, need)
	}
	c.out = wire.AppendResponse(c.out[:0], &c.response)
	return wire.StatusResponse, c.out
}

// forget drops what the last request left in the structures of the core, all but
// the answer in out. (The wasm hosts restore the whole memory on top of that.)
func (c *Core) forget() {
	c.arena.Reset()
	c.machine.Forget()
	// The strings of the request are the memory of the caller.
	r := &c.request
	r.Method, r.Target = "", ""
	clear(r.Facts)
	clear(r.Keys)
	clear(r.Documents)
	// It lies in a scratch buffer, which may have been left for a larger one.
	c.builder.Password = ""
	clear(c.body)
	clear(c.scratch)
	c.body, c.scratch = c.body[:0], c.scratch[:0]
}

// answer walks through the checks, in the order that the security of the whole
// rests on: nothing is fetched before the token is proven.
func (c *Core) answer(r *wire.Request) {
	c.response.Audit = c.audit[:0]
	if r.Method != "GET" && r.Method != "HEAD" {
		c.refuse(405, Method)
		return
	}
	if len(r.Keys) == 0 || len(r.Keys) > 2 {
		c.refuse(500, NoKey)
		return
	}
	for _, key := range r.Keys {
		if len(key) < MinKey {
			c.refuse(500, NoKey)
			return
		}
	}
	if len(r.Target) > MaxTarget {
		c.refuse(404, Malformed)
		return
	}
	var p path
	if !hosted(r.Fact("hosts"), r.Fact("host")) || !p.parse(r.Target) {
		c.refuse(404, Malformed)
		return
	}
	file, mac := c.route(p.file)
	if file == nil {
		c.refuse(404, Malformed)
		return
	}
	// With the segments the wrong way round the tenant would be a token, and the
	// record is no place for one.
	if _, ok := generationOf(p.token); ok || p.token == OpenToken {
		c.note("tenant", p.tenant)
	}
	if !file.MAC && file.Text == "" {
		c.note("file", file.Kind)
		c.refuse(404, NotServed)
		return
	}
	if file.MAC {
		c.note("mac", mac)
	} else {
		c.note("file", file.Kind)
	}
	if r.Flags&wire.FlagTLS == 0 && !listed(r.Fact("plain-http"), p.tenant) {
		c.refuse(403, PlainHTTP)
		return
	}
	if !file.MAC {
		// Nothing that anybody could not read in the source: a constant.
		c.note("outcome", Public)
		c.respond(200, file.Type, len(file.Text))
		if r.Method == "GET" {
			c.body = append(c.body[:0], file.Text...)
			c.response.Body = c.body
		}
		return
	}
	proof, ok := c.authenticate(r, &p, mac)
	if !ok {
		c.refuse(404, BadToken)
		return
	}
	c.provision(r, &p, mac, proof)
}

// route finds a file of any vendor that has this name. The MAC is returned in
// lower case. Which vendor the device is of, only its document can tell.
func (c *Core) route(name string) (*pack.File, string) {
	for i := range c.packs {
		file, mac := c.packs[i].File(name)
		if file == nil {
			continue
		}
		if !file.MAC {
			return file, ""
		}
		if mac = c.lower(mac); record.IsMAC(mac) {
			return file, mac
		}
	}
	return nil, ""
}

// proof is what a caller has shown.
type proof struct {
	// open: nothing, and the operator has allowed that.
	open       bool
	generation int64
	// current says that the token was made with the current key, which then need
	// not be asked again; seed is what else that HMAC gave.
	current bool
	seed    uint64
}

func (c *Core) authenticate(r *wire.Request, p *path, mac string) (proof, bool) {
	if p.token == OpenToken {
		return proof{open: true}, listed(r.Fact("open"), p.tenant)
	}
	generation, ok := generationOf(p.token)
	if !ok {
		return proof{}, false
	}
	for i, master := range r.Keys {
		s := newSigner(master, p.tenant)
		if s.id != p.token[0] {
			continue
		}
		if token, seed := s.token(p.tenant, mac, generation); hash.Equal(view(token[:]), p.token) {
			if i == 0 {
				c.note("key", "current")
			} else {
				c.note("key", "previous")
			}
			return proof{generation: generation, current: i == 0, seed: seed}, true
		}
	}
	return proof{}, false
}

func (c *Core) provision(r *wire.Request, p *path, mac string, proof proof) {
	tenantKey := c.join("tenant:", p.tenant)
	deviceKey := c.join("device:", p.tenant, ":", mac)
	tenantDocument, deviceDocument := c.document(r, tenantKey), c.document(r, deviceKey)
	if len(c.need) > 0 {
		return
	}
	switch {
	case tenantDocument.State == wire.Failed || deviceDocument.State == wire.Failed:
		c.refuse(503, Store)
		return
	case tenantDocument.State == wire.Absent:
		c.refuse(404, NoTenant)
		return
	}
	tenant, err := profile.Parse(profile.Tenant, tenantDocument.Value, c.arena)
	if err == nil && tenant[profile.TenantID].Str != p.tenant {
		err = &profile.Error{Path: "tenant", What: "is not the tenant of its key"}
	}
	if err != nil {
		c.invalid(tenantKey, err)
		return
	}
	if proof.open && tenant[profile.TenantAuth].Str != "open" {
		c.refuse(404, BadToken)
		return
	}
	// Before anything of the device shows: whether it exists is not for everybody
	// with a URL to know where the tenant asks for more.
	if !c.authorize(r, p, mac, proof, tenant[profile.TenantAuth].Str) {
		return
	}
	withCert := tenant[profile.TenantClientCert].Num != 0
	if withCert && !verified(r) {
		c.refuse(404, NoCert)
		return
	}
	if deviceDocument.State == wire.Absent {
		c.refuse(404, NoDevice)
		return
	}
	device, err := profile.Parse(profile.Device, deviceDocument.Value, c.arena)
	if err == nil && device[profile.DeviceMAC].Str != mac {
		err = &profile.Error{Path: "device", What: "is not the MAC of its key"}
	}
	if err == nil && device[profile.DeviceTenant].Str != p.tenant {
		err = &profile.Error{Path: "tenant", What: "is not the tenant of its key"}
	}
	if err != nil {
		c.invalid(deviceKey, err)
		return
	}
	tenant, cohort := c.builder.Rollout(tenant, mac)
	if cohort.ID != "" {
		c.note("cohort", cohort.String())
	}
	if profile.State(tenant, device) == profile.Disabled {
		c.refuse(404, IsDisabled)
		return
	}
	if !proof.open && device[profile.DeviceGeneration].Num != proof.generation {
		c.refuse(404, Revoked)
		return
	}
	vendor := Pack(c.packs, profile.VendorOf(tenant, device))
	if vendor == nil {
		what := "is not a vendor that this version knows"
		if profile.VendorOf(tenant, device) == "" {
			what = "is required"
		}
		c.invalid(deviceKey, &profile.Error{Path: "vendor", What: what})
		return
	}
	if withCert && !certified(r, vendor, mac) {
		c.refuse(404, NoCert)
		return
	}
	c.note("vendor", vendor.Vendor)
	file, _ := vendor.File(p.file)
	if file == nil {
		c.refuse(404, OtherVendor)
		return
	}
	c.note("file", file.Kind)
	if file.Program == nil {
		c.refuse(404, NotServed)
		return
	}
	c.render(r, p, mac, proof, tenant, device, vendor, file, deviceKey)
}

func (c *Core) render(r *wire.Request, p *path, mac string, proof proof, tenant, device record.Record,
	vendor *pack.Pack, file *pack.File, deviceKey string) {
	// The URL in the file is always that of the current key: a phone that came
	// with the previous one moves over, and its file does not depend on which of
	// the two it used.
	segment, seed := p.token, proof.seed
	var s signer
	withPassword := tenant[profile.TenantAuth].Str == "basic" || tenant[profile.TenantAuth].Str == "digest"
	if !proof.current || withPassword {
		s = newSigner(r.Keys[0], p.tenant)
	}
	c.builder.Password = ""
	if withPassword {
		password := s.password(p.tenant, mac, proof.generation)
		c.builder.Password = c.join(view(password[:]))
	}
	if !proof.current {
		var token [TokenLength]byte
		token, seed = s.token(p.tenant, mac, device[profile.DeviceGeneration].Num)
		if !proof.open {
			segment = c.join(view(token[:]))
		}
	}
	base := tenant[profile.TenantURL].Str
	if base == "" {
		c.invalid(c.join("tenant:", p.tenant), &profile.Error{Path: "url", What: "is required"})
		return
	}
	if base[len(base)-1] == '/' {
		base = base[:len(base)-1]
	}
	url := c.join(base, "/", p.tenant, "/", segment, "/")
	phone, err := c.builder.Build(tenant, device, vendor, url)
	if err != nil {
		c.invalid(deviceKey, err)
		return
	}
	c.claim(r.Fact("user-agent"), vendor)
	if cap(c.body) == 0 {
		c.body = make([]byte, 0, bodySize)
	}
	body, stopped := c.machine.Run(profile.Program(phone, file, c.builder.Template), c.body[:0], phone)
	c.body = body
	if stopped != nil {
		c.fail(c.join(deviceKey, ": ", vendor.Vendor, "/", stopped.Error()))
		return
	}
	// Seeded with a secret, so that a hash in a log is no help in guessing a weak
	// password of the file.
	digest := xxhash.NewWithSeed(seed)
	digest.Write(body)
	c.note("hash", c.hex(digest.Sum64()))
	c.note("timers", c.timers())
	c.note("outcome", OK)
	c.respond(200, file.Type, len(body))
	if r.Method == "GET" {
		c.response.Body = body
	}
}

// claim notes what the phone says it is, where that is something that its vendor
// has. It is a hint for the operator and decides nothing: anybody can send any
// User-Agent, and a phone sends more than one in the course of a boot, for all of
// which it has to get the same bytes.
func (c *Core) claim(agent string, vendor *pack.Pack) {
	if agent == "" {
		return
	}
	model, firmware := vendor.Agent(agent, c.builder.Model)
	if model == nil {
		return
	}
	differs := ""
	c.note("agent-model", model.Name)
	if model != c.builder.Model {
		differs = "model"
	}
	if firmware != "" && len(vendor.Generations) > 0 {
		name := "unknown"
		generation := vendor.Generation(model, firmware)
		if generation != nil {
			name = generation.Name
		}
		c.note("agent-firmware", name)
		if generation != c.builder.Generation {
			if differs != "" {
				differs += ","
			}
			differs += "firmware"
		}
	}
	if differs != "" {
		c.note("differs", differs)
	}
}

// authorize judges the Authorization header where the tenant asks for one. All
// refusals of a tenant are the same but for the nonce.
func (c *Core) authorize(r *wire.Request, p *path, mac string, proof proof, auth string) bool {
	verdict := granted
	switch auth {
	case "basic":
		verdict = c.basic(r, p.tenant, mac, proof.generation)
	case "digest":
		verdict = c.digest(r, p.tenant, mac, proof.generation)
	}
	if verdict == granted {
		return true
	}
	challenge := `Basic realm="` + Realm + `", charset="UTF-8"`
	if auth == "digest" {
		s := newSigner(r.Keys[0], p.tenant)
		nonce := s.nonce(p.tenant, r.Now)
		challenge = `Digest realm="` + Realm + `", qop="auth", algorithm=MD5, nonce="` + string(nonce[:]) + `"`
	}
	if verdict == stale {
		challenge += ", stale=true"
		c.refuse(401, StaleNonce)
	} else {
		c.refuse(401, Credentials)
	}
	c.response.Headers = append(c.response.Headers, wire.Pair{Name: "www-authenticate", Value: challenge})
	return false
}

// document returns the document of this key, or asks for it.
func (c *Core) document(r *wire.Request, key string) *wire.Document {
	for i := range r.Documents {
		if r.Documents[i].Key == key {
			return &r.Documents[i]
		}
	}
	c.need = append(c.need, key)
	return nil
}

// Pack returns the pack of this vendor, or nil.
func Pack(packs []pack.Pack, vendor string) *pack.Pack {
	for i := range packs {
		if packs[i].Vendor == vendor {
			return &packs[i]
		}
	}
	return nil
}

const plainText = "text/plain; charset=utf-8"

// refuse answers with one of the fixed refusals. All refusals of a status are the
// same bytes, whoever asks for whatever.
func (c *Core) refuse(status uint32, outcome string) {
	c.note("outcome", outcome)
	body := ""
	switch status {
	case 401:
		body = "unauthorized\n"
	case 404:
		body = "not found\n"
	case 500, 503:
		body = "error\n"
	}
	c.respond(status, plainText, len(body))
	if status == 405 {
		c.response.Headers = append(c.response.Headers, wire.Pair{Name: "allow", Value: "GET, HEAD"})
	}
	// A file that stopped half-way is longer than any refusal.
	clear(c.body)
	if c.request.Method != "HEAD" {
		c.body = append(c.body[:0], body...)
		c.response.Body = c.body
	}
}

func (c *Core) invalid(document string, err *profile.Error) {
	err.Document = document
	c.fail(err.Error())
}

func (c *Core) fail(what string) {
	c.note("error", what)
	c.refuse(500, Invalid)
}

func (c *Core) respond(status uint32, contentType string, length int) {
	c.response.Status = status
	c.response.Body = nil
	c.response.Headers = append(c.headers[:0],
		wire.Pair{Name: "content-type", Value: contentType},
		wire.Pair{Name: "content-length", Value: strconv.Itoa(length)},
		wire.Pair{Name: "cache-control", Value: "no-store, no-transform"},
		wire.Pair{Name: "x-content-type-options", Value: "nosniff"},
		wire.Pair{Name: "accept-ranges", Value: "none"},
	)
}

func (c *Core) note(name, value string) {
	c.response.Audit = append(c.response.Audit, wire.Pair{Name: name, Value: value})
}

// timers lists the values of this device's timers, in seconds or as HH:MM.
func (c *Core) timers() string {
	start := len(c.scratch)
	for i := range c.builder.Timers {
		t := &c.builder.Timers[i]
		if i > 0 {
			c.scratch = append(c.scratch, ' ')
		}
		c.scratch = append(append(c.scratch, t.Name...), '=')
		if t.Timer.TimeOfDay() {
			c.scratch = spread.AppendClock(c.scratch, t.Value.Seconds)
		} else {
			c.scratch = strconv.AppendUint(c.scratch, t.Value.Seconds, 10)
		}
	}
	return view(c.scratch[start:])
}

// join puts strings together in the scratch buffer.
func (c *Core) join(parts ...string) string {
	start := len(c.scratch)
	for _, s := range parts {
		c.scratch = append(c.scratch, s...)
	}
	return view(c.scratch[start:])
}

func (c *Core) lower(s string) string {
	start := len(c.scratch)
	for i := range len(s) {
		b := s[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		c.scratch = append(c.scratch, b)
	}
	return view(c.scratch[start:])
}

func (c *Core) hex(n uint64) string {
	start := len(c.scratch)
	for shift := 60; shift >= 0; shift -= 4 {
		c.scratch = append(c.scratch, "0123456789abcdef"[n>>shift&15])
	}
	return view(c.scratch[start:])
}

// hosted says whether the Host of a request is one of those that the operator has
// named. Without names every host is: the token decides.
func hosted(names, host string) bool {
	if names == "" {
		return true
	}
	for i := len(host) - 1; i > 0 && host[i] != ']'; i-- {
		if host[i] == ':' {
			host = host[:i]
			break
		}
	}
	for names != "" {
		end := 0
		for end < len(names) && names[end] != ',' {
			end++
		}
		if equalFold(host, names[:end]) {
			return true
		}
		names = names[min(end+1, len(names)):]
	}
	return false
}

// listed says whether the tenant is in a list of tenants with commas between.
func listed(list, tenant string) bool {
	for list != "" {
		end := 0
		for end < len(list) && list[end] != ',' {
			end++
		}
		if list[:end] == tenant {
			return true
		}
		list = list[min(end+1, len(list)):]
	}
	return false
}
