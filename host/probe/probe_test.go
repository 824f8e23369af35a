package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
)

// What is said of an error holds neither the URL nor what a server has sent.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "SECRET", IsNotFound: true}, "there is no host of that name"},
		{&net.DNSError{Err: "i/o timeout", Name: "h", IsTimeout: true}, "no answer in time"},
		{context.DeadlineExceeded, "no answer in time"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("network is unreachable")}, "no connection: dial tcp: network is unreachable"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "tls: the certificate has expired, or is not valid yet"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}}, "tls: the certificate is not one for a server of this name"},
		{fmt.Errorf("remote error: %w", tls.AlertError(42)), "tls: the server ends the handshake: tls: bad certificate"},
		{errors.New(`malformed HTTP response "SECRET"`), "what answers there does not speak HTTP"},
	} {
		got := words(&url.Error{Op: "Get", URL: "https://h/t/SECRET/", Err: c.err})
		if got.Error() != c.want || strings.Contains(got.Error(), "SECRET") {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
