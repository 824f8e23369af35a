package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a connection. A phone's whole exchange takes milliseconds; these end
// what is not one.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
	maxHeader     = 128 << 10 // bytes, as much as the edge takes
	// grace is how long requests that have begun may take when the server stops.
	grace = 10 * time.Second
)

// Addresses say where to serve.
type Addresses struct {
	// Listen is for phones, Admin for the operator and off when empty.
	Listen, Admin string
	// Certificate and Key name PEM files; with them phones are served over TLS.
	Certificate, Key string
	// Ready, unless nil, is told the addresses once they are open; admin is nil
	// when off.
	Ready func(phones, admin net.Addr)
}

// Run serves until ctx ends, then lets requests that have begun finish, for ten
// seconds at most. It returns nil after that, or what went wrong.
func (s Site) Run(ctx context.Context, at Addresses) (err error) {
	phones := s.server(s.Handler())
	if at.Certificate != "" || at.Key != "" {
		certificate, err := tls.LoadX509KeyPair(at.Certificate, at.Key)
		if err != nil {
			return fmt.Errorf("tls certificate: %w", err)
		}
		phones.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
		if s.ClientCAs != nil {
			// Asked for and not required, nor judged by the handshake: which
			// tenants want one, the core knows.
			phones.TLSConfig.ClientAuth = tls.RequestClientCert
		}
	}
	listener, err := net.Listen("tcp", at.Listen)
	if err != nil {
		return err
	}
	servers := []*http.Server{phones}
	done := make(chan error, 2)
	var adminAddr net.Addr
	if at.Admin != "" {
		adminListener, err := net.Listen("tcp", at.Admin)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		adminAddr = adminListener.Addr()
		admin := s.server(s.Admin())
		servers = append(servers, admin)
		go func() { done <- admin.Serve(adminListener) }()
	}
	go func() {
		if phones.TLSConfig != nil {
			done <- phones.ServeTLS(listener, "", "")
			return
		}
		done <- phones.Serve(listener)
	}()
	if at.Ready != nil {
		at.Ready(listener.Addr(), adminAddr)
	}

	select {
	case err = <-done:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		s.Log.Info("stopping", "grace", grace.String())
	}
	// Not ctx, which has ended.
	bounded, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, server := range servers {
		if e := server.Shutdown(bounded); e != nil {
			err = errors.Join(err, fmt.Errorf("stop: %w", e), server.Close())
		}
	}
	return err
}

func (s Site) server(handler http.Handler) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// "OPTIONS *" is answered like everything else.
		DisableGeneralOptionsHandler: true,
		Protocols:                    new(http.Protocols),
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	// Phones speak HTTP/1.1, and so do fronts to what is behind them. A second
	// protocol would be a second set of rules for bodies and targets.
	server.Protocols.SetHTTP1(true)
	return server
}
