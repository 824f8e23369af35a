package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/icholy/digest"
	"github.com/spf13/cobra"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/provision"
	"stagger/edge/record"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/inspect"
	"stagger/host/probe"
	"stagger/host/serve"
	"stagger/vendors"
)

// A fetched is one file of one phone, and what there is to say of it. Of the URL it
// has the name of the file alone.
type fetched struct {
	MAC    string `json:"mac,omitempty"`
	File   string `json:"file"`
	Status int    `json:"status,omitempty"`
	Bytes  int    `json:"bytes"`
	Hash   string `json:"hash,omitempty"`
	// Equal is nil where there is nothing to compare with.
	Equal *bool  `json:"equal,omitempty"`
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`

	bad bool
}

func (f *fetched) print(w *world) {
	status, verdict := "-", f.Error
	if f.Status != 0 {
		status = fmt.Sprint(f.Status)
		verdict = "as it should be"
		switch {
		case f.Equal != nil && *f.Equal:
			verdict = "equal"
		case f.bad:
			verdict = "DIFFERENT"
		}
		if f.Note != "" {
			verdict += ": " + f.Note
		}
	}
	fmt.Fprintf(w.stdout, "%-12s  %-32s  %3s  %7d  %-16s  %s\n", f.MAC, f.File, status, f.Bytes, f.Hash, verdict)
}

// A location is the URL of get, taken apart.
type location struct {
	// origin is scheme and host.
	origin              string
	tls                 bool
	tenant, token, file string
}

// locate wants scheme and host, and behind them nothing or what "stagger url" prints.
// Its error does not hold the URL.
func locate(text string) (l location, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.RawPath != "" {
		return l, misuse(errors.New("URL: scheme and host, as in https://prov.example.com, or a URL that stagger url prints"))
	}
	l.origin, l.tls = u.Scheme+"://"+u.Host, u.Scheme == "https"
	if u.Path == "" || u.Path == "/" {
		return l, nil
	}
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return l, misuse(errors.New("URL: its path is not tenant, token and file"))
	}
	l.tenant, l.token, l.file = parts[0], parts[1], parts[2]
	return l, nil
}

// target is that of a request for a file.
func (l *location) target(name string) string { return "/" + l.tenant + "/" + l.token + "/" + name }

// macOf is the MAC in the name of a file, or "".
func macOf(name string) string {
	for i := range vendors.Packs {
		if _, mac := vendors.Packs[i].File(name); record.IsMAC(strings.ToLower(mac)) {
			return strings.ToLower(mac)
		}
	}
	return ""
}

// A visitor is a phone that get plays.
type visitor struct {
	location
	mac, model string
	pack       *pack.Pack
	agent      string
	// device is nil without documents.
	device *inspect.Device
	// auth, user and password are what its tenant asks for.
	auth, user, password string
	client               *http.Client
}

// names are the files that it asks for: the one that the URL names, or all that
// phones of its family ask for, in their order.
func (v *visitor) names() []string {
	if v.file != "" {
		return []string{v.file}
	}
	var names []string
	for i := range v.pack.Files {
		f, mac := &v.pack.Files[i], ""
		if f.MAC {
			mac = v.mac
		}
		names = append(names, strings.ReplaceAll(inspect.FileName(f, mac, v.model), "#", "0"))
	}
	return names
}

// header is what it sends besides Host.
func (v *visitor) header() http.Header {
	h := http.Header{"User-Agent": {v.agent}} // an empty one is not sent
	if v.auth == "basic" {
		h.Set("Authorization", v.basic())
	}
	return h
}

func (v *visitor) basic() string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(v.user, v.password)
	return r.Header.Get("Authorization")
}

// An asker asks for the files of phones.
type asker struct {
	dialer *probe.Dialer
	// documents, core and keys are there for a comparison; documents is nil without.
	documents *documents
	core      engine.Engine
	keys      []string
	// vendor, model and agent are those that the caller names.
	vendor, model, agent string
}

// visitor makes the phone with this MAC, which is empty for a file that has none.
func (a *asker) visitor(ctx context.Context, at location, mac string) (*visitor, error) {
	v := &visitor{location: at, mac: mac, model: a.model}
	if a.vendor != "" {
		if v.pack = provision.Pack(vendors.Packs, a.vendor); v.pack == nil {
			return nil, misuse(fmt.Errorf("--vendor: there is no vendor %q", a.vendor))
		}
	}
	if a.documents != nil && mac != "" {
		d, err := a.documents.find(ctx, mac)
		if err != nil {
			return nil, err
		}
		if at.tenant != "" && at.tenant != d.Tenant {
			return nil, fmt.Errorf("%s is of another tenant than the URL", mac)
		}
		v.device, v.pack, v.model, v.auth, v.tenant = d, d.Pack, d.Model, d.Auth, d.Tenant
		if at.token == "" {
			v.token = provision.OpenToken
			if d.Auth != "open" {
				v.token = provision.Token(a.keys[0], d.Tenant, mac, d.Generation)
			}
		}
		if d.Auth == "basic" || d.Auth == "digest" {
			v.user, v.password = mac, provision.Password(a.keys[0], d.Tenant, mac, d.Generation)
		}
	}
	if v.file == "" && v.pack == nil {
		return nil, misuse(errors.New("--vendor: needed to know which files the phone asks for"))
	}
	var err error
	if v.agent = a.agent; v.agent == "" && v.pack != nil {
		if v.agent, err = agentOf(v.pack.Vendor, v.model, mac); err != nil {
			return nil, err
		}
	}
	user := ""
	if v.auth == "digest" {
		user = v.user
	}
	v.client = a.dialer.Client(user, v.password)
	return v, nil
}

// agentOf is the User-Agent of a phone, as far as its pack knows.
func agentOf(vendor, model, mac string) (string, error) {
	name := vendor + "/pack.json"
	data, err := vendors.Descriptors.ReadFile(name)
	if err != nil {
		return "", err
	}
	d, err := source.Parse(name, data)
	if err != nil {
		return "", err
	}
	return d.Agent(model, mac), nil
}

// fetch asks for one file and judges what comes.
func (a *asker) fetch(ctx context.Context, v *visitor, name string) (*fetched, error) {
	f := &fetched{MAC: v.mac, File: name}
	answer, err := probe.Get(ctx, v.client, v.origin+v.target(name), v.header())
	if err != nil {
		f.Error, f.bad = err.Error(), true
		return f, ctx.Err()
	}
	f.Status, f.Bytes, f.Hash = answer.Status, len(answer.Body), answer.Hash(v.token)
	if a.documents == nil {
		want := 200
		if v.pack != nil {
			if file, _ := v.pack.File(name); file == nil || file.Program == nil {
				want = 404
			}
		}
		if f.bad = answer.Status != want; f.bad {
			f.Note = fmt.Sprintf("should be %d", want)
		}
		return f, nil
	}
	here, err := a.here(ctx, v, name)
	if err != nil {
		return nil, err
	}
	equal := answer.Status == int(here.Status) && bytes.Equal(answer.Body, here.Body)
	f.Equal, f.bad = &equal, !equal
	f.Note = compare(answer, here)
	return f, nil
}

// here is what the core of this program answers.
func (a *asker) here(ctx context.Context, v *visitor, name string) (*wire.Response, error) {
	now := time.Now().Unix()
	r := wire.Request{Now: uint64(max(0, now)), Method: "GET", Target: v.target(name), Keys: a.keys}
	fact := func(name, value string) { r.Facts = append(r.Facts, wire.Pair{Name: name, Value: value}) }
	// What the operator of the site has allowed shows in its answer; here it is.
	if v.tls {
		r.Flags = wire.FlagTLS
	} else {
		fact("plain-http", v.tenant)
	}
	fact("open", v.tenant)
	if v.agent != "" {
		fact("user-agent", v.agent)
	}
	switch v.auth {
	case "basic":
		fact("authorization", v.basic())
	case "digest":
		challenge := digest.Challenge{Realm: provision.Realm, Nonce: provision.Nonce(a.keys[0], v.tenant, r.Now), Algorithm: "MD5", QOP: []string{"auth"}}
		credentials, err := digest.Digest(&challenge, digest.Options{Method: "GET", URI: r.Target, Count: 1, Username: v.user, Password: v.password})
		if err != nil {
			return nil, err
		}
		fact("authorization", credentials.String())
	}
	if c := a.dialer.Certificate; c != nil {
		fact("cert-presented", "1")
		fact("cert-verified", "SUCCESS")
		fact("cert-revoked", "0")
		fact("cert-subject", c.Leaf.Subject.String())
		fact("cert-issuer", c.Leaf.Issuer.String())
	}
	response, err := exchange.Answer(ctx, a.core, a.documents.store, &r)
	return &response, err
}

// watched are headers that phones or caches go by.
var watched = []string{"content-type", "cache-control", "x-content-type-options", "content-encoding"}

// compare says in what two answers differ, without showing either.
func compare(answer *probe.Answer, here *wire.Response) string {
	var notes []string
	switch {
	case answer.Status != int(here.Status):
		notes = append(notes, "here "+refusal(here))
	case !bytes.Equal(answer.Body, here.Body):
		line := 1
		for i := 0; i < len(here.Body) && i < len(answer.Body) && here.Body[i] == answer.Body[i]; i++ {
			if here.Body[i] == '\n' {
				line++
			}
		}
		notes = append(notes, fmt.Sprintf("from line %d on, %d bytes here", line, len(here.Body)))
	}
	for _, name := range watched {
		want := ""
		for _, h := range here.Headers {
			if h.Name == name {
				want = h.Value
			}
		}
		if answer.Status == int(here.Status) && answer.Header.Get(name) != want {
			notes = append(notes, "header "+name+" differs")
		}
	}
	return strings.Join(notes, "; ")
}

func getCommand(w *world) *cobra.Command {
	var (
		from                       sourceFlags
		core                       engineFlags
		ask                        asker
		authorities, cert, certKey string
		timeout                    time.Duration
		asJSON                     bool
	)
	c := &cobra.Command{
		Use:   "get URL [MAC...]",
		Short: "fetch files from a running site as a phone would, and compare them",
		Long: `Asks a running site, the Worker or "stagger serve", for the files of phones: over
HTTP/1.1, with the User-Agent of the family, for every file that its phones ask for
and in their order, those that are deliberately not there included. It prints status,
bytes and a hash for each, and with documents (--fleet or --kv) whether status and
bytes are those that the core here gives: an operator's check after a deploy.

With documents URL is scheme and host alone. The token comes from the master key, and
so do user and password where a tenant asks for Basic or Digest. Without a MAC all
devices of the fleet file are asked for, one after the other. URL may also be a
device's own (stagger url), or that of one of its files; then no documents are needed,
but --vendor to know the files, and the check is that all are there that should be.
A URL on a command line can be seen by others on this machine.

No token, password or file is printed. The hash is seeded with the token: the same
for the same file at the same URL, and no help in guessing what is in it.

Exit status 1 when a file is not what it should be, or there is no answer.

--json prints one JSON object a line: mac file status bytes hash equal note error.`,
		Example: `  stagger get https://prov.example.com 001565aabb01 --fleet fleet.jsonl
  stagger get https://prov.example.com 001565aabb01 --kv wrangler:FLEET --tenant demo
  stagger get http://127.0.0.1:8080 --fleet fleet.jsonl --json
  stagger get "$(stagger url --fleet fleet.jsonl 001565aabb01 | cut -f2)" 001565aabb01 --vendor yealink --model T46U`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			at, err := locate(args[0])
			if err != nil {
				return err
			}
			macs := make([]string, len(args)-1)
			for i, arg := range args[1:] {
				if macs[i], err = parseMAC(arg); err != nil {
					return err
				}
			}
			switch {
			case timeout <= 0:
				return misuse(errors.New("--timeout: a time, as in 10s"))
			case (cert == "") != (certKey == ""):
				return misuse(errors.New("--client-cert and --client-key belong together"))
			case from.given() && ask.vendor+ask.model != "":
				return misuse(errors.New("--vendor and --model have no meaning with documents, which have them"))
			case !from.given() && at.token == "":
				return misuse(errors.New("the token is missing: give documents (--fleet or --kv), or the URL of a device"))
			case at.file != "" && len(macs) > 0, at.token != "" && at.file == "" && len(macs) != 1:
				return misuse(errors.New("with the URL of a device its MAC is required, and with that of a file none"))
			}
			if at.file != "" {
				macs = []string{macOf(at.file)}
			}
			ask.dialer = &probe.Dialer{Timeout: timeout}
			if authorities != "" {
				if ask.dialer.Roots, err = serve.ReadAuthorities(authorities); err != nil {
					return fmt.Errorf("--ca: %w", err)
				}
			}
			if cert != "" {
				pair, err := tls.LoadX509KeyPair(cert, certKey)
				if err != nil {
					return fmt.Errorf("--client-cert: %w", err)
				}
				ask.dialer.Certificate = &pair
			}
			if from.given() {
				if ask.keys, err = from.keys.read(w); err != nil {
					return err
				}
				if ask.documents, err = from.open(w); err != nil {
					return err
				}
				if len(macs) == 0 {
					if macs, err = ask.documents.macs(); err != nil {
						return err
					}
				}
				if ask.core, err = core.open(c.Context(), w); err != nil {
					return err
				}
				defer ask.core.Close(context.Background())
			}
			return ask.run(c.Context(), w, at, macs, asJSON)
		},
	}
	flags := c.Flags()
	flags.StringVar(&ask.vendor, "vendor", "", "vendor of the phone, without documents")
	flags.StringVar(&ask.model, "model", "", "model of the phone, without documents")
	flags.StringVar(&ask.agent, "user-agent", "", "User-Agent to send (default: one of the family)")
	flags.StringVar(&authorities, "ca", "", "PEM file with the authorities of the site's certificate (default: those of this machine)")
	flags.StringVar(&cert, "client-cert", "", "PEM file with a phone's certificate")
	flags.StringVar(&certKey, "client-key", "", "PEM file with the key of --client-cert")
	flags.DurationVar(&timeout, "timeout", 10*time.Second, "how long a request may take")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line, one for each file")
	from.add(c)
	core.add(c)
	return c
}

// run asks for all files of all phones.
func (a *asker) run(ctx context.Context, w *world, at location, macs []string, asJSON bool) error {
	show, clear := w.progress()
	defer clear()
	encoder := json.NewEncoder(w.stdout)
	files, bad := 0, 0
	for i, mac := range macs {
		v, err := a.visitor(ctx, at, mac)
		if err != nil {
			return err
		}
		for _, name := range v.names() {
			f, err := a.fetch(ctx, v, name)
			if err != nil {
				return err
			}
			files++
			if f.bad {
				bad++
			}
			clear()
			if asJSON {
				if err := encoder.Encode(f); err != nil {
					return err
				}
			} else {
				f.print(w)
			}
		}
		v.client.CloseIdleConnections()
		show("asking", float64(i+1)/float64(len(macs)))
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files are not what they should be", bad, files)
	}
	clear()
	fmt.Fprintf(w.stderr, "%d files of %d phones, all as they should be\n", files, len(macs))
	return nil
}
