// Package corpus is the conformance corpus: cases in testdata/golden, and the
// engines that they run on. A case says in full what a phone asks, what the store
// has and what the phone gets; every engine has to give exactly that.
package corpus

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/fleet"
)

// The master secrets of all cases. They protect nothing.
var (
	Current  = strings.Repeat("current.", 4)
	Previous = strings.Repeat("previous", 4)
)

// Case is one file of the corpus, a txtar archive: a comment that says what it
// shows, "document KEY", "absent", "failed KEY" or "fleet FILE" sections for the
// store, and then requests, each followed by its response.
//
//	-- request --
//	GET /demo/{token 001565aabb01}/001565aabb01.cfg
//	user-agent: Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:01
//	-- response --
//	200 ok
//	content-type: text/plain; charset=utf-8
//
//	body
//
// The word after the status is the outcome of the audit record, followed by what a
// setup's "audit" names of it ("differs=model"). In a target,
// {token MAC} stands for the device's token; more words change it: "previous" for
// the previous key, "tenant=t" and "generation=n". In headers {basic USER MAC} stands
// for the base64 of USER and the device's password, {password MAC} for the password,
// and {digest MAC} for a whole Digest header, whose parts are changed by "now=n" (the
// time of the nonce), "name=value" (any parameter; without value it is left out),
// "method=M" and "target=T" (what the response is computed for), "secret=S", and
// "nonce-tenant=t" and "nonce-previous" (who made the nonce).
type Case struct {
	Name string
	File string
	// Only names the engines that the case is for; empty means all.
	Only  []string
	Setup Setup
	Steps []Step

	archive *txtar.Archive
}

// Setup is what surrounds the requests of a case.
type Setup struct {
	Now       uint64
	Keys      []string
	PlainHTTP string
	Open      string
	Hosts     string
	// Sealed is "required" where documents that are not sealed are refused.
	Sealed string
	// Audit names what else of the audit record a case shows, behind the outcome.
	Audit     []string
	Documents map[string]string
	Failing   []string
}

// Step is a request and its response.
type Step struct {
	Method, Target string
	TLS            bool
	// Headers are those that the core sees, lower-case names.
	Headers []wire.Pair
	Want    string

	section int
}

// Load reads all cases of a folder.
func Load(dir, fleets string) ([]*Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no case in %s", dir)
	}
	var cases []*Case
	for _, f := range files {
		c, err := read(f, fleets)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func read(file, fleets string) (*Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &Case{
		Name: strings.TrimSuffix(filepath.Base(file), ".txt"), File: file, archive: txtar.Parse(data),
		Setup: Setup{Now: defaultNow, Keys: []string{Current}, Documents: map[string]string{}},
	}
	for i, section := range c.archive.Files {
		text := string(section.Data)
		kind, argument, _ := strings.Cut(section.Name, " ")
		switch kind {
		case "setup":
			err = c.setup(text)
		case "fleet":
			err = c.fleet(filepath.Join(fleets, argument))
		case "document":
			c.Setup.Documents[argument] = strings.TrimSuffix(text, "\n")
		case "failed":
			c.Setup.Failing = append(c.Setup.Failing, argument)
		case "request":
			var s Step
			if s, err = request(text); err == nil {
				s.section = i
				c.Steps = append(c.Steps, s)
			}
		case "response":
			if n := len(c.Steps); n == 0 || c.Steps[n-1].section != i-1 {
				err = errors.New("a response without a request before it")
			} else {
				c.Steps[n-1].Want = text
			}
		default:
			err = fmt.Errorf("unknown section %q", section.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("section %d, %s: %w", i+1, section.Name, err)
		}
	}
	if len(c.Steps) == 0 {
		return nil, errors.New("no request")
	}
	return c, nil
}

func (c *Case) setup(text string) error {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return fmt.Errorf("not a name and a value: %q", line)
		}
		switch name {
		case "now":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return err
			}
			c.Setup.Now = n
		case "keys":
			c.Setup.Keys = nil
			for _, k := range strings.Fields(value) {
				switch k {
				case "current":
					c.Setup.Keys = append(c.Setup.Keys, Current)
				case "previous":
					c.Setup.Keys = append(c.Setup.Keys, Previous)
				case "none":
				default:
					key, err := hex.DecodeString(k)
					if err != nil {
						return err
					}
					c.Setup.Keys = append(c.Setup.Keys, string(key))
				}
			}
		case "plain-http":
			c.Setup.PlainHTTP = value
		case "open":
			c.Setup.Open = value
		case "hosts":
			c.Setup.Hosts = value
		case "sealed":
			c.Setup.Sealed = value
		case "audit":
			c.Setup.Audit = strings.Fields(value)
		case "engines":
			c.Only = strings.Fields(value)
		default:
			return fmt.Errorf("unknown setting %q", name)
		}
	}
	return nil
}

func (c *Case) fleet(file string) error {
	store, err := fleet.Open(file, nil, nil)
	if err != nil {
		return err
	}
	for _, key := range store.Keys() {
		c.Setup.Documents[key], _, _ = store.Get(context.Background(), key)
	}
	return nil
}

func request(text string) (Step, error) {
	s := Step{TLS: true}
	first, rest, _ := strings.Cut(text, "\n")
	method, target, ok := strings.Cut(first, " ")
	if !ok {
		return s, fmt.Errorf("not a method and a target: %q", first)
	}
	s.Method = method
	var err error
	if s.Target, err = expand(target); err != nil {
		return s, err
	}
	for line := range strings.Lines(rest) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case !ok:
			return s, fmt.Errorf("not a header: %q", line)
		case name == "(plain)":
			s.TLS = false
		default:
			if value, err = expand(value); err == nil {
				value, err = s.credentials(value)
			}
			if err != nil {
				return s, err
			}
			s.Headers = append(s.Headers, wire.Pair{Name: name, Value: value})
		}
	}
	return s, nil
}

var placeholder = regexp.MustCompile(`\{(token|repeat) ([^}]*)\}`)

// expand puts tokens, and long texts ("{repeat 3 abc}"), in the place of their
// placeholders.
func expand(target string) (string, error) {
	var failed error
	out := placeholder.ReplaceAllStringFunc(target, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		words := strings.Fields(m[2])
		if m[1] == "repeat" && len(words) == 2 {
			if n, err := strconv.Atoi(words[0]); err == nil && n < 100_000 {
				return strings.Repeat(words[1], n)
			}
		}
		if m[1] != "token" || len(words) == 0 {
			failed = fmt.Errorf("placeholder %s", p)
			return p
		}
		key, tenant, generation := Current, "demo", int64(0)
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "previous":
				key = Previous
			case "tenant":
				tenant = value
			case "generation":
				generation, _ = strconv.ParseInt(value, 10, 64)
			default:
				failed = fmt.Errorf("placeholder %s", p)
			}
		}
		return provision.Token(key, tenant, words[0], generation)
	})
	return out, failed
}

var header = regexp.MustCompile(`\{(basic|password|digest) ([^}]*)\}`)

// defaultNow is the time of a case that does not set one.
const defaultNow = 1_800_000_000

// credentials puts user and password in the place of their placeholders.
func (s *Step) credentials(value string) (string, error) {
	var failed error
	out := header.ReplaceAllStringFunc(value, func(p string) string {
		m := header.FindStringSubmatch(p)
		words := strings.Fields(m[2])
		user := ""
		if m[1] == "basic" {
			user, words = words[0], words[1:]
		}
		if len(words) == 0 {
			failed = fmt.Errorf("placeholder %s", p)
			return p
		}
		options := map[string]string{}
		for _, w := range words[1:] {
			name, v, _ := strings.Cut(w, "=")
			options[name] = v
		}
		key, tenant, generation := Current, "demo", int64(0)
		if _, ok := options["previous"]; ok {
			key = Previous
		}
		if t, ok := options["tenant"]; ok {
			tenant = t
		}
		if g, ok := options["generation"]; ok {
			generation, _ = strconv.ParseInt(g, 10, 64)
		}
		for _, own := range []string{"previous", "tenant", "generation"} {
			delete(options, own)
		}
		password := provision.Password(key, tenant, words[0], generation)
		switch m[1] {
		case "password":
			return password
		case "basic":
			return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
		}
		return s.digest(words[0], tenant, key, password, options)
	})
	return out, failed
}

// digest is a Digest header as a phone would send it, written from RFC 7616 and
// not from the code that judges it.
func (s *Step) digest(mac, tenant, key, password string, options map[string]string) string {
	take := func(name, otherwise string) string {
		value, ok := options[name]
		delete(options, name)
		if !ok {
			return otherwise
		}
		return value
	}
	now, _ := strconv.ParseUint(take("now", strconv.Itoa(defaultNow)), 10, 64)
	method, target := take("method", s.Method), take("target", s.Target)
	password = take("secret", password)
	nonceTenant, nonceKey := take("nonce-tenant", tenant), key
	if _, ok := options["nonce-previous"]; ok {
		delete(options, "nonce-previous")
		nonceKey = Previous
	}
	order := []string{"username", "realm", "nonce", "uri", "algorithm", "response", "qop", "nc", "cnonce"}
	p := map[string]string{
		"username": mac, "realm": provision.Realm, "nonce": provision.Nonce(nonceKey, nonceTenant, now), "uri": target,
		"algorithm": "MD5", "qop": "auth", "nc": "00000001", "cnonce": "0a4f113b",
	}
	for name, value := range options {
		if _, known := p[name]; !known && name != "response" {
			order = append(order, name)
		}
		p[name] = value
	}
	slices.Sort(order[9:])
	md5sum := func(text string) string {
		sum := md5.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	right := md5sum(md5sum(p["username"]+":"+p["realm"]+":"+password) + ":" + p["nonce"] + ":" + p["nc"] + ":" +
		p["cnonce"] + ":" + p["qop"] + ":" + md5sum(method+":"+target))
	switch p["response"] {
	case "":
		p["response"] = right
	case "upper":
		p["response"] = strings.ToUpper(right)
	case "short":
		p["response"] = right[:31]
	case "long":
		p["response"] = right + "0"
	}
	var list []string
	for _, name := range order {
		switch value := p[name]; {
		case value == "":
		case slices.Contains([]string{"algorithm", "qop", "nc", "userhash"}, name):
			list = append(list, name+"="+value)
		default:
			list = append(list, name+`="`+value+`"`)
		}
	}
	return "Digest " + strings.Join(list, ", ")
}

// Runs says whether the case is for this engine.
func (c *Case) Runs(engine string) bool {
	return len(c.Only) == 0 || slices.Contains(c.Only, engine)
}

// Format writes a response the way a case has it, with these parts of the audit
// record behind the outcome.
func Format(r *wire.Response, audit ...string) string {
	var b strings.Builder
	value := func(name string) string {
		for _, p := range r.Audit {
			if p.Name == name {
				return p.Value
			}
		}
		return ""
	}
	fmt.Fprintf(&b, "%d %s", r.Status, value("outcome"))
	for _, name := range audit {
		if v := value(name); v != "" {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	b.WriteString("\n")
	headers := slices.Clone(r.Headers)
	slices.SortFunc(headers, func(a, b wire.Pair) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Value)
	}
	if len(r.Body) > 0 {
		fmt.Fprintf(&b, "\n%s", r.Body)
	}
	return b.String()
}

// Update replaces the responses of the case's file.
func (c *Case) Update(responses []string) error {
	var files []txtar.File
	step := 0
	for i, f := range c.archive.Files {
		if strings.HasPrefix(f.Name, "response") {
			continue
		}
		files = append(files, f)
		if step < len(c.Steps) && c.Steps[step].section == i {
			files = append(files, txtar.File{Name: "response", Data: []byte(responses[step])})
			step++
		}
	}
	return os.WriteFile(c.File, txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: files}), 0o644)
}

// Difference says where two texts part, or "".
func Difference(got, want string) string {
	if got == want {
		return ""
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	around := func(s string) string {
		return strconv.Quote(s[max(0, i-40):min(len(s), i+40)])
	}
	line := 1 + strings.Count(want[:i], "\n")
	return fmt.Sprintf("first difference at byte %d, line %d:\n got %s\nwant %s", i, line, around(got), around(want))
}
