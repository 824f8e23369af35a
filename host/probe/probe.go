// Package probe asks a running site for files the way a phone does, and says in
// words why it got none.
//
// It owns what is sent and what an operator may see of an answer. It must never
// follow a redirect (phones with a token in their path must not be sent elsewhere
// with it), and never put a URL, which holds the token, or a byte of a file or a
// password into an error.
package probe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/icholy/digest"
)

// maxBody is the largest file in bytes that is read. No phone takes one of that size.
const maxBody = 1 << 20

// A Dialer is how sites are reached.
type Dialer struct {
	// Roots, unless nil, are the only authorities of a site's certificate.
	Roots *x509.CertPool
	// Certificate, unless nil, is the phone's own.
	Certificate *tls.Certificate
	// Timeout is that of a whole request.
	Timeout time.Duration
}

// Client makes the client of one phone, who answers a Digest challenge with user and
// password unless user is empty.
func (d *Dialer) Client(user, password string) *http.Client {
	t := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: d.Roots},
		// A phone announces no compression, and sees one that is there all the same.
		DisableCompression: true,
		Protocols:          new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true) // which is what phones speak
	if d.Certificate != nil {
		t.TLSClientConfig.Certificates = []tls.Certificate{*d.Certificate}
	}
	c := &http.Client{
		Transport:     t,
		Timeout:       d.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if user != "" {
		c.Transport = &digest.Transport{Username: user, Password: password, Transport: t}
	}
	return c
}

// An Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Hash tells bodies apart. It is seeded with the secret of the URL, so that it can be
// shown: it is no help in guessing a password of the file.
func (a *Answer) Hash(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(a.Body)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Get asks once for what lies at a URL.
func Get(ctx context.Context, client *http.Client, at string, header http.Header) (*Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return nil, words(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, words(err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	return &Answer{response.StatusCode, response.Header, body}, nil
}

// words says why there is no answer. The error of net/http would hold the URL.
func words(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	var (
		timeout   net.Error
		lookup    *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		network   *net.OpError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return errors.New("there is no host of that name")
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nobody listens there: connection refused")
	case errors.As(err, &authority):
		return errors.New("tls: the certificate is from no authority that is known here")
	case errors.As(err, &host):
		return errors.New("tls: the certificate is for another host name")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("tls: the certificate has expired, or is not valid yet")
	case errors.As(err, &invalid):
		return errors.New("tls: the certificate is not one for a server of this name")
	case errors.As(err, &record), err.Error() == "http: server gave HTTP response to HTTPS client":
		return errors.New("tls: what answers there does not speak TLS: is it http?")
	case errors.As(err, &alert):
		return fmt.Errorf("tls: the server ends the handshake: %w", alert)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return errors.New("the connection ended before the answer did")
	case errors.As(err, &network):
		return fmt.Errorf("no connection: %w", network)
	}
	// Such an error quotes what was sent.
	return errors.New("what answers there does not speak HTTP")
}
