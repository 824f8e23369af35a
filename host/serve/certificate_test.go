package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"stagger/edge/wire"
)

// authority makes certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	a := authority{}
	a.certificate, a.key = issue(t, name, nil)
	return a
}

func issue(t *testing.T, name string, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{"Example"}},
		NotBefore: time.Unix(1_700_000_000, 0), NotAfter: time.Unix(1_900_000_000, 0),
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func TestCertificateFacts(t *testing.T) {
	ours, other := newAuthority(t, "Phone CA"), newAuthority(t, "Other CA")
	good, _ := issue(t, "001565aabb01", &ours)
	foreign, _ := issue(t, "001565aabb01", &other)
	pool := x509.NewCertPool()
	pool.AddCert(ours.certificate)
	headers := CertificateHeaders{"X-Verify", "X-Subject", "X-Issuer"}
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name    string
		tls     *x509.Certificate
		headers [][2]string
		peer    string
		now     time.Time
		want    map[string]string
	}{
		{"own TLS", good, nil, "192.0.2.1:1", now,
			map[string]string{"cert-presented": "1", "cert-verified": "SUCCESS", "cert-revoked": "0", "cert-subject": "CN=001565aabb01,O=Example", "cert-issuer": "CN=Phone CA,O=Example"}},
		{"of another authority", foreign, nil, "192.0.2.1:1", now,
			map[string]string{"cert-presented": "1", "cert-verified": "FAILED", "cert-revoked": "0", "cert-subject": "CN=001565aabb01,O=Example", "cert-issuer": "CN=Other CA,O=Example"}},
		{"out of date", good, nil, "192.0.2.1:1", time.Unix(1_950_000_000, 0),
			map[string]string{"cert-presented": "1", "cert-verified": "FAILED", "cert-revoked": "0", "cert-subject": "CN=001565aabb01,O=Example", "cert-issuer": "CN=Phone CA,O=Example"}},
		{"none", nil, nil, "192.0.2.1:1", now, map[string]string{}},
		{"headers of a trusted front", nil, [][2]string{{"X-Verify", "SUCCESS"}, {"X-Subject", "CN=a"}, {"X-Issuer", "CN=b"}}, "10.0.0.1:1", now,
			map[string]string{"cert-presented": "1", "cert-verified": "SUCCESS", "cert-revoked": "0", "cert-subject": "CN=a", "cert-issuer": "CN=b"}},
		{"headers of anybody", nil, [][2]string{{"X-Verify", "SUCCESS"}, {"X-Subject", "CN=a"}, {"X-Issuer", "CN=b"}}, "192.0.2.1:1", now, map[string]string{}},
		{"a header twice", nil, [][2]string{{"X-Verify", "SUCCESS"}, {"X-Verify", "SUCCESS"}, {"X-Subject", "CN=a"}, {"X-Issuer", "CN=b"}}, "10.0.0.1:1", now,
			map[string]string{"cert-presented": "1", "cert-revoked": "0", "cert-subject": "CN=a", "cert-issuer": "CN=b"}},
		{"a front that saw none", nil, [][2]string{{"X-Verify", "NONE"}, {"X-Subject", ""}}, "10.0.0.1:1", now, map[string]string{}},
	} {
		p := &phones{Site: Site{ClientCAs: pool, CertHeaders: headers, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.tls != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.tls}}
		}
		for _, h := range c.headers {
			r.Header.Add(h[0], h[1])
		}
		var request wire.Request
		p.fill(&request, r, c.now, p.trusts(peerOf(r)))
		got := map[string]string{}
		for _, f := range request.Facts {
			got[f.Name] = f.Value
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got[name], want)
			}
		}
		for _, name := range []string{"cert-presented", "cert-verified", "cert-revoked", "cert-subject", "cert-issuer"} {
			if _, ok := c.want[name]; !ok && got[name] != "" {
				t.Errorf("%s: %s is %q and should not be said", c.name, name, got[name])
			}
		}
	}
}
