package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"time"
)

// CertificateHeaders are the names of the headers in which a trusted front tells
// what it saw of the phone's client certificate: the result of the verification
// ("SUCCESS", or anything else), and subject and issuer as distinguished names
// (RFC 4514). Of nginx these are $ssl_client_verify, $ssl_client_s_dn and
// $ssl_client_i_dn.
type CertificateHeaders struct{ Verify, Subject, Issuer string }

// certificateFacts adds what is known of the phone's client certificate. Nothing
// is said when nothing is known, and the core takes that for a no.
func (p *phones) certificateFacts(r *http.Request, now time.Time, trusted bool, fact func(name, value string)) {
	h := p.CertHeaders
	switch {
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && p.ClientCAs != nil:
		certificate := r.TLS.PeerCertificates[0]
		fact("cert-presented", "1")
		fact("cert-verified", verify(r.TLS, p.ClientCAs, now))
		fact("cert-subject", certificate.Subject.String())
		fact("cert-issuer", certificate.Issuer.String())
	case trusted && h.Verify != "":
		// Two values would be one of the front and one of the client.
		one := func(name string) string {
			if values := r.Header.Values(name); len(values) == 1 {
				return values[0]
			}
			return ""
		}
		if one(h.Subject) == "" {
			return
		}
		fact("cert-presented", "1")
		fact("cert-verified", one(h.Verify))
		fact("cert-subject", one(h.Subject))
		fact("cert-issuer", one(h.Issuer))
	default:
		return
	}
	// Neither this server nor a front's headers know of revocations; a device is
	// taken out by its state or its generation.
	fact("cert-revoked", "0")
}

func verify(state *tls.ConnectionState, roots *x509.CertPool, now time.Time) string {
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: now,
		// Factory certificates do not all say that they are for clients.
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return "FAILED"
	}
	return "SUCCESS"
}

// ReadAuthorities reads a PEM file of authorities that issue certificates.
func ReadAuthorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New(file + " has no certificate in PEM")
	}
	return pool, nil
}
