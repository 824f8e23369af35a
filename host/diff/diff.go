// Package diff compares what two sides tell their phones. A side is a fleet and a core;
// the other one has other documents, other templates, another rule for the timers, or
// all of these.
//
// It owns the comparison: both sides render every file of a device, and what differs is
// named parameter by parameter, with what a change of it does to the phone. It must never
// keep more of a device than its numbers (a fleet does not fit into memory), and never
// let a password or a token into a report.
package diff

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"stagger/edge/pack"
	"stagger/edge/pack/source"
	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/fleet"
	"stagger/host/inspect"
	"stagger/host/settings"
)

// A Side is a fleet, and what makes files of its documents.
type Side struct {
	Fleet *fleet.Index
	Core  engine.Engine
}

// Options say what is compared.
type Options struct {
	Old, New Side
	// SameCore says that both cores are the same code. A core is a function of the
	// request and the documents, so where these are the same nothing has to be rendered.
	SameCore bool
	// Keys are the master secrets of both sides, the current one first.
	Keys []string
	// Descriptors and Packs describe the vendors: the files that phones ask for, their
	// syntax, and what reboots them.
	Descriptors []*source.Descriptor
	Packs       []pack.Pack
	// Show is how many devices are kept with everything that changes.
	Show int
	// Progress is called with the share that is done, or nil.
	Progress func(share float64)
}

// Effect is what a change does to a phone.
type Effect uint8

// The effects, the one that says more of a device last.
const (
	Unchanged  Effect = iota
	Live              // the phone takes it without a reboot
	Unverified        // nobody knows
	Reboot            // the pack says that it reboots for it
	CutOff            // its URL or password is not good any more: it gets no file until it has another
	Refused           // it got files and gets none: its document is refused, or it is disabled
	Accepted          // it got none and gets files
	Added             // it is on the new side only
	Removed           // it is on the old side only
	effects
)

var effectNames = [effects]string{"unchanged", "live", "unverified", "reboot", "cut-off", "refused", "accepted", "added", "removed"}

func (e Effect) String() string { return effectNames[e] }

// MarshalText writes the name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Effects lists all effects.
func Effects() []Effect {
	list := make([]Effect, effects)
	for i := range list {
		list[i] = Effect(i)
	}
	return list
}

// Counts are devices by effect.
type Counts [effects]int

// All is the sum.
func (c *Counts) All() int {
	n := 0
	for _, devices := range c {
		n += devices
	}
	return n
}

// Changed is how many devices are not what they were.
func (c *Counts) Changed() int { return c.All() - c[Unchanged] }

// A Parameter is one that changes, with its number left out where a phone has several,
// on the phones of one vendor.
type Parameter struct {
	Vendor string `json:"vendor"`
	// File is the kind of the file, and Name the parameter; "" is what is no parameter.
	File   string `json:"file"`
	Name   string `json:"name"`
	Effect Effect `json:"effect"`
	// Devices counts devices, and Changed, Added and Removed values.
	Devices int `json:"devices"`
	Changed int `json:"changed"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Example is the first one.
	Example Change `json:"example"`

	seen int // the device that was counted last
	at   int // the device of the example
}

// A Change is one value that changes on one phone. Secrets are hidden.
type Change struct {
	// Path is that of settings.Setting; "" is what is no parameter: the order, comments
	// and blanks.
	Path   string  `json:"path"`
	File   string  `json:"file,omitempty"`
	Effect Effect  `json:"effect"`
	Old    *string `json:"old"`
	New    *string `json:"new"`
}

// A Device is one with everything that changes on it.
type Device struct {
	MAC    string `json:"mac"`
	Tenant string `json:"tenant"`
	Vendor string `json:"vendor"`
	Model  string `json:"model"`
	Effect Effect `json:"effect"`
	// Notes say what is no parameter: why it gets no file, for one.
	Notes   []string `json:"notes,omitempty"`
	Changes []Change `json:"changes"`

	at int
}

// A Note is something to know about a number of devices.
type Note struct {
	Text    string `json:"text"`
	Devices int    `json:"devices"`
	// First is the MAC of the first of them.
	First string `json:"first"`

	at int
}

// NoFile begins the note of a device that gets no file any more; behind it is what the
// core says of that: provision.IsDisabled, or what is wrong.
const NoFile = "gets no file any more: "

// A Report is a comparison.
type Report struct {
	// Vendors are the counts by vendor; devices that are only on one side, too.
	Vendors    map[string]*Counts
	Total      Counts
	Parameters []Parameter
	Notes      []Note
	// First are the first devices that change, by MAC.
	First []Device
	// Reboots and Unverified are those that reboot, and that may.
	Reboots, Unverified Herd
}

// Run compares. The error is one of reading or of ctx; what is wrong with a device is in
// the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = func(float64) {}
	}
	c := &comparison{Options: o, vendors: map[string]*vendor{}}
	for _, d := range o.Descriptors {
		p := provision.Pack(o.Packs, d.Vendor)
		if p == nil {
			return nil, fmt.Errorf("diff: no pack of %s", d.Vendor)
		}
		c.vendors[d.Vendor] = &vendor{p, d.Syntax, newRules(d.Reboot)}
	}
	for i, side := range []Side{o.Old, o.New} {
		c.tenants[i] = readTenants(side.Fleet)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := make([]*worker, runtime.GOMAXPROCS(0))
	batches := make(chan []pair, 2*len(workers))
	var wait sync.WaitGroup
	for i := range workers {
		w := newWorker(c)
		workers[i] = w
		wait.Go(func() {
			for batch := range batches {
				for _, p := range batch {
					if ctx.Err() == nil {
						if err := w.device(ctx, p); err != nil {
							cancel(err)
						}
					}
				}
			}
		})
	}
	all := float64(max(1, o.Old.Fleet.Devices()+o.New.Fleet.Devices()))
	var batch []pair
	n, devices := 0, 0
	fleet.Pairs(o.Old.Fleet, o.New.Fleet, func(from, to int) bool {
		batch = append(batch, pair{n, from, to})
		n++
		for _, i := range []int{from, to} {
			if i >= 0 {
				devices++
			}
		}
		if len(batch) == 64 {
			batches <- batch
			batch = nil
			o.Progress(float64(devices) / all)
		}
		return ctx.Err() == nil
	})
	batches <- batch
	close(batches)
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return merge(workers, o.Show), nil
}

// A pair is one device on both sides: positions in the two indexes, -1 for none.
type pair struct{ at, from, to int }

type vendor struct {
	pack   *pack.Pack
	syntax string
	rules  *rules
}

type comparison struct {
	Options
	vendors map[string]*vendor
	tenants [2]map[string]*tenant
}

func (c *comparison) side(i int) *Side {
	if i == 0 {
		return &c.Old
	}
	return &c.New
}

// A worker is what one goroutine has found.
type worker struct {
	*comparison
	counts     map[string]*Counts
	parameters map[parameterKey]*Parameter
	notes      map[string]*Note
	first      []Device
	herds      [2]Herd
	effects    map[effectKey]Effect
	general    map[string]string
	names      map[string]bool
}

type parameterKey struct {
	vendor, file, name string
	effect             Effect
}

type effectKey struct{ vendor, path string }

func newWorker(c *comparison) *worker {
	return &worker{
		comparison: c, counts: map[string]*Counts{}, parameters: map[parameterKey]*Parameter{}, notes: map[string]*Note{},
		herds: [2]Herd{newHerd(), newHerd()}, effects: map[effectKey]Effect{}, general: map[string]string{}, names: map[string]bool{},
	}
}

// A phone is what one side says of a device.
type phone struct {
	tenant *tenant
	device
	mac string
	// token is that in its URL.
	token string
	// refused says why it gets no file, and files are what it gets, by kind.
	refused string
	files   map[string]string
	// checkin is when it checks in, and lines how many registrations it keeps.
	checkin checkin
	lines   int
}

// device compares one device.
func (w *worker) device(ctx context.Context, p pair) error {
	var phones [2]*phone
	var text [2]string
	for i, at := range []int{p.from, p.to} {
		if at < 0 {
			continue
		}
		index := w.side(i).Fleet
		mac, id := index.Device(at)
		var err error
		if text[i], err = index.Document(at); err != nil {
			return err
		}
		phones[i] = &phone{mac: mac, tenant: w.tenants[i][id]}
	}
	if phones[0] != nil && phones[1] != nil && w.SameCore && text[0] == text[1] && phones[0].tenant.text == phones[1].tenant.text {
		// The vendor is all that has to be known of it.
		phones[1].device = readDevice(text[1], phones[1].mac, phones[1].tenant)
		w.count(phones[1].vendor)[Unchanged]++
		return nil
	}
	for i, phone := range phones {
		if phone == nil {
			continue
		}
		phone.device = readDevice(text[i], phone.mac, phone.tenant)
		phone.token = w.token(phone)
		if phones[1-i] != nil { // what only one side has is not compared
			if err := w.render(ctx, w.side(i), phone); err != nil {
				return err
			}
		}
	}
	w.judge(p.at, phones[0], phones[1])
	return nil
}

func (w *worker) count(vendor string) *Counts {
	c := w.counts[vendor]
	if c == nil {
		c = new(Counts)
		w.counts[strings.Clone(vendor)] = c
	}
	return c
}

// documents is a store with those of one device.
type documents struct{ tenantKey, tenant, deviceKey, device string }

func (d *documents) Get(_ context.Context, key string) (string, bool, error) {
	switch key {
	case d.tenantKey:
		return d.tenant, true, nil
	case d.deviceKey:
		return d.device, true, nil
	}
	return "", false, nil
}

// render asks the core for every file, the way the phone does.
func (w *worker) render(ctx context.Context, side *Side, p *phone) error {
	v := w.vendors[p.vendor]
	if v == nil {
		p.refused = "vendor: is not a vendor that this version knows"
		return nil
	}
	store := documents{fleet.TenantKey(p.tenant.id), p.tenant.open, fleet.DeviceKey(p.tenant.id, p.mac), p.text}
	p.files = make(map[string]string, 2)
	for i := range v.pack.Files {
		f := &v.pack.Files[i]
		if f.Program == nil && f.Text == "" {
			continue
		}
		name := f.Prefix // of a file that is the same for everybody
		if f.MAC {
			name = inspect.FileName(f, p.mac, p.model)
		}
		request := wire.Request{
			Flags: wire.FlagTLS, Method: "GET", Keys: w.Keys, Target: "/" + p.tenant.id + "/" + p.token + "/" + name,
		}
		switch p.tenant.auth {
		case "open":
			request.Facts = []wire.Pair{{Name: "open", Value: p.tenant.id}}
		case "basic":
			request.Facts = []wire.Pair{{Name: "authorization", Value: w.authorization(p)}}
		}
		response, err := exchange.Answer(ctx, side.Core, &store, &request)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		outcome, why := "", ""
		for _, pair := range response.Audit {
			switch pair.Name {
			case "outcome":
				outcome = pair.Value
			case "error", "cause":
				why = pair.Value
			case "timers":
				p.timers(pair.Value)
			}
		}
		switch {
		case err == nil && response.Status == 200:
			p.files[f.Kind] = string(response.Body)
		case err == nil && (outcome == provision.OtherVendor || outcome == provision.NotServed || outcome == provision.Malformed):
			// This core has no such file.
		default:
			// Without the key of the document, which names one device of many.
			why = strings.TrimPrefix(why, store.deviceKey+": ")
			p.refused = outcome
			if why != "" {
				p.refused += ": " + why
			}
			return nil
		}
	}
	if len(p.files) == 0 {
		p.refused = "this core has no file for it"
	}
	return nil
}

// timers reads the list in the record of a request.
func (p *phone) timers(list string) {
	p.lines = 0
	for part := range strings.SplitSeq(list, " ") {
		name, value, _ := strings.Cut(part, "=")
		if name == "checkin" {
			p.checkin = readCheckin(value)
		}
		if strings.HasPrefix(name, "register.") {
			p.lines++
		}
	}
}

// token is that in the device's URL.
func (w *worker) token(p *phone) string {
	if p.tenant.auth == "open" {
		return provision.OpenToken
	}
	return provision.Token(w.Keys[0], p.tenant.id, p.mac, p.generation)
}

// judge finds out what happens to a device.
func (w *worker) judge(at int, from, to *phone) {
	d := Device{at: at, Changes: []Change{}}
	this := to
	if this == nil {
		this = from
	}
	d.MAC, d.Tenant, d.Vendor, d.Model = this.mac, this.tenant.id, this.vendor, this.model
	note := func(text string, general bool) {
		d.Notes = append(d.Notes, text)
		if general {
			w.note(at, d.MAC, text)
		}
	}
	switch {
	case from == nil:
		d.Effect = Added
	case to == nil:
		d.Effect = Removed
	case from.refused != "" && to.refused != "":
		d.Effect = Unchanged // no phone gets anything
	case to.refused != "":
		d.Effect = Refused
		note(NoFile+to.refused, true)
	case from.refused != "":
		d.Effect = Accepted
		note("got no file: "+from.refused, true)
	default:
		d.Changes = w.changes(from, to)
		for _, c := range d.Changes {
			d.Effect = max(d.Effect, c.Effect)
		}
		if from.vendor != to.vendor {
			d.Effect = max(d.Effect, Unverified)
			note("is of another vendor: "+from.vendor+" before", true)
		}
		w.access(from, to, &d, note)
	}
	w.count(d.Vendor)[d.Effect]++
	if d.Effect == Unchanged {
		return
	}
	if d.Effect == Live || d.Effect == Unverified || d.Effect == Reboot {
		w.tally(at, &d)
	}
	if d.Effect == Unverified || d.Effect == Reboot {
		h := &w.herds[0]
		if d.Effect == Unverified {
			h = &w.herds[1]
		}
		lamps := 0
		if to.lines > 0 {
			lamps = to.lamps
		}
		// It meets the change at the check-in that it was told before.
		h.add(from.checkin, to.lines, lamps)
	}
	// Batches come to a worker in order, so the first are the first.
	if len(w.first) < w.Show {
		w.first = append(w.first, d)
	}
}

func (w *worker) note(at int, mac, text string) {
	n := w.notes[text]
	if n == nil {
		n = &Note{Text: text, First: mac, at: at}
		w.notes[text] = n
	}
	n.Devices++
}

// access says whether the phone still gets in with what it has, and what else changes
// about its URL.
func (w *worker) access(from, to *phone, d *Device, note func(string, bool)) {
	password := func(t *tenant) bool { return t.auth == "basic" }
	why := ""
	switch {
	case from.tenant.id != to.tenant.id:
		why = "is of another tenant: its URL is not good any more"
	case from.generation != to.generation && to.tenant.auth != "open":
		why = "is of another generation: its URL is revoked"
	case from.tenant.auth == "open" && to.tenant.auth != "open":
		why = "needs a URL with a token, and has one without"
	case !password(from.tenant) && password(to.tenant):
		why = "has to show a password that it does not have"
	}
	if why != "" {
		d.Effect = CutOff
		note(why, true)
	}
	if from.url() != to.url() {
		note("gets another provisioning URL", true)
	}
	if to.tenant.certificate && !from.tenant.certificate {
		note("has to show its factory certificate", true)
	}
}

func (p *phone) url() string { return p.base + "/" + p.tenant.id + "/" + p.token }

// changes compares all files of a device.
func (w *worker) changes(from, to *phone) (list []Change) {
	list = []Change{}
	v, before := w.vendors[to.vendor], w.vendors[from.vendor]
	var hide *mask
	kinds := make([]string, 0, 4)
	for _, files := range []map[string]string{from.files, to.files} {
		for kind := range files {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		a, had := from.files[kind]
		b, has := to.files[kind]
		if a == b && had == has {
			continue
		}
		old, err := read(before.syntax, a, had)
		now, errNow := read(v.syntax, b, has)
		if err != nil || errNow != nil {
			// A file of other templates may have a form that no reader knows.
			list = append(list, Change{File: kind, Effect: Unverified})
			continue
		}
		if hide == nil {
			hide = w.newMask(from, to)
		}
		changes := settings.Compare(old, now)
		if len(changes) == 0 {
			list = append(list, Change{File: kind, Effect: w.effect(v, "")})
		}
		for _, c := range changes {
			list = append(list, Change{Path: c.Path, File: kind, Effect: w.effect(v, c.Path), Old: hide.value(c.Path, c.Old), New: hide.value(c.Path, c.New)})
		}
	}
	return list
}

func read(syntax, file string, there bool) ([]settings.Setting, error) {
	if !there {
		return nil, nil
	}
	return settings.Read(syntax, file)
}

func (w *worker) effect(v *vendor, path string) Effect {
	key := effectKey{v.pack.Vendor, path}
	e, ok := w.effects[key]
	if !ok {
		e = v.rules.effect(path)
		key.path = strings.Clone(path)
		w.effects[key] = e
	}
	return e
}

// tally counts the changes of a device by parameter.
func (w *worker) tally(at int, d *Device) {
	vendor := w.vendors[d.Vendor].pack.Vendor // d.Vendor is a part of a document
	for _, c := range d.Changes {
		name, ok := w.general[c.Path]
		if !ok {
			path := strings.Clone(c.Path)
			name = general(path)
			w.general[path] = name
		}
		key := parameterKey{vendor, c.File, name, c.Effect}
		p := w.parameters[key]
		if p == nil {
			p = &Parameter{Vendor: vendor, File: c.File, Name: name, Effect: c.Effect, Example: keep(c), seen: -1, at: at}
			w.parameters[key] = p
		}
		if p.seen != at {
			p.seen = at
			p.Devices++
		}
		switch {
		case c.Old == nil && c.New != nil:
			p.Added++
		case c.Old != nil && c.New == nil:
			p.Removed++
		default:
			p.Changed++
		}
	}
}

// keep is a change that does not keep its file in memory.
func keep(c Change) Change {
	for _, s := range []**string{&c.Old, &c.New} {
		if *s != nil {
			copied := strings.Clone(**s)
			*s = &copied
		}
	}
	c.Path = strings.Clone(c.Path)
	return c
}
