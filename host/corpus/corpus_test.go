package corpus

import (
	"flag"
	"testing"

	"stagger/edge/wire"
	"stagger/host/engine"
)

var update = flag.Bool("update", false, "write the responses of the cases anew, as the native engine gives them")

// TestCorpus runs every case on every engine. A missing engine fails.
func TestCorpus(t *testing.T) {
	cases, err := Load("../../testdata/golden", "../../testdata/fleets")
	if err != nil {
		t.Fatal(err)
	}
	native := Local{engine.NewNative(1)}
	if *update {
		for _, c := range cases {
			responses, err := native.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for i := range responses {
				texts = append(texts, Format(&responses[i], c.Setup.Audit...))
			}
			if err := c.Update(texts); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatal("responses written: read the difference, then run again without -update")
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			engine := e.start(t)
			for _, c := range cases {
				if !c.Runs(e.name) {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					// Twice: request n+1 must be request n.
					for round := range 2 {
						responses, err := engine.Run(c)
						if err != nil {
							t.Fatal(err)
						}
						check(t, c, responses, round)
					}
				})
			}
		})
	}
}

// contestant is an engine that has not been started yet.
type contestant struct {
	name string
	make func() (Engine, error)
}

// engines are the four that must agree. A missing one fails the test.
func engines() []contestant {
	return []contestant{
		{"native", func() (Engine, error) { return Local{engine.NewNative(1)}, nil }},
		{"tinygo", func() (Engine, error) { return LoadModule("../../build/out/edge.wasm") }},
		{"go", func() (Engine, error) { return LoadModule("../../build/out/edge-go.wasm") }},
		{"workerd", func() (Engine, error) { return StartWorkerd("../..") }},
	}
}

func (c contestant) start(t *testing.T) Engine {
	t.Helper()
	e, err := c.make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func check(t *testing.T, c *Case, responses []wire.Response, round int) {
	t.Helper()
	if len(responses) != len(c.Steps) {
		t.Fatalf("%d responses to %d requests", len(responses), len(c.Steps))
	}
	for i := range responses {
		if d := Difference(Format(&responses[i], c.Setup.Audit...), c.Steps[i].Want); d != "" {
			t.Errorf("%s: request %d, %s %s, round %d: %s", c.File, i+1, c.Steps[i].Method, c.Steps[i].Target, round+1, d)
		}
	}
}
