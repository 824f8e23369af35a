package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"stagger/edge/provision"
)

// patience bounds every wait; none is asserted to be short.
const patience = 30 * time.Second

var masterKey = strings.Repeat("5e", 32)

// machine is a world of its own, with a fleet.
type machine struct {
	world
	env         map[string]string
	out, errors output
	fleet       string
}

// output is written by a command and read by the test at the same time.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newMachine(t *testing.T) *machine {
	m := &machine{env: map[string]string{"STAGGER_MASTER_KEY": masterKey}}
	dir := t.TempDir()
	m.world = world{
		getenv:     func(name string) string { return m.env[name] },
		stdin:      strings.NewReader(""),
		stdout:     &m.out,
		stderr:     &m.errors,
		executable: func() (string, error) { return filepath.Join(dir, "stagger"), nil },
	}
	m.fleet = "../testdata/fleets/demo.jsonl"
	return m
}

// TestMisuse goes through what a caller can do wrong. Everything is one line on
// standard error, in lower case, and no key is in it.
func TestMisuse(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\"tenant\":\"demo\"}\nSECRET\n\nSECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const fleet = "../testdata/fleets/demo.jsonl"
	serve := func(more ...string) []string { return append([]string{"serve", "--fleet", fleet}, more...) }
	for name, test := range map[string]struct {
		args   []string
		key    string
		status int
		want   string
	}{
		"no such command":     {args: []string{"serv"}, status: 2, want: "unknown command"},
		"no such flag":        {args: []string{"serve", "--flet", "x"}, status: 2, want: "unknown flag: --flet"},
		"flag without value":  {args: []string{"serve", "--fleet"}, status: 2, want: "flag needs an argument: --fleet"},
		"no fleet":            {args: []string{"serve"}, status: 2, want: `required flag(s) "fleet" not set`},
		"an argument":         {args: serve("x"), status: 2, want: "unknown command"},
		"not a number":        {args: serve("--instances", "x"), status: 2, want: "invalid argument"},
		"instances":           {args: serve("--instances", "-1", "--engine", "native"), status: 2, want: "--instances: "},
		"engine":              {args: serve("--engine", "v8"), status: 2, want: "--engine: wazero or native"},
		"engine and module":   {args: serve("--engine", "native", "--wasm", "x"), status: 2, want: "--wasm has no meaning"},
		"log format":          {args: serve("--log-format", "xml"), status: 2, want: "--log-format: text or json"},
		"certificate alone":   {args: serve("--tls-cert", "x"), status: 2, want: "belong together"},
		"proxy":               {args: serve("--trusted-proxy", "10.0.0.0/8,x"), status: 2, want: `"x" is not a prefix`},
		"proxy for everyone":  {args: serve("--trusted-proxy", "::/0"), status: 2, want: "would trust everyone"},
		"plain-http":          {args: serve("--plain-http", "demo,dmeo"), status: 2, want: `--plain-http: the fleet has no tenant "dmeo"`},
		"open":                {args: serve("--open", "dmeo"), status: 2, want: `--open: the fleet has no tenant "dmeo"`},
		"no key":              {args: serve(), key: "-", status: 2, want: "no master key: set STAGGER_MASTER_KEY"},
		"bad key":             {args: serve(), key: masterKey + "z", status: 2, want: "STAGGER_MASTER_KEY: a master key is"},
		"key twice":           {args: serve("--master-key-file", "x"), status: 2, want: "use one"},
		"no key file":         {args: serve("--previous-key-file", "nothing"), status: 2, want: "no such file"},
		"no fleet file":       {args: []string{"serve", "--fleet", "nothing"}, status: 1, want: "open nothing: no such file"},
		"bad fleet file":      {args: []string{"serve", "--fleet", bad}, status: 1, want: bad + ":4: not JSON"},
		"no module":           {args: serve(), status: 1, want: "make it with make wasm"},
		"no such module":      {args: serve("--wasm", "nothing"), status: 1, want: "read the module: open nothing"},
		"not a module":        {args: serve("--wasm", fleet), status: 1, want: fleet + ": not a WebAssembly module"},
		"no such certificate": {args: serve("--engine", "native", "--tls-cert", "x", "--tls-key", "x"), status: 1, want: "tls certificate: "},
		"no such address":     {args: serve("--engine", "native", "--listen", "127.0.0.1:x"), status: 1, want: "listen tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if test.key != "" {
				m.env["STAGGER_MASTER_KEY"] = strings.Trim(test.key, "-")
			}
			status := m.run(t.Context(), test.args)
			got := m.errors.String()
			if status != test.status || !strings.Contains(got, test.want) {
				t.Errorf("status %d, %q; want %d, %q", status, got, test.status, test.want)
			}
			if n := strings.Count(got, "\n"); n != 1 && name != "bad fleet file" {
				t.Errorf("%d lines: %q", n, got)
			}
			if strings.Contains(got, "SECRET") || strings.Contains(got, masterKey[:8]) || m.out.String() != "" {
				t.Errorf("standard error %q, standard output %q", got, m.out.String())
			}
			if got != strings.ToLower(got[:1])+got[1:] && !strings.HasPrefix(got, "STAGGER_") {
				t.Errorf("%q begins in upper case", got)
			}
		})
	}
}

// TestHelp wants an example in the help of every command.
func TestHelp(t *testing.T) {
	m := newMachine(t)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example == "" || c.Short == "" || !strings.Contains(c.Example, "stagger ") {
			t.Errorf("%s has no example or no short text", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(m.root())
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"serve", "--help"}, {"help", "serve"}} {
		m := newMachine(t)
		if status := m.run(t.Context(), args); status != 0 || !strings.Contains(m.out.String(), "Examples:") || m.errors.String() != "" {
			t.Errorf("%q: status %d, %q", args, status, m.errors.String())
		}
	}
}

func TestExitStatus(t *testing.T) {
	old := commands
	defer func() { commands = old }()
	for err, want := range map[error]int{nil: 0, errors.New("x"): 1, misuse(errors.New("x")): 2} {
		commands = []func(*world) *cobra.Command{func(*world) *cobra.Command {
			return &cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error { return err }}
		}}
		if got := newMachine(t).run(t.Context(), []string{"try"}); got != want {
			t.Errorf("%v: status %d, want %d", err, got, want)
		}
	}
}

// TestServe runs the command as an operator would and stops it with a signal.
func TestServe(t *testing.T) {
	m := newMachine(t)
	status := make(chan int, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		status <- m.run(ctx, []string{"serve", "--fleet", m.fleet, "--engine", "native", "--listen", "127.0.0.1:0",
			"--admin", "127.0.0.1:0", "--plain-http", "demo", "--open", "demo", "--log-format", "text"})
	}()
	serving := regexp.MustCompile(`msg=serving address=(\S+) .* admin=(\S+)`)
	var addresses []string
	for addresses == nil {
		select {
		case got := <-status:
			t.Fatalf("status %d: %s", got, m.errors.String())
		case <-ctx.Done():
			t.Fatalf("does not serve: %s", m.errors.String())
		case <-time.After(time.Millisecond):
			addresses = serving.FindStringSubmatch(m.errors.String())
		}
	}
	get := func(url string) string {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: %d, %v", url, response.StatusCode, err)
		}
		return string(body)
	}
	token := provision.Token(strings.Repeat("\x5e", 32), "demo", "001565aabb01", 0)
	if body := get("http://" + addresses[1] + "/demo/" + token + "/001565aabb01.cfg"); !strings.HasPrefix(body, "#!version:1.0.0.1\n") {
		t.Errorf("a file that begins with %.40q", body)
	}
	if body := get("http://" + addresses[2] + "/-/healthz"); !regexp.MustCompile(`^ok\nfleet [0-9a-f]{16} loaded \S+: 1 tenants, 3 devices\n$`).MatchString(body) {
		t.Errorf("health %q", body)
	}
	if body := get("http://" + addresses[2] + "/metrics"); !strings.Contains(body, `stagger_requests_total{file="config",outcome="ok"} 1`) {
		t.Errorf("metrics %s", body)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-status:
		if got != 0 {
			t.Errorf("status %d: %s", got, m.errors.String())
		}
	case <-ctx.Done():
		t.Fatal("does not stop")
	}
	log := m.errors.String()
	for _, want := range []string{`level=WARN msg="plain HTTP is allowed`, `level=WARN msg="open: `, "tenants=1 devices=3 keys=1", "path=/demo/-/001565aabb01.cfg", "outcome=ok"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in the log:\n%s", want, log)
		}
	}
	if strings.Contains(log, token[4:]) || strings.Contains(log, masterKey[:8]) {
		t.Error("a secret is in the log")
	}
}
