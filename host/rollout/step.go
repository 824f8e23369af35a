package rollout

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"stagger/edge/profile"
	"stagger/host/fleet"
	"stagger/host/inspect"
)

// A Step is what a change of a tenant's document does to its devices.
type Step struct {
	Devices int `json:"devices"`
	// Before and After count the devices in the cohort. In and Back are those that
	// enter and leave it.
	Before int `json:"before"`
	After  int `json:"after"`
	In     int `json:"in"`
	Back   int `json:"back"`
	// Changed counts the devices that get another file, by vendor: of a phone's
	// URL only what stands before its token is compared.
	Changed map[string]int `json:"changed"`
	// Refused are devices that get files before the change and errors after it.
	Refused []Refused `json:"refused,omitempty"`
	// RefusedAll counts them; of many only the first are in Refused.
	RefusedAll int `json:"refused_all"`
}

// Refused is a device and why the core refuses it, without any value.
type Refused struct {
	Device string `json:"device"`
	What   string `json:"what"`
}

// maxRefused is how many refused devices are named.
const maxRefused = 20

// ChangedAll counts the devices that get another file.
func (s *Step) ChangedAll() int {
	n := 0
	for _, devices := range s.Changed {
		n += devices
	}
	return n
}

// Compare renders all devices of a tenant under both documents, on all processors.
// devices calls yield with the document of each; it is called once.
func Compare(old, new string, devices func(yield func(fleet.Document)) error) (*Step, error) {
	workers := make([]Step, runtime.GOMAXPROCS(0))
	batches := make(chan []fleet.Document, 2*len(workers))
	var wait sync.WaitGroup
	for i := range workers {
		workers[i].Changed = map[string]int{}
		wait.Go(func() {
			for batch := range batches {
				for _, d := range batch {
					workers[i].device(old, new, d)
				}
			}
		})
	}
	var batch []fleet.Document
	err := devices(func(d fleet.Document) {
		if batch = append(batch, d); len(batch) == 100 {
			batches <- batch
			batch = nil
		}
	})
	batches <- batch
	close(batches)
	wait.Wait()
	all := &Step{Changed: map[string]int{}}
	for i := range workers {
		all.add(&workers[i])
	}
	return all, err
}

func (s *Step) add(other *Step) {
	s.Devices += other.Devices
	s.Before += other.Before
	s.After += other.After
	s.In += other.In
	s.Back += other.Back
	for vendor, n := range other.Changed {
		s.Changed[vendor] += n
	}
	s.RefusedAll += other.RefusedAll
	s.Refused = append(s.Refused, other.Refused...)
	s.Refused = s.Refused[:min(len(s.Refused), maxRefused)]
}

func (s *Step) device(old, new string, d fleet.Document) {
	s.Devices++
	before, wrongBefore := read(old, d.Text)
	after, wrongAfter := read(new, d.Text)
	if before.in {
		s.Before++
	}
	if after.in {
		s.After++
	}
	switch {
	case after.in && !before.in:
		s.In++
	case !after.in && before.in:
		s.Back++
	}
	switch {
	case wrongAfter == nil:
		if wrongBefore != nil || !slices.EqualFunc(before.files, after.files, bytes.Equal) {
			s.Changed[after.vendor]++
		}
	case wrongBefore == nil: // what is refused already is no news
		if s.RefusedAll++; len(s.Refused) < maxRefused {
			s.Refused = append(s.Refused, Refused{d.MAC, wrongAfter.Error()})
		}
	}
}

// phone is what a device gets.
type phone struct {
	vendor string
	in     bool
	// files are in the order of the vendor's pack, behind its name.
	files [][]byte
}

func read(tenant, device string) (p phone, err error) {
	d, err := inspect.Read(tenant, device)
	if err != nil {
		return p, err
	}
	p = phone{vendor: d.Pack.Vendor, in: d.Cohort.In, files: [][]byte{[]byte(d.Pack.Vendor)}}
	for i := range d.Pack.Files {
		f := &d.Pack.Files[i]
		if f.Program == nil {
			continue
		}
		body, err := d.Render(f)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, body)
	}
	if d.State == profile.Disabled {
		p.files = nil // no phone gets anything
	}
	return p, nil
}

// Percent writes a share for people.
func Percent(share int64) string {
	if share%100 == 0 {
		return fmt.Sprintf("%d%%", share/100)
	}
	return fmt.Sprintf("%d.%02d%%", share/100, share%100)
}
