package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagger/edge/provision"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/serve"
	"stagger/vendors"
)

const getFleet = `{"tenant":"demo","url":"https://prov.example.com","vendor":"yealink","model":"T46U","line":{"server":"pbx.example.com"}}
{"device":"001565aabb01","tenant":"demo","lines":[{"user":"1001","password":"SECRET1"}]}
{"tenant":"basic","url":"https://prov.example.com","auth":"basic","vendor":"yealink","model":"T46U","line":{"server":"pbx.example.com"}}
{"device":"001565aabb02","tenant":"basic","lines":[{"user":"1002","password":"SECRET2"}]}
{"tenant":"digest","url":"https://prov.example.com","auth":"digest","vendor":"snom","model":"D785","line":{"server":"pbx.example.com"}}
{"device":"000413aabb03","tenant":"digest","lines":[{"user":"1003","password":"SECRET3"}]}
{"tenant":"open","url":"https://prov.example.com","auth":"open","vendor":"polycom","model":"VVX450","line":{"server":"pbx.example.com"}}
{"device":"0004f2aabb04","tenant":"open","lines":[{"user":"1004","password":"SECRET4"}]}
`

// running is a site that serves a fleet, and what it was asked for.
type running struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	agents map[string]bool
}

// serving serves a fleet over TLS or without. change may change an answer on its way.
func serving(t *testing.T, documents string, overTLS bool, change func(http.Handler) http.Handler) *running {
	t.Helper()
	store, err := fleet.Read("f", strings.NewReader(documents), nil)
	if err != nil {
		t.Fatal(err)
	}
	handler := serve.Site{
		Core: engine.NewNative(1), Store: store, Keys: []string{strings.Repeat("\x5e", 32)},
		Open: []string{"open"}, PlainHTTP: []string{"demo"}, Log: slog.New(slog.DiscardHandler),
	}.Handler()
	if change != nil {
		handler = change(handler)
	}
	r := &running{agents: map[string]bool{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, request.Proto+" "+request.URL.Path[strings.LastIndexByte(request.URL.Path, '/')+1:])
		r.agents[request.UserAgent()] = true
		r.mu.Unlock()
		handler.ServeHTTP(w, request)
	}))
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if overTLS {
		r.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

// authority writes the certificate of a test's server to a file.
func (r *running) authority(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// get runs get and reads what it prints. Nothing that is secret may be in it.
func (m *machine) get(t *testing.T, args ...string) (status int, files []fetched, errs string) {
	t.Helper()
	status, out, errs := m.do(append([]string{"get", "--engine", "native", "--json"}, args...)...)
	for line := range strings.Lines(out) {
		var f fetched
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		files = append(files, f)
	}
	clean(t, out+errs)
	return status, files, errs
}

func clean(t *testing.T, text string) {
	t.Helper()
	key := strings.Repeat("\x5e", 32)
	for tenant, mac := range map[string]string{"demo": "001565aabb01", "basic": "001565aabb02", "digest": "000413aabb03"} {
		for _, secret := range []string{"SECRET", masterKey, provision.Token(key, tenant, mac, 0), provision.Password(key, tenant, mac, 0)} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, text)
			}
		}
	}
}

func fleetFile(t *testing.T, documents string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fleet.jsonl")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A site that serves the same fleet is equal in everything, whatever its tenants ask
// for, and was asked as the phones ask.
func TestGetEqual(t *testing.T) {
	m := newMachine(t)
	site := serving(t, getFleet, true, nil)
	status, files, errs := m.get(t, site.URL, "--ca", site.authority(t), "--fleet", fleetFile(t, getFleet))
	if status != 0 || !strings.Contains(errs, "of 4 phones, all as they should be") {
		t.Fatalf("status %d: %s", status, errs)
	}
	served := 0
	for _, f := range files {
		if f.Equal == nil || !*f.Equal || f.Note != "" || f.Error != "" || len(f.Hash) != 16 {
			t.Errorf("%+v", f)
		}
		if f.Status == 200 {
			served++
		} else if f.Status != 404 {
			t.Errorf("%+v", f)
		}
	}
	if served != 7 { // two of each Yealink and of the Polycom, one of the Snom
		t.Errorf("%d files with a body", served)
	}
	want := []string{"HTTP/1.1 001565aabb01.boot", "HTTP/1.1 001565aabb01.cfg", "HTTP/1.1 y000000000000.boot", "HTTP/1.1 y000000000000.cfg", "HTTP/1.1 001565aabb01-local.cfg"}
	at := slices.Index(site.asked, want[0])
	if at < 0 || !slices.Equal(site.asked[at:at+len(want)], want) {
		t.Errorf("asked for %q, want %q", site.asked, want)
	}
	for _, agent := range []string{
		"Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:01", "Mozilla/4.0 (compatible; snomD785-SIP 10.1.169.16 000413AABB03)",
		"FileTransport PolycomVVX-VVX_450-UA/5.9.7.47435 (SN:0004f2aabb04) Type/Application",
	} {
		if !site.agents[agent] {
			t.Errorf("nobody asked as %q: %v", agent, site.agents)
		}
	}
}

// render shows what a phone shows, whatever its tenant asks for.
// A site that wants a phone's certificate gets the one that it was given.
func TestGetClientCertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "001565aabb01"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: certificate}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	site := serving(t, getFleet, true, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.PeerCertificates) != 1 || r.TLS.PeerCertificates[0].Subject.CommonName != "001565aabb01" {
				http.Error(w, "no certificate", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	m := newMachine(t)
	ask := []string{site.URL, "001565aabb01", "--ca", site.authority(t), "--fleet", fleetFile(t, getFleet)}
	if status, _, errs := m.get(t, ask...); status != 1 {
		t.Errorf("without a certificate: status %d: %s", status, errs)
	}
	if status, _, errs := m.get(t, append(ask, "--client-cert", certFile, "--client-key", keyFile)...); status != 0 {
		t.Errorf("with it: status %d: %s", status, errs)
	}
	if status, _, errs := m.get(t, append(ask, "--client-cert", keyFile, "--client-key", certFile)...); status != 1 || !strings.Contains(errs, "--client-cert: ") {
		t.Errorf("the wrong way round: status %d: %s", status, errs)
	}
}

func TestRenderWithCredentials(t *testing.T) {
	m := newMachine(t)
	file := fleetFile(t, getFleet)
	for mac, password := range map[string]string{"001565aabb01": "SECRET1", "001565aabb02": "SECRET2", "000413aabb03": "SECRET3", "0004f2aabb04": "SECRET4"} {
		if status, out, errs := m.do("render", "--engine", "native", "--fleet", file, mac); status != 0 || !strings.Contains(out, password) {
			t.Errorf("%s: status %d, %s", mac, status, errs)
		}
	}
}

// Whatever is different at the site is a finding.
func TestGetDifferent(t *testing.T) {
	edited := func(old, new string) string { return strings.Replace(getFleet, old, new, 1) }
	body := func(write func(w http.ResponseWriter, body []byte, status int)) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorder := httptest.NewRecorder()
				h.ServeHTTP(recorder, r)
				for name, values := range recorder.Header() {
					w.Header()[name] = values
				}
				write(w, recorder.Body.Bytes(), recorder.Code)
			})
		}
	}
	for name, c := range map[string]struct {
		documents string
		change    func(http.Handler) http.Handler
		equal     bool
		note      string
	}{
		"another password": {edited("SECRET1", "SECRETX"), nil, false, `^from line \d+ on, \d+ bytes here$`},
		"a shorter file": {getFleet, body(func(w http.ResponseWriter, b []byte, status int) {
			w.Header().Set("Content-Length", fmt.Sprint(len(b)/2))
			w.WriteHeader(status)
			_, _ = w.Write(b[:len(b)/2])
		}), false, `^from line \d+ on, \d+ bytes here$`},
		"revoked": {edited(`"device":"001565aabb01",`, `"device":"001565aabb01","generation":1,`), nil, false, `^here the phone gets 200 \(ok\)$`},
		"a header": {getFleet, body(func(w http.ResponseWriter, b []byte, status int) {
			w.Header().Set("Cache-Control", "public")
			w.WriteHeader(status)
			_, _ = w.Write(b)
		}), true, `^header cache-control differs$`},
		"a redirect": {getFleet, func(http.Handler) http.Handler { return http.RedirectHandler("https://example.com/x", 302) }, false, `^here the phone gets 200 \(ok\)$`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			site := serving(t, c.documents, false, c.change)
			status, files, errs := m.get(t, site.URL, "001565aabb01", "--fleet", fleetFile(t, getFleet))
			at := slices.IndexFunc(files, func(f fetched) bool { return f.File == "001565aabb01.cfg" })
			if at < 0 || files[at].Equal == nil || *files[at].Equal != c.equal || !regexp.MustCompile(c.note).MatchString(files[at].Note) || (status == 0) != c.equal {
				t.Errorf("status %d: %+v %s", status, files, errs)
			}
		})
	}
}

// Why there is no answer is said in words, without the URL.
func TestGetNoAnswer(t *testing.T) {
	site, plain := serving(t, getFleet, true, nil), serving(t, getFleet, false, nil)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	hangs := serving(t, getFleet, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	drops := serving(t, getFleet, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	endless := serving(t, getFleet, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown authority": {[]string{site.URL}, "tls: the certificate is from no authority that is known here"},
		"another name":      {[]string{strings.Replace(site.URL, "127.0.0.1", "localhost", 1), "--ca", site.authority(t)}, "tls: the certificate is for another host name"},
		"no TLS there":      {[]string{strings.Replace(plain.URL, "http:", "https:", 1)}, "tls: what answers there does not speak TLS: is it http?"},
		"nobody":            {[]string{"http://" + address}, "nobody listens there: connection refused"},
		"no answer in time": {[]string{hangs.URL, "--timeout", "50ms"}, "no answer in time"},
		"hangs up":          {[]string{drops.URL}, "the connection ended before the answer did"},
		"too large":         {[]string{endless.URL}, "the answer is larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			status, files, errs := m.get(t, append(c.args, "001565aabb01", "--fleet", fleetFile(t, getFleet))...)
			if status != 1 || len(files) != 5 || files[0].Error != c.want || files[0].Equal != nil {
				t.Errorf("status %d: %+v %s", status, files, errs)
			}
		})
	}
}

// Without documents the URL is enough.
func TestGetWithoutDocuments(t *testing.T) {
	m := newMachine(t)
	site := serving(t, getFleet, false, nil)
	url := site.URL + "/demo/" + provision.Token(strings.Repeat("\x5e", 32), "demo", "001565aabb01", 0) + "/"
	delete(m.env, "STAGGER_MASTER_KEY")
	status, files, errs := m.get(t, url, "001565aabb01", "--vendor", "yealink", "--model", "T46U")
	if status != 0 || len(files) != 5 || files[1].Status != 200 || files[1].Equal != nil || files[2].Status != 404 {
		t.Errorf("status %d: %+v %s", status, files, errs)
	}
	hash := files[1].Hash
	if status, files, errs = m.get(t, url+"001565aabb01.cfg"); status != 0 || len(files) != 1 || files[0].Hash != hash || files[0].MAC != "001565aabb01" {
		t.Errorf("one file: status %d: %+v %s", status, files, errs)
	}
	if status, files, _ = m.get(t, strings.Replace(url, "/demo/", "/demo2/", 1)+"001565aabb01.cfg"); status != 1 || len(files) != 1 || files[0].Note != "should be 200" {
		t.Errorf("a wrong URL: status %d: %+v", status, files)
	}
	status, out, errs := m.do("get", url, "001565aabb01", "--vendor", "yealink")
	if status != 0 || !strings.Contains(out, "001565aabb01.cfg") || !strings.Contains(out, "as it should be") {
		t.Errorf("for people: status %d: %s%s", status, out, errs)
	}
	clean(t, out+errs)
}

func TestGetMisuse(t *testing.T) {
	m := newMachine(t)
	token := strings.Repeat("a", 30)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"prov.example.com"}, "URL: scheme and host"},
		{[]string{"ftp://h/" + token}, "URL: scheme and host"},
		{[]string{"https://u:" + token + "@h"}, "URL: scheme and host"},
		{[]string{"https://h/x/" + token + "/?" + token}, "URL: scheme and host"},
		{[]string{"https://h/" + token}, "URL: its path is not tenant, token and file"},
		{[]string{"https://h"}, "the token is missing"},
		{[]string{"https://h/t/" + token + "/"}, "its MAC is required"},
		{[]string{"https://h/t/" + token + "/", "001565aabb01"}, "--vendor: needed"},
		{[]string{"https://h/t/" + token + "/", "001565aabb01", "--vendor", "nobody"}, `--vendor: there is no vendor "nobody"`},
		{[]string{"https://h/t/" + token + "/001565aabb01.cfg", "001565aabb01"}, "with that of a file none"},
		{[]string{"https://h", "--fleet", m.fleet, "--vendor", "yealink"}, "--vendor and --model have no meaning"},
		{[]string{"https://h", "--fleet", m.fleet, "--timeout", "0s"}, "--timeout: "},
		{[]string{"https://h", "--fleet", m.fleet, "--client-cert", "x"}, "belong together"},
		{[]string{"https://h", "--fleet", m.fleet, "--kv", "wrangler:FLEET", "--tenant", "demo"}, "--fleet and --kv: one of them"},
		{[]string{"https://h", "--kv", "FLEET", "--tenant", "demo"}, "--kv: wrangler:BINDING"},
		{[]string{"https://h", "--kv", "wrangler:FLEET"}, "--tenant: the name"},
		{[]string{"https://h", "--kv", "wrangler:FLEET", "--tenant", "demo"}, "with --kv a MAC is required"},
		{[]string{"https://h", "--fleet", m.fleet, "--tenant", "demo"}, "have no meaning without --kv"},
	} {
		status, out, errs := m.do(append([]string{"get"}, c.args...)...)
		if status != 2 || !strings.Contains(errs, c.want) || out != "" || strings.Contains(errs, token) {
			t.Errorf("%q: status %d, %s%s", c.args, status, out, errs)
		}
	}
}

// What get asks as is what the site takes for a phone of the model.
func TestAgents(t *testing.T) {
	for i := range vendors.Packs {
		p := &vendors.Packs[i]
		agent, err := agentOf(p.Vendor, p.Models[0].Name, "001565aabb01")
		if m, _ := p.Agent(agent, &p.Models[0]); err != nil || m != &p.Models[0] {
			t.Errorf("%s: %q, %v", p.Vendor, agent, err)
		}
	}
}
