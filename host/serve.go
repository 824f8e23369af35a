package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"stagger/edge/record"
	"stagger/host/engine"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/masterkey"
	"stagger/host/serve"
	"stagger/host/telemetry"
	"stagger/vendors"
)

// engineFlags choose what runs the core.
type engineFlags struct {
	engine, wasm, cache string
	instances           int
}

func (f *engineFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.engine, "engine", "wazero", "what runs the core: wazero, with the module of the edge, or native, the one in this program")
	flags.StringVar(&f.wasm, "wasm", "", "module to run (default: edge.wasm beside this program)")
	flags.StringVar(&f.cache, "cache", "", "folder for compiled modules, worth it for one that Go built")
	flags.IntVar(&f.instances, "instances", 0, "instances of the core at most (default: one for each processor)")
}

// open makes the engine.
func (f *engineFlags) open(ctx context.Context, w *world) (engine.Engine, error) {
	if f.instances < 0 || f.instances > 1024 {
		return nil, misuse(errors.New("--instances: from 1 to 1024, or 0 for one for each processor"))
	}
	switch f.engine {
	case "native":
		if f.wasm != "" {
			return nil, misuse(errors.New("--wasm has no meaning with --engine native"))
		}
		return engine.NewNative(f.instances), nil
	case "wazero":
	default:
		return nil, misuse(errors.New("--engine: wazero or native"))
	}
	path := f.wasm
	if path == "" {
		executable, err := w.executable()
		if err != nil {
			return nil, fmt.Errorf("find edge.wasm beside this program: %w; name it with --wasm", err)
		}
		path = filepath.Join(filepath.Dir(executable), "edge.wasm")
	}
	module, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && f.wasm == "" {
		return nil, fmt.Errorf("no module at %s: make it with make wasm, name another with --wasm, or take --engine native", path)
	} else if err != nil {
		return nil, fmt.Errorf("read the module: %w", err)
	}
	core, err := engine.NewWasm(ctx, module, engine.WasmOptions{Size: f.instances, CacheDir: f.cache})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return core, nil
}

// keyFlags name the files of the master keys.
type keyFlags struct{ current, previous string }

func (f *keyFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.current, "master-key-file", "", "file with the master key in hexadecimal (default: $"+masterkey.Variable+")")
	flags.StringVar(&f.previous, "previous-key-file", "", "file with the master key before it (default: $"+masterkey.VariablePrevious+")")
}

func (f *keyFlags) read(w *world) ([]string, error) {
	keys, err := masterkey.Read(w.getenv, f.current, f.previous)
	if err != nil {
		return nil, misuse(err)
	}
	return keys, nil
}

// lookEvery is how often serve looks whether its fleet file has changed.
const lookEvery = 2 * time.Second

func serveCommand(w *world) *cobra.Command {
	var (
		core            engineFlags
		keys            keyFlags
		records         telemetryFlags
		fleetFile       string
		at              serve.Addresses
		plainHTTP, open []string
		proxies         []string
		logFormat       string
		clientCA        string
		certHeaders     []string
		hosts           []string
		admit, burst    float64
		requireSealed   bool
	)
	c := &cobra.Command{
		Use:   "serve --fleet FILE",
		Short: "serve a fleet's configuration files over HTTP",
		Long: `Serves the configuration files of a fleet over HTTP: the same core and the same
bytes as at the edge, for phones that cannot reach one.

The master key comes from the environment or a file, never from a flag. Requests are
logged to standard error.

The fleet is read again on SIGHUP, and when its file has changed and stays as it is for
a few seconds. It takes the place of the one before as a whole, and each request gets all
its documents from one of them. A fleet with an error is refused and logged, and the one
before stays. Standard input is read once.

With --admit that many phones a second are let in, and the others get 503 with a
Retry-After of their own, so that they come again at a rate and not together (see
"stagger drain"). A phone that was let in gets all files of its check-in. Tenants
share the rate fairly. Few vendors say that their phones obey Retry-After; a phone
that does not comes when it likes, and is let in or not.

With --telemetry a record of every request, the line of the log, goes to an
OpenTelemetry Collector, to a URL as lines of JSON, or into a file, all of a minute
together. The first flush comes after a random part of the interval, so that hosts
that were started together do not meet at the sink. A record is in the spool from
its flush until the sink has it: a process that is stopped loses none, one that is
killed those since its last flush. Headers of the sink, such as Authorization, come
from $` + telemetry.HeaderVariable + ` or a file.`,
		Example: `  export STAGGER_MASTER_KEY=$(openssl rand -hex 32)
  stagger serve --fleet fleet.jsonl
  stagger serve --fleet fleet.jsonl --listen :443 --tls-cert cert.pem --tls-key key.pem --admin 127.0.0.1:9090
  stagger serve --fleet fleet.jsonl --trusted-proxy 10.0.0.0/8 --master-key-file key.hex
  stagger serve --fleet fleet.jsonl --admit 200
  stagger serve --fleet fleet.jsonl --telemetry records.ndjson
  stagger serve --fleet fleet.jsonl --telemetry https://collector.example.com --telemetry-spool /var/spool/stagger`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := logger(w, logFormat)
			if err != nil {
				return err
			}
			given := c.Flags().Changed
			if given("admit") && !(admit >= 1 && admit <= 1e6) || given("admit-burst") && !(burst >= 1 && burst <= 1e6) {
				return misuse(errors.New("--admit and --admit-burst: from 1 to 1000000"))
			}
			if given("admit-burst") && !given("admit") {
				return misuse(errors.New("--admit-burst needs --admit"))
			}
			if (at.Certificate == "") != (at.Key == "") {
				return misuse(errors.New("--tls-cert and --tls-key belong together"))
			}
			prefixes, err := parsePrefixes(proxies)
			if err != nil {
				return err
			}
			for _, name := range hosts {
				if !record.IsHost(name) {
					return misuse(fmt.Errorf("--host: %q is not a host name", name))
				}
			}
			site := serve.Site{Hosts: hosts, PlainHTTP: plainHTTP, Open: open, Proxies: prefixes, Log: log}
			if len(certHeaders) > 0 {
				if len(certHeaders) != 3 || len(prefixes) == 0 {
					return misuse(errors.New("--client-cert-headers: the names of three headers (result, subject, issuer), and --trusted-proxy"))
				}
				site.CertHeaders = serve.CertificateHeaders{Verify: certHeaders[0], Subject: certHeaders[1], Issuer: certHeaders[2]}
			}
			if clientCA != "" {
				if at.Certificate == "" {
					return misuse(errors.New("--client-ca needs --tls-cert and --tls-key"))
				}
				if site.ClientCAs, err = serve.ReadAuthorities(clientCA); err != nil {
					return fmt.Errorf("client authorities: %w", err)
				}
			}
			if err := records.read(w, c); err != nil {
				return err
			}
			secrets, err := keys.read(w)
			if err != nil {
				return err
			}
			// From here on it is a request to read the fleet again, and no end.
			again := make(chan os.Signal, 1)
			signal.Notify(again, syscall.SIGHUP)
			defer signal.Stop(again)
			read := 0
			load := func() (serve.Documents, error) {
				if read++; fleetFile == "-" && read > 1 {
					return nil, errors.New("standard input is read once")
				}
				store, err := (&unsealer{w: w, keys: keys, required: requireSealed}).open(fleetFile, inspect.Check)
				if err != nil {
					return nil, err
				}
				if err := errors.Join(checkTenants("--plain-http", plainHTTP, store), checkTenants("--open", open, store)); err != nil {
					return nil, errors.Join(err, store.Close())
				}
				return store, nil
			}
			source := serve.FleetOptions{Load: load, Keys: secrets, Log: log}
			if fleetFile != "-" {
				source.Path = fleetFile
			}
			store, err := serve.NewFleet(source)
			if err != nil {
				return err
			}
			defer store.Close()
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// A second signal ends the program at once.
			context.AfterFunc(ctx, stop)
			machine, err := core.open(ctx, w)
			if err != nil {
				return err
			}
			// By then nothing is at work, or it has had its time.
			defer machine.Close(context.Background())

			metrics := serve.NewMetrics(machine, fileKinds())
			metrics.WatchFleet(store)
			site.Core, site.Store, site.Keys, site.Metrics = machine, store, secrets, metrics
			site.Stability = serve.NewWatch()
			if admit > 0 {
				site.Admit = serve.NewAdmission(admit, burst)
				metrics.WatchAdmission(site.Admit, time.Now)
			}
			for _, tenant := range plainHTTP {
				log.Warn("plain HTTP is allowed: everyone on the way sees the passwords of this tenant's phones", "tenant", tenant)
			}
			for _, tenant := range open {
				log.Warn("open: who knows a MAC of this tenant gets its passwords, for a lab only", "tenant", tenant)
			}
			at.Ready = func(phones, admin net.Addr) {
				state := store.State()
				attrs := []any{"address", phones.String(), "tls", at.Certificate != "", "engine", core.engine,
					"tenants", state.Tenants, "devices", state.Devices, "keys", len(secrets), "fleet", state.Version}
				if admin != nil {
					attrs = append(attrs, "admin", admin.String())
				}
				log.Info("serving", attrs...)
			}
			if site.Telemetry, err = records.start(log); err != nil {
				return err
			}
			tick := time.NewTicker(lookEvery)
			defer tick.Stop()
			go store.Watch(ctx, again, tick.C)
			if site.Telemetry == nil {
				return site.Run(ctx, at)
			}
			metrics.WatchTelemetry(site.Telemetry)
			err = site.Run(ctx, at)
			// Not ctx, which has ended. Whatever is not sent by then is in the spool.
			bounded, cancel := context.WithTimeout(context.Background(), lastFlush)
			defer cancel()
			return errors.Join(err, site.Telemetry.Close(bounded))
		},
	}
	flags := c.Flags()
	flags.StringVar(&fleetFile, "fleet", "", "fleet file: one JSON document a line, or an export of KV; - for standard input")
	flags.StringVar(&at.Listen, "listen", "127.0.0.1:8080", "address for phones")
	flags.StringVar(&at.Admin, "admin", "", "address for /-/healthz and /metrics (default: off)")
	flags.StringVar(&at.Certificate, "tls-cert", "", "PEM file with the certificate chain, to serve phones over TLS")
	flags.StringVar(&at.Key, "tls-key", "", "PEM file with the key of --tls-cert")
	flags.StringSliceVar(&plainHTTP, "plain-http", nil, "tenants whose phones may come without TLS")
	flags.StringSliceVar(&open, "open", nil, "tenants whose phones need no token: for a lab only")
	flags.StringSliceVar(&proxies, "trusted-proxy", nil, "prefixes of fronts whose X-Forwarded-Proto and X-Forwarded-For are believed")
	flags.StringSliceVar(&hosts, "host", nil, "host names under which phones are served (default: any)")
	flags.BoolVar(&requireSealed, "require-sealed", false, "refuse documents that are not sealed (see \"stagger kv\")")
	flags.StringVar(&clientCA, "client-ca", "", "PEM file with the authorities of the phones' client certificates")
	flags.StringSliceVar(&certHeaders, "client-cert-headers", nil, "headers in which a trusted proxy gives result, subject and issuer of the client certificate")
	flags.Float64Var(&admit, "admit", 0, "phones a second to let in (default: all)")
	flags.Float64Var(&burst, "admit-burst", 0, "phones to let in at once after a pause (default: those of a second)")
	flags.StringVar(&logFormat, "log-format", "json", "format of the log: text or json")
	core.add(c)
	keys.add(c)
	records.add(c)
	if err := c.MarkFlagRequired("fleet"); err != nil {
		panic(err)
	}
	return c
}

// lastFlush is how long the sink of telemetry has when the server stops.
const lastFlush = 5 * time.Second

func logger(w *world, format string) (*slog.Logger, error) {
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w.stderr, nil)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w.stderr, nil)), nil
	}
	return nil, misuse(errors.New("--log-format: text or json"))
}

// parsePrefixes takes addresses as well as prefixes.
func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, misuse(fmt.Errorf("--trusted-proxy: %q is not a prefix such as 10.0.0.0/8", text))
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Bits() == 0 {
			return nil, misuse(fmt.Errorf("--trusted-proxy: %s would trust everyone", text))
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

// checkTenants wants tenants of the fleet: a typing mistake would leave a tenant
// as it was, and the operator in the belief that it is not.
func checkTenants(flag string, tenants []string, store *fleet.Store) error {
	for _, tenant := range tenants {
		if !record.IsTenant(tenant) || !store.HasTenant(tenant) {
			return misuse(fmt.Errorf("%s: the fleet has no tenant %q", flag, tenant))
		}
	}
	return nil
}

// fileKinds are the words for files in the vendor packs.
func fileKinds() []string {
	var kinds []string
	for i := range vendors.Packs {
		for j := range vendors.Packs[i].Files {
			kinds = append(kinds, vendors.Packs[i].Files[j].Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
