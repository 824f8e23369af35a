package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// workers is what build/bench.mjs prints; its header comment describes it.
type workers struct {
	Measurements []struct {
		Name   string             `json:"name"`
		Unit   string             `json:"unit"`
		Median map[string]float64 `json:"median"`
		Ratio  map[string]float64 `json:"ratio"`
	} `json:"measurements"`
}

// printWorkers prints the Worker beside the others, a line for each measurement.
func printWorkers(raw json.RawMessage) error {
	var all workers
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("build/bench.mjs: %w", err)
	}
	others := []string{"handwritten", "constant"}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nin workerd\tunit\tours\thand-written\tconstant\tours / hand-written\tours / constant\t")
	for _, m := range all.Measurements {
		row := []string{m.Name, m.Unit, number(m.Median["stagger"])}
		for _, other := range others {
			row = append(row, number(m.Median[other]))
		}
		for _, other := range others {
			row = append(row, fmt.Sprintf("%.2f", m.Ratio[other]))
		}
		fmt.Fprintln(w, strings.Join(slices.Concat(row, []string{""}), "\t"))
	}
	return w.Flush()
}

func number(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
