// Command bench compares the core with what one would write without it: the
// standard library in Go, and a Worker written by hand in JavaScript; and the vendor
// packs with each other. Everything is
// measured in turns in one run, so that whatever else the machine does falls on all
// alike; what counts is the ratio.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
)

const mac = "001565aabb10"

// contender answers the request of the bench once and returns the body.
type contender struct {
	name    string
	answer  func() ([]byte, error)
	engine  engine.Engine // nil for the standard library
	samples []float64     // microseconds
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	rounds := flag.Int("rounds", 31, "how often each takes its turn")
	asJSON := flag.Bool("json", false, "print JSON")
	worker := flag.Bool("worker", true, "measure in workerd as well")
	requests := flag.Int("soak", 0, "answer this many requests through the module and watch its memory, instead")
	records := flag.Int("telemetry", 0, "answer this many requests with telemetry and as many without, in turns, instead")
	flag.Parse()
	if *records > 0 {
		if err := measureTelemetry(*records); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *requests > 0 {
		if err := soak(*requests); err != nil {
			log.Fatal(err)
		}
		return
	}

	contenders, err := contenders()
	if err != nil {
		log.Fatal(err)
	}
	if err := measure(contenders, *rounds); err != nil {
		log.Fatal(err)
	}
	phones, each, err := measureFamilies(contenders, *rounds)
	if err != nil {
		log.Fatal(err)
	}
	var workerd json.RawMessage
	if *worker {
		if workerd, err = measureWorkers(); err != nil {
			log.Fatal(err)
		}
	}
	if *asJSON {
		out := map[string]any{"workerd": workerd}
		for _, c := range contenders {
			out[c.name] = median(c.samples)
		}
		for i, f := range phones {
			out[f.vendor+", native"], out[f.vendor+", wazero"] = median(each[2*i].samples), median(each[2*i+1].samples)
		}
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(out); err != nil {
			log.Fatal(err)
		}
		return
	}
	print(contenders)
	if err := printFamilies(os.Stdout, phones, each); err != nil {
		log.Fatal(err)
	}
	if *worker {
		if err := printWorkers(workerd); err != nil {
			log.Fatal(err)
		}
	}
}

func contenders() ([]*contender, error) {
	data, err := os.ReadFile("testdata/bench/fleet.jsonl")
	if err != nil {
		return nil, err
	}
	tenant, device, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	key := strings.Repeat("k", provision.MinKey)
	token := provision.Token(key, "bench", mac, 0)
	standard, err := newStandard("vendors")
	if err != nil {
		return nil, err
	}
	request := wire.AppendRequest(nil, &wire.Request{
		Flags: wire.FlagTLS, Now: 1_800_000_000, Method: "GET", Target: "/bench/" + token + "/" + mac + ".cfg",
		Facts: []wire.Pair{{Name: "user-agent", Value: "Yealink SIP-T46U 108.86.0.90 00:15:65:aa:bb:10"}},
		Keys:  []string{key},
		Documents: []wire.Document{
			{Key: "tenant:bench", Value: string(tenant)}, {Key: "device:bench:" + mac, Value: string(device)},
		},
	})
	module, err := os.ReadFile("build/out/edge.wasm")
	if err != nil {
		return nil, fmt.Errorf("%w (make wasm builds it)", err)
	}
	wasm, err := engine.NewWasm(context.Background(), module, engine.WasmOptions{Size: 1})
	if err != nil {
		return nil, err
	}
	through := func(name string, e engine.Engine) *contender {
		var out []byte
		return &contender{name: name, engine: e, answer: func() ([]byte, error) {
			var err error
			_, out, err = e.Call(context.Background(), request, out[:0])
			return out, err
		}}
	}
	all := []*contender{
		{name: "standard library", answer: func() ([]byte, error) { return standard.render([]byte(key), token, mac, tenant, device) }},
		through("core, native", engine.NewNative(1)),
		through("core, wazero", wasm),
	}
	// Worth comparing only if all give the same file.
	want, err := all[0].answer()
	if err != nil {
		return nil, err
	}
	for _, c := range all[1:] {
		out, err := c.answer()
		if err != nil {
			return nil, err
		}
		var response wire.Response
		if err := wire.DecodeResponse(string(out), &response); err != nil {
			return nil, err
		}
		if !bytes.Equal(response.Body, want) {
			return nil, fmt.Errorf("%s gives another file than the %s", c.name, all[0].name)
		}
	}
	fmt.Fprintf(os.Stderr, "bench: documents of %d bytes, a file of %d\n", len(tenant)+len(device), len(want))
	return all, nil
}

func measure(contenders []*contender, rounds int) error {
	const turn = 25 * time.Millisecond
	for range rounds {
		for _, c := range contenders {
			// Garbage of the one before is not to be collected in the turn of
			// the next.
			runtime.GC()
			n, start := 0, time.Now()
			for time.Since(start) < turn {
				for range 10 {
					if _, err := c.answer(); err != nil {
						return err
					}
				}
				n += 10
			}
			c.samples = append(c.samples, float64(time.Since(start).Nanoseconds())/1000/float64(n))
		}
	}
	return nil
}

// measureFamilies measures a phone of each family in the engines of these.
func measureFamilies(of []*contender, rounds int) ([]family, []*contender, error) {
	list, err := families("testdata/bench/families.jsonl")
	if err != nil {
		return nil, nil, err
	}
	var all []*contender
	for i := range list {
		pair, err := list[i].contenders(of[1].engine, of[2].engine)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, pair...)
	}
	return list, all, measure(all, rounds)
}

func median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return s[len(s)/2]
}

func print(contenders []*contender) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "one answer\tmedian us\tbest us\ttimes as fast\t")
	base := median(contenders[0].samples)
	for _, c := range contenders {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t\n", c.name, median(c.samples), slices.Min(c.samples), base/median(c.samples))
	}
	w.Flush()
}

// measureWorkers measures in workerd; see build/bench.mjs for what it prints.
func measureWorkers() (json.RawMessage, error) {
	node := exec.Command("node", "build/bench.mjs", "--json")
	node.Stderr = os.Stderr
	out, err := node.Output()
	if err != nil {
		return nil, fmt.Errorf("node build/bench.mjs: %w", err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return json.RawMessage(lines[len(lines)-1]), nil
}
