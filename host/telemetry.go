package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stagger/host/telemetry"
)

// telemetryBuffer is the memory for records that are not in the spool yet, in
// bytes: 20,000 of them.
const telemetryBuffer = 8 << 20

// telemetryFlags say where the records of requests go.
type telemetryFlags struct {
	to, kind, spool, headerFile string
	interval                    time.Duration
	spoolMiB                    int64
	perMinute                   bool

	url    *url.URL // nil for a file
	header http.Header
}

func (f *telemetryFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.to, "telemetry", "", "URL that a record of every request is sent to, or file that it is appended to (default: off)")
	flags.StringVar(&f.kind, "telemetry-kind", "", "what the URL takes: otlp, logs of OTLP over HTTP, or ndjson, lines of JSON (default: otlp)")
	flags.DurationVar(&f.interval, "telemetry-interval", time.Minute, "time between two flushes, the first after a random part of it")
	flags.StringVar(&f.spool, "telemetry-spool", "", "folder for records that wait, of this process alone (default for a file: its name with .spool)")
	flags.Int64Var(&f.spoolMiB, "telemetry-spool-mib", 64, "size of the spool in MiB; when it is full the oldest records go")
	flags.BoolVar(&f.perMinute, "telemetry-per-minute", false, "one record for the requests of a minute that are alike, without MACs")
	flags.StringVar(&f.headerFile, "telemetry-header-file", "", "file with the headers that the URL wants, one a line (default: $"+telemetry.HeaderVariable+")")
}

// read judges the flags. It touches nothing.
func (f *telemetryFlags) read(w *world, c *cobra.Command) error {
	if f.to == "" {
		for _, name := range []string{"kind", "interval", "spool", "spool-mib", "per-minute", "header-file"} {
			if c.Flags().Changed("telemetry-" + name) {
				return misuse(fmt.Errorf("--telemetry-%s has no meaning without --telemetry", name))
			}
		}
		return nil
	}
	if f.interval < telemetry.MinInterval || f.interval > telemetry.MaxInterval {
		return misuse(fmt.Errorf("--telemetry-interval: from %s to %s", telemetry.MinInterval, telemetry.MaxInterval))
	}
	if f.spoolMiB < telemetry.MinSpool>>20 || f.spoolMiB > 1<<20 {
		return misuse(fmt.Errorf("--telemetry-spool-mib: from %d to %d", telemetry.MinSpool>>20, 1<<20))
	}
	if !strings.Contains(f.to, "://") {
		if f.kind != "" || f.headerFile != "" {
			return misuse(errors.New("--telemetry: a file has no kind and no headers; a URL begins with http:// or https://"))
		}
		if f.spool == "" {
			f.spool = f.to + ".spool"
		}
		return nil
	}
	var err error
	if f.url, err = telemetry.ParseURL(f.to); err != nil {
		return misuse(fmt.Errorf("--telemetry %w", err))
	}
	switch f.kind {
	case "", "otlp", "ndjson":
	default:
		return misuse(errors.New("--telemetry-kind: otlp or ndjson"))
	}
	if f.spool == "" {
		return misuse(errors.New("--telemetry with a URL needs --telemetry-spool, a folder where records wait while it is away"))
	}
	if f.header, err = telemetry.ReadHeader(w.getenv, f.headerFile); err != nil {
		return misuse(err)
	}
	return nil
}

// start begins, or returns nil when telemetry is off.
func (f *telemetryFlags) start(log *slog.Logger) (*telemetry.Recorder, error) {
	if f.to == "" {
		return nil, nil
	}
	var (
		sink telemetry.Sink
		to   string
		err  error
	)
	switch {
	case f.url == nil:
		to = f.to
		sink, err = telemetry.NewFile(f.to)
	case f.kind == "ndjson":
		to = f.url.Host
		sink = telemetry.NewNDJSON(f.url, f.header)
	default:
		to = f.url.Host
		if sink, err = telemetry.NewOTLP(f.url, f.header); err != nil {
			err = misuse(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--telemetry %w", err)
	}
	if f.url != nil && f.url.Scheme == "http" && len(f.header) > 0 && !loopback(f.url.Hostname()) {
		log.Warn("telemetry goes over plain HTTP: everyone on the way sees its records and its header", "to", to)
	}
	r, err := telemetry.Start(telemetry.Options{
		Sink: sink, Interval: f.interval, Spool: f.spool, SpoolLimit: f.spoolMiB << 20,
		Buffer: telemetryBuffer, PerMinute: f.perMinute, Log: log,
	})
	if err != nil {
		return nil, err
	}
	log.Info("telemetry", "to", to, "interval", f.interval.String(), "first", r.First().Round(time.Millisecond).String(),
		"waiting", r.Stats().Spooled)
	return r, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
