// Package audit reads a fleet file for everything that a person wants to know of it
// before phones do: what the core would refuse, and what it would take and nobody
// means.
//
// It owns the rules for what is worth a warning. It must never put a value of a
// document into a finding.
package audit

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"stagger/edge/profile"
	"stagger/edge/spread"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/rollout"
)

// Levels of a finding, by the words of SARIF.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// A Rule is something that is looked for.
type Rule struct{ ID, Level, Text string }

// Rules are all that there are.
var Rules = []Rule{
	{"not-a-document", Error, "A line is not the JSON document of a tenant or a device."},
	{"duplicate", Error, "A tenant or a device is there twice; a device also in two tenants."},
	{"no-tenant", Error, "The tenant of a device is not in the file."},
	{"refused", Error, "The core would refuse the document: no phone gets a file from it."},
	{"window-collapses", Warning, "A window has few values in the unit in which the phone counts, so that phones share them."},
	{"not-spread", Warning, "One value is left of a window: all phones get it."},
	{"registrar-range", Warning, "A registration asks for what the registrar does not grant, so that its own value replaces the spread one."},
	{"visible-secret", Warning, "A password is, or is part of, something that the phone shows or sends in the clear."},
	{"short-secret", Warning, "A password is short enough to be guessed."},
	{"open-tenant", Warning, "The tenant asks phones for nothing."},
	{"plain-url", Warning, "A URL is not https: what is fetched can be read and replaced on the way."},
	{"unreachable", Warning, "What a document says can have no effect, or what a tenant asks for can be shown by no phone."},
	{"rollout-refused", Warning, "The core would refuse devices as soon as a rollout reaches them."},
	{"rollout", Note, "A rollout is under way: its devices have other settings."},
	{"staged", Note, "Devices are staged: they get no account, key or password."},
}

// RuleOf is the position of a rule in Rules.
func RuleOf(id string) int {
	return slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
}

// A Finding is one thing to know.
type Finding struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Level string `json:"level"`
	Rule  string `json:"rule"`
	// Key is that of the document, and Path the place inside of it; either can be
	// empty.
	Key     string `json:"key,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Devices is how many devices what is wrong with a tenant's document concerns,
	// where that is known.
	Devices int `json:"devices,omitempty"`
}

func (f *Finding) String() string {
	s := fmt.Sprintf("%s:%d: %s: ", f.File, f.Line, f.Level)
	for _, part := range []string{f.Key, f.Path} {
		if part != "" {
			s += part + ": "
		}
	}
	return s + f.Message + " (" + f.Rule + ")"
}

// Options are what a caller chooses.
type Options struct {
	// RegistrarMin and RegistrarMax are the shortest and the longest registration in
	// seconds that the registrar grants; 0 is not known.
	RegistrarMin, RegistrarMax uint64
	// Show is called with the share that is done.
	Show func(share float64)
}

const (
	// FewValues is what a window should have at least. Of that many phones that start
	// at one instant, every value gets about 3%.
	FewValues = 30
	// ShortSecret is the length of a password below which it is worth a warning.
	ShortSecret = 12
)

// Report is what was found, in the order of lines.
type Report struct {
	Findings         []*Finding
	Tenants, Devices int
}

// Count counts the findings of a level.
func (r *Report) Count(level string) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// A tenant is one that is in the file, or only named in it.
type tenant struct {
	line int
	text string
	bad  bool
	// folded is the document with the settings of its rollout as its own: what it
	// is for devices in the cohort. It is "" without a rollout.
	folded string
}

// first is the first line of a device, and the number of its tenant.
type first struct{ line, tenant int32 }

type audit struct {
	name    string
	options Options
	tenants map[string]*tenant
	macs    map[uint64]first
	// kinds are the kinds of HTTP authentication, by vendor.
	kinds  map[string][]string
	report Report
}

// Run reads the file twice, for a device can stand in front of its tenant; it keeps
// the documents of tenants, and of devices no more than where they are.
func Run(name string, file io.ReadSeeker, o Options) (*Report, error) {
	a := &audit{name: name, options: o, tenants: map[string]*tenant{}, macs: map[uint64]first{}}
	if o.Show == nil {
		a.options.Show = func(float64) {}
	}
	var err error
	if a.kinds, err = kinds(); err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if err := a.places(file); err != nil {
		return nil, err
	}
	a.judgeTenants()
	if err := a.judgeDevices(file, size); err != nil {
		return nil, err
	}
	slices.SortStableFunc(a.report.Findings, func(f, g *Finding) int {
		return cmp.Or(cmp.Compare(f.Line, g.Line), cmp.Compare(RuleOf(f.Rule), RuleOf(g.Rule)), strings.Compare(f.Path, g.Path), strings.Compare(f.Message, g.Message))
	})
	return &a.report, nil
}

func (a *audit) finding(line int, rule, key, path, message string) *Finding {
	return &Finding{File: a.name, Line: line, Level: Rules[RuleOf(rule)].Level, Rule: rule, Key: key, Path: path, Message: message}
}

func (a *audit) add(line int, rule, key, path, message string) {
	a.report.Findings = append(a.report.Findings, a.finding(line, rule, key, path, message))
}

// places finds out which documents there are, and which are there twice.
func (a *audit) places(file io.ReadSeeker) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	names := map[string]int32{}
	return fleet.Scan(a.name, file, func(d fleet.Document) {
		if d.MAC == "" {
			if t, ok := a.tenants[d.Tenant]; ok {
				a.add(d.Line, "duplicate", d.Key(), "", fleet.SameTenant(t.line))
				return
			}
			a.tenants[strings.Clone(d.Tenant)] = &tenant{line: d.Line, text: d.Text}
			a.report.Tenants++
			return
		}
		n, ok := names[d.Tenant]
		if !ok {
			n = int32(len(names))
			names[strings.Clone(d.Tenant)] = n
		}
		if have, ok := a.macs[number(d.MAC)]; ok {
			a.add(d.Line, "duplicate", d.Key(), "", fleet.SameDevice(int(have.line), have.tenant == n))
			return
		}
		a.macs[number(d.MAC)] = first{int32(d.Line), n}
		a.report.Devices++
	}, func(err *fleet.Error) { a.add(err.Line, "not-a-document", "", "", err.What) })
}

// number is a MAC in eight bytes.
func number(mac string) uint64 {
	n, err := strconv.ParseUint(mac, 16, 64)
	if err != nil {
		panic(err) // Scan has seen that it is one
	}
	return n
}

func (a *audit) judgeTenants() {
	for id, t := range a.tenants {
		add := func(rule, path, message string) { a.add(t.line, rule, fleet.TenantKey(id), path, message) }
		if err := inspect.Check(t.text, ""); err != nil {
			t.bad = true
			path, what := inspect.Place(err)
			add("refused", path, what)
			continue
		}
		document := gjson.Parse(t.text)
		if document.Get("auth").Str == "open" {
			add("open-tenant", "auth", "asks phones for nothing: who knows a MAC has its passwords")
		}
		urls(document, add, "url", "phonebook.url", "firmware_url")
		secrets(document, document.Get("keys"), add)
		if _, ok := rollout.Of(t.text); ok {
			t.folded = rollout.Fold(t.text)
			urls(document, add, reached+"url", reached+"phonebook.url", reached+"firmware_url")
			settings := document.Get(strings.TrimSuffix(reached, "."))
			secrets(settings, settings.Get("keys"), func(rule, path, message string) { add(rule, reached+path, message) })
		}
	}
}

// reached is where the settings of a rollout are in the document of a tenant.
const reached = "rollout.settings."

// urls looks for URLs that can be read on the way.
func urls(document gjson.Result, add func(rule, path, message string), paths ...string) {
	for _, path := range paths {
		if url := document.Get(path).Str; url != "" && !strings.HasPrefix(url, "https://") {
			add("plain-url", path, "is not an https URL")
		}
	}
}

// secrets looks for passwords that are not. keys are those that the phone has.
func secrets(document, keys gjson.Result, add func(rule, path, message string)) {
	type field struct{ path, text string }
	var hidden, visible []field
	see := func(of gjson.Result, at string, names ...string) (fields []field) {
		for _, name := range names {
			if v := of.Get(name).Str; v != "" {
				fields = append(fields, field{at + name, v})
			}
		}
		return fields
	}
	hidden = see(document, "", "admin_password")
	for i, line := range document.Get("lines").Array() {
		at := fmt.Sprintf("lines[%d].", i)
		hidden = append(hidden, see(line, at, "password")...)
		visible = append(visible, see(line, at, "user", "auth_user", "label", "display_name")...)
	}
	for i, key := range keys.Array() {
		visible = append(visible, see(key, fmt.Sprintf("keys[%d].", i), "label", "value")...)
	}
	for _, secret := range hidden {
		if len(secret.text) < ShortSecret {
			add("short-secret", secret.path, fmt.Sprintf("is shorter than %d characters", ShortSecret))
		}
		lower := strings.ToLower(secret.text)
		for _, v := range visible {
			switch text := strings.ToLower(v.text); {
			case text == lower:
				add("visible-secret", secret.path, "is the same as "+v.path)
			case strings.Contains(text, lower):
				add("visible-secret", secret.path, "is part of "+v.path)
			default:
				continue
			}
			break // one place is enough
		}
	}
}

// group is what many devices have from the document of their tenant.
type group struct{ tenant, rule, path, message string }

// worker is what one goroutine has found.
type worker struct {
	*audit
	findings []*Finding
	groups   map[group]int
	staged   map[string]int
	// used says whether the files of a model depend on a field: see unused.
	used map[string]bool
	// cohorts count the devices that a rollout reaches, and of how many, by tenant.
	cohorts map[string][2]int
}

// judgeDevices judges devices on all processors.
func (a *audit) judgeDevices(file io.ReadSeeker, size int64) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	workers := make([]*worker, runtime.GOMAXPROCS(0))
	batches := make(chan []fleet.Document, 2*len(workers))
	var wait sync.WaitGroup
	for i := range workers {
		w := &worker{audit: a, groups: map[group]int{}, staged: map[string]int{}, used: map[string]bool{}, cohorts: map[string][2]int{}}
		workers[i] = w
		wait.Go(func() {
			for batch := range batches {
				for _, d := range batch {
					w.device(d)
				}
			}
		})
	}
	var batch []fleet.Document
	counted := &counter{r: file}
	err := fleet.Scan(a.name, counted, func(d fleet.Document) {
		// The second of two is not judged: it is an error already.
		if d.MAC == "" || int(a.macs[number(d.MAC)].line) != d.Line {
			return
		}
		if batch = append(batch, d); len(batch) == 100 {
			batches <- batch
			batch = nil
			a.options.Show(min(1, float64(counted.n)/float64(max(size, 1))))
		}
	}, func(*fleet.Error) {})
	batches <- batch
	close(batches)
	wait.Wait()
	groups, staged, cohorts := map[group]int{}, map[string]int{}, map[string][2]int{}
	for _, w := range workers {
		a.report.Findings = append(a.report.Findings, w.findings...)
		for g, n := range w.groups {
			groups[g] += n
		}
		for id, n := range w.staged {
			staged[id] += n
		}
		for id, n := range w.cohorts {
			cohorts[id] = [2]int{cohorts[id][0] + n[0], cohorts[id][1] + n[1]}
		}
	}
	for g, n := range groups {
		f := a.finding(a.tenants[g.tenant].line, g.rule, fleet.TenantKey(g.tenant), g.path, fmt.Sprintf("%s; of %d devices", g.message, n))
		f.Devices = n
		a.report.Findings = append(a.report.Findings, f)
	}
	for id, n := range staged {
		f := a.finding(a.tenants[id].line, "staged", fleet.TenantKey(id), "", fmt.Sprintf("staged devices: %d", n))
		f.Devices = n
		a.report.Findings = append(a.report.Findings, f)
	}
	for id, n := range cohorts {
		t := a.tenants[id]
		r, _ := rollout.Of(t.text)
		f := a.finding(t.line, "rollout", fleet.TenantKey(id), "rollout", fmt.Sprintf("%s at %s: %d of %d devices", r.ID, rollout.Percent(r.Share), n[0], n[1]))
		f.Devices = n[0]
		a.report.Findings = append(a.report.Findings, f)
	}
	return err
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (w *worker) device(d fleet.Document) {
	key := d.Key()
	add := func(rule, path, message string) {
		w.findings = append(w.findings, w.finding(d.Line, rule, key, path, message))
	}
	t, ok := w.tenants[d.Tenant]
	if !ok {
		add("no-tenant", "tenant", fleet.NoTenant)
		return
	}
	if t.bad {
		return // its tenant says it already
	}
	device, err := inspect.Read(t.text, d.Text)
	if err == nil {
		err = device.Check()
	}
	if err != nil {
		path, what := inspect.Place(err)
		add("refused", path, what)
		return
	}
	w.rollout(t, d, device)
	switch device.State {
	case profile.Disabled:
		return // no phone gets anything
	case profile.Staged:
		w.staged[d.Tenant]++
	}
	document, defaults := gjson.Parse(d.Text), gjson.Parse(t.text)
	if device.Cohort.In {
		defaults = gjson.Parse(t.folded)
	}
	keys := document.Get("keys")
	if !keys.Exists() {
		keys = defaults.Get("keys")
	}
	urls(document, add, "phonebook.url", "firmware_url")
	secrets(document, keys, add)

	seen := map[group]bool{}
	// either adds a finding to the device, or to its tenant that it has it from.
	either := func(rule, path, message string, own bool) {
		if field, _, _ := strings.Cut(path, "["); !own && device.Cohort.In && gjson.Get(t.text, reached+field).Exists() {
			path = reached + path
		}
		g := group{d.Tenant, rule, path, message}
		// Many lines of a phone have the same from one place.
		if seen[g] {
			return
		}
		seen[g] = true
		if own {
			add(rule, path, message)
		} else {
			w.groups[g]++
		}
	}
	for _, s := range device.Timers {
		for _, found := range w.timer(s) {
			path, own := origin(document, defaults, s.Name)
			either(found[0], path, found[1], own)
		}
	}
	w.demands(device, defaults, func(path, message string) { either("unreachable", path, message, false) })
	noEffect := func(path, message string, own bool) { either("unreachable", path, message, own) }
	w.settings(device, document, defaults, noEffect)
	w.unused(device, document, defaults, noEffect)
}

// rollout looks at what the rollout of its tenant means for a device: counts it, and
// finds out what will be wrong when it is reached.
func (w *worker) rollout(t *tenant, d fleet.Document, device *inspect.Device) {
	if t.folded == "" {
		return
	}
	n := w.cohorts[d.Tenant]
	n[1]++
	if device.Cohort.In {
		n[0]++
	} else {
		err := inspect.Check(t.folded, d.Text)
		if err != nil {
			path, what := inspect.Place(err)
			message := "of the devices that it does not reach yet the core would refuse some: " + what
			w.groups[group{d.Tenant, "rollout-refused", strings.TrimSuffix(reached+path, "."), message}]++
		}
	}
	w.cohorts[d.Tenant] = n
}

// timer returns rules and messages for one timer of a device. A message is the same
// for all devices of a tenant, so that they make one finding.
func (w *worker) timer(s profile.Spread) (found [][2]string) {
	kind, _, register := strings.Cut(s.Name, ".")
	v := s.Value
	switch {
	case v.Limits&spread.Native != 0:
	case v.Limits&spread.Fixed != 0:
		why := fmt.Sprintf("the window has no two values of %d s", s.Timer.Unit)
		switch {
		case v.Limits&spread.Minimum != 0:
			why = "the phone's minimum leaves one value"
		case v.Limits&spread.Floor != 0:
			why = "the floor leaves one value"
		}
		found = append(found, [2]string{"not-spread", kind + " is not spread: " + why})
	case v.Slots < FewValues:
		found = append(found, [2]string{"window-collapses", fmt.Sprintf("the window of %s has %d values of %d s, fewer than %d", kind, v.Slots, s.Timer.Unit, FewValues)})
	}
	if !register {
		return found
	}
	if low := w.options.RegistrarMin; low > 0 && v.Seconds < low {
		found = append(found, [2]string{"registrar-range", fmt.Sprintf("registrations are below the %d s that the registrar grants at least", low)})
	}
	if high := w.options.RegistrarMax; high > 0 && v.Seconds > high {
		found = append(found, [2]string{"registrar-range", fmt.Sprintf("registrations are above the %d s that the registrar grants at most", high)})
	}
	return found
}

// origin is where a device has a timer from: the path in its own document, or in its
// tenant's. A timer from neither is looked for in the tenant's.
func origin(device, tenant gjson.Result, timer string) (path string, own bool) {
	kind, line, register := strings.Cut(timer, ".")
	if register {
		index := 0
		for i, l := range device.Get("lines").Array() {
			if index++; l.Get("index").Exists() {
				index = int(l.Get("index").Int())
			}
			if strconv.Itoa(index) == line && l.Get("register").Exists() {
				return fmt.Sprintf("lines[%d].register", i), true
			}
		}
	}
	path = "timers." + kind
	switch {
	case device.Get(path).Exists():
		return path, true
	case register && tenant.Get("line.register").Exists():
		return "line.register", false
	}
	return path, false
}
