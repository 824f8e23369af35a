package diff

import (
	"cmp"
	"maps"
	"slices"
)

// merge puts together what the workers have found. It does not depend on who found what.
func merge(workers []*worker, show int) *Report {
	r := &Report{Vendors: map[string]*Counts{}, Reboots: newHerd(), Unverified: newHerd()}
	parameters := map[parameterKey]*Parameter{}
	notes := map[string]*Note{}
	for _, w := range workers {
		for vendor, counts := range w.counts {
			if r.Vendors[vendor] == nil {
				r.Vendors[vendor] = new(Counts)
			}
			for e, n := range counts {
				r.Vendors[vendor][e] += n
				r.Total[e] += n
			}
		}
		for key, p := range w.parameters {
			have := parameters[key]
			if have == nil {
				parameters[key] = p
				continue
			}
			if p.at < have.at {
				have.Example, have.at = p.Example, p.at
			}
			have.Devices += p.Devices
			have.Changed, have.Added, have.Removed = have.Changed+p.Changed, have.Added+p.Added, have.Removed+p.Removed
		}
		for text, n := range w.notes {
			have := notes[text]
			if have == nil {
				notes[text] = n
				continue
			}
			if n.at < have.at {
				have.First, have.at = n.First, n.at
			}
			have.Devices += n.Devices
		}
		r.First = append(r.First, w.first...)
		r.Reboots, r.Unverified = r.Reboots.With(w.herds[0]), r.Unverified.With(w.herds[1])
	}
	for _, p := range parameters {
		r.Parameters = append(r.Parameters, *p)
	}
	slices.SortFunc(r.Parameters, func(a, b Parameter) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(b.Effect, a.Effect), cmp.Compare(b.Devices, a.Devices), cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name))
	})
	for _, text := range slices.Sorted(maps.Keys(notes)) {
		r.Notes = append(r.Notes, *notes[text])
	}
	slices.SortFunc(r.First, func(a, b Device) int { return a.at - b.at })
	r.First = r.First[:min(show, len(r.First))]
	return r
}
