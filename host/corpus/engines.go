package corpus

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/seal"
)

// Engine answers the requests of a case.
type Engine interface {
	Run(c *Case) ([]wire.Response, error)
	Close() error
}

// Local is an engine of the host: native, or wazero with either module.
type Local struct{ engine.Engine }

// store is the store of one case.
type store struct{ *Setup }

func (s store) Get(_ context.Context, key string) (string, bool, error) {
	if slices.Contains(s.Failing, key) {
		return "", false, errors.New("this document fails on purpose")
	}
	value, found := s.Documents[key]
	return value, found, nil
}

// Run answers the requests of the case.
func (l Local) Run(c *Case) ([]wire.Response, error) {
	opener := seal.Opener{Keys: seal.New(c.Setup.Keys), Required: c.Setup.Sealed == "required"}
	documents := opener.Store(store{&c.Setup})
	var out []wire.Response
	for _, s := range c.Steps {
		r := wire.Request{
			Now: c.Setup.Now, Method: s.Method, Target: s.Target, Keys: c.Setup.Keys,
			Facts: append([]wire.Pair{{Name: "plain-http", Value: c.Setup.PlainHTTP}, {Name: "open", Value: c.Setup.Open}, {Name: "hosts", Value: c.Setup.Hosts}}, s.Headers...),
		}
		if s.TLS {
			r.Flags = wire.FlagTLS
		}
		response, _ := exchange.Answer(context.Background(), l.Engine, documents, &r)
		out = append(out, response)
	}
	return out, nil
}

// Close ends the engine.
func (l Local) Close() error { return l.Engine.Close(context.Background()) }

// Workerd is the Worker as it is deployed, in workerd, driven by build/workerd.mjs.
type Workerd struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

// StartWorkerd starts workerd. root is the folder of the project.
func StartWorkerd(root string) (*Workerd, error) {
	w := &Workerd{command: exec.Command("node", "build/workerd.mjs")}
	w.command.Dir = root
	w.command.Stderr = os.Stderr
	var err error
	if w.stdin, err = w.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdout = bufio.NewReaderSize(out, 1<<20)
	return w, w.command.Start()
}

// Run answers the requests of the case.
func (w *Workerd) Run(c *Case) ([]wire.Response, error) {
	type request struct {
		Method  string      `json:"method"`
		Target  string      `json:"target"`
		Headers [][2]string `json:"headers"`
		TLS     bool        `json:"tls"`
	}
	in := struct {
		Now       uint64            `json:"now"`
		Documents map[string]string `json:"documents"`
		Failing   []string          `json:"failing"`
		Keys      []string          `json:"keys"`
		PlainHTTP string            `json:"plain_http"`
		Open      string            `json:"open"`
		Hosts     string            `json:"hosts"`
		Sealed    string            `json:"sealed"`
		Requests  []request         `json:"requests"`
	}{Now: c.Setup.Now, Documents: c.Setup.Documents, Failing: append([]string{}, c.Setup.Failing...),
		Keys: []string{}, PlainHTTP: c.Setup.PlainHTTP, Open: c.Setup.Open, Hosts: c.Setup.Hosts, Sealed: c.Setup.Sealed}
	for _, k := range c.Setup.Keys {
		in.Keys = append(in.Keys, hex.EncodeToString([]byte(k)))
	}
	for _, s := range c.Steps {
		r := request{Method: s.Method, Target: s.Target, Headers: [][2]string{}, TLS: s.TLS}
		for _, h := range s.Headers {
			r.Headers = append(r.Headers, [2]string{h.Name, h.Value})
		}
		in.Requests = append(in.Requests, r)
	}
	line, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	if _, err := w.stdin.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("workerd: %w", err)
	}
	answer, err := w.stdout.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("workerd: %w", err)
	}
	var out struct {
		Error     string `json:"error"`
		Responses []struct {
			Status  uint32      `json:"status"`
			Headers [][2]string `json:"headers"`
			Body    string      `json:"body"`
			Audit   *string     `json:"audit"`
		} `json:"responses"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("workerd: %w", err)
	}
	if out.Error != "" {
		return nil, errors.New(out.Error)
	}
	var responses []wire.Response
	for _, r := range out.Responses {
		response := wire.Response{Status: r.Status}
		for _, h := range r.Headers {
			// The connection is the platform's affair, and so is the date.
			if !slices.Contains([]string{"date", "connection", "keep-alive"}, h[0]) {
				response.Headers = append(response.Headers, wire.Pair{Name: h[0], Value: h[1]})
			}
		}
		if response.Body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return nil, err
		}
		if r.Audit != nil {
			var audit map[string]any
			if err := json.Unmarshal([]byte(*r.Audit), &audit); err != nil {
				return nil, fmt.Errorf("workerd: audit record: %w", err)
			}
			for name, value := range audit {
				if text, ok := value.(string); ok {
					response.Audit = append(response.Audit, wire.Pair{Name: name, Value: text})
				}
			}
		}
		responses = append(responses, response)
	}
	return responses, nil
}

// Close ends workerd. A workerd that does not end by itself is an error.
func (w *Workerd) Close() error {
	w.stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- w.command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		w.command.Process.Kill()
		return errors.New("workerd: did not end when its input did")
	}
}

// LoadModule is the wazero engine over a module that the build has made.
func LoadModule(file string) (Local, error) {
	module, err := os.ReadFile(file)
	if err != nil {
		return Local{}, fmt.Errorf("%w (make wasm builds it)", err)
	}
	e, err := engine.NewWasm(context.Background(), module, engine.WasmOptions{Size: 1})
	return Local{e}, err
}
