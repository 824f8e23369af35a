// Package generate makes up fleets: as large as wanted, with every vendor and model
// that there is a pack for, and the same ones from the same seed.
//
// It owns what a made-up fleet looks like. It must never make a document that the
// core refuses, never need more memory for more devices, and never touch a real
// device: its passwords are as random as its seed is secret, which is not at all.
package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"stagger/edge/pack/source"
	"stagger/edge/profile"
	"stagger/host/inspect"
)

// MaxDevices is how many addresses a vendor's prefix has room for.
const MaxDevices = 1 << 24

// Options say what a fleet is like.
type Options struct {
	// Devices is from 1 to MaxDevices, Tenants from 1 to Devices.
	Devices, Tenants int
	Seed             uint64
	// URL is the tenants' "url".
	URL string
	// Show is called with the share that is done, or nil.
	Show func(share float64)
}

// Write writes a fleet file: every tenant with its devices behind it. Devices are
// made on all processors and written in order.
func Write(out io.Writer, packs []*source.Descriptor, o Options) error {
	if o.Devices < 1 || o.Devices > MaxDevices || o.Tenants < 1 || o.Tenants > o.Devices {
		return fmt.Errorf("generate: from 1 to %d devices, and from 1 tenant to as many as devices", MaxDevices)
	}
	if len(packs) == 0 {
		return fmt.Errorf("generate: no vendor")
	}
	if o.Show == nil {
		o.Show = func(float64) {}
	}
	g := &generator{Options: o, packs: packs}
	workers := runtime.GOMAXPROCS(0)
	work, ordered := make(chan *batch), make(chan *batch, 4*workers)
	var stop atomic.Bool
	go func() {
		defer close(work)
		defer close(ordered)
		g.batches(func(b *batch) bool {
			ordered <- b
			work <- b
			return !stop.Load()
		})
	}()
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for b := range work {
				if !stop.Load() {
					b.err = g.make(b)
				}
				close(b.done)
			}
		})
	}
	done := 0
	var err error
	for b := range ordered {
		<-b.done
		if err != nil {
			continue
		}
		if err = b.err; err == nil {
			_, err = b.text.WriteTo(out)
		}
		if err != nil {
			stop.Store(true)
		}
		done += b.to - b.from
		o.Show(float64(done) / float64(o.Devices))
	}
	wait.Wait()
	return err
}

type generator struct {
	Options
	packs []*source.Descriptor
}

// A batch is devices of one tenant, those from and below to, counted in the tenant.
type batch struct {
	tenant   *tenant
	from, to int
	text     bytes.Buffer
	err      error
	done     chan struct{}
}

// A tenant is one customer.
type tenant struct {
	// number counts tenants, and first is the number of its first device in the fleet.
	number, first, devices int
	id, text               string
	region                 region
	// main is the vendor that most of its phones are of.
	main int
}

// batches calls yield with every batch in order, as long as that says so.
func (g *generator) batches(yield func(*batch) bool) {
	const size = 64
	first := 0
	for number, devices := range g.sizes() {
		t := g.tenant(number, first, devices)
		for from := 0; from < devices; from += size {
			if !yield(&batch{tenant: t, from: from, to: min(from+size, devices), done: make(chan struct{})}) {
				return
			}
		}
		first += devices
	}
}

// sizes shares the devices out: many small tenants and a few large ones.
func (g *generator) sizes() []int {
	random := g.random(0, 0)
	weights := make([]float64, g.Tenants)
	total := 0.0
	for i := range weights {
		weights[i] = math.Exp(1.2 * random.NormFloat64())
		total += weights[i]
	}
	sizes, left := make([]int, g.Tenants), g.Devices-g.Tenants
	rest := left
	for i := range sizes {
		more := min(int(float64(rest)*weights[i]/total), left)
		sizes[i] = 1 + more
		left -= more
	}
	for i := 0; left > 0; i = (i + 1) % len(sizes) {
		sizes[i]++
		left--
	}
	return sizes
}

// random is the source of one thing: what is 0 for the sizes, 1 for a tenant, 2 for a
// device. So no thing depends on how many were made before it.
func (g *generator) random(what, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.Seed, what<<56|number))
}

func oneOf[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// chance is true once in n times.
func chance(random *rand.Rand, n int) bool { return random.IntN(n) == 0 }

func (g *generator) tenant(number, first, devices int) *tenant {
	random := g.random(1, uint64(number))
	t := &tenant{number: number, first: first, devices: devices, main: random.IntN(len(g.packs)), region: oneOf(random, regions)}
	t.id = fmt.Sprintf("%s-%d", oneOf(random, places), number+1)
	server := "pbx." + t.id + ".example.com"
	document := tenantDocument{
		Tenant: t.id, URL: g.URL, TimeZone: t.region.zone, NTP: []string{"0.pool.ntp.org", "1.pool.ntp.org"},
		AdminPassword: secret(random), PickupCode: "*8",
		Line: &lineDefaults{Server: server, Transport: oneOf(random, []string{"tls", "tls", "udp", "tcp"}), Voicemail: "*97"},
	}
	if document.Line.Transport == "tls" {
		document.Line.SRTP = "optional"
	}
	if chance(random, 2) {
		document.Phonebook = &phonebook{Name: "Company", URL: "https://" + server + "/phonebook.xml"}
	}
	if chance(random, 3) {
		document.Timers = map[string]timer{
			"checkin": {43200, 7200, 7200}, "register": {1800, 300, 120}, "subscribe": {3600, 600, 120},
		}
	}
	if chance(random, 10) {
		document.Auth = "basic"
	}
	if chance(random, 10) {
		document.Place = "modulo-1"
	}
	t.text = encode(document)
	return t
}

// make makes the documents of a batch.
func (g *generator) make(b *batch) error {
	if b.from == 0 {
		b.text.WriteString(b.tenant.text + "\n")
	}
	for n := b.from; n < b.to; n++ {
		text, err := g.device(b.tenant, n)
		if err != nil {
			return err
		}
		b.text.WriteString(text + "\n")
	}
	return nil
}

// mac is the address of a device: in runs of 32, as they come out of a box, and
// never the same for two numbers.
func (g *generator) mac(number int, prefix string) string {
	const run = 32
	// An odd factor makes of the numbers of runs as many different ones.
	const runs = MaxDevices / run
	at := (uint64(number/run)*(2*g.Seed+0x9e3779b1) + g.Seed) % runs
	return fmt.Sprintf("%s%06x", prefix, at*run+uint64(number%run))
}

// device makes the document of the tenant's device n. What a phone cannot express is
// taken out of it, until the core takes it.
func (g *generator) device(t *tenant, n int) (string, error) {
	random := g.random(2, uint64(t.first+n))
	p := g.packs[t.main]
	if chance(random, 3) {
		p = oneOf(random, g.packs)
	}
	d := g.draw(random, t, n, p)
	model := d.Model
	text := encode(d)
	err := inspect.Check(t.text, text)
	for _, simpler := range []func(){
		func() { d.Language, d.Codecs = "", nil },
		func() { d.Keys = plain(d.Keys) },
		func() { d.Keys = nil },
		func() { d.Lines = d.Lines[:1] },
		func() { d.TimeZone = "" },
		func() { d.Lines[0].Label, d.Lines[0].DisplayName = "", "" },
	} {
		if err == nil {
			return text, nil
		}
		simpler()
		text = encode(d)
		err = inspect.Check(t.text, text)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: no document that the core takes: %w", p.Vendor, model, err)
	}
	return text, nil
}

// plain leaves of keys what every phone with keys can do.
func plain(keys []key) (list []key) {
	for _, k := range keys {
		if k.Module == 0 && (k.Type == "blf" || k.Type == "speed-dial") {
			list = append(list, key{Type: k.Type, Value: k.Value, Label: k.Label})
		}
	}
	return list
}

// extension is the number of a tenant's device n.
func (t *tenant) extension(n int) string {
	switch {
	case t.devices <= 800:
		n += 101
	case t.devices <= 8000:
		n += 1001
	default:
		n += 100001
	}
	return fmt.Sprint(n)
}

// owner is whose phone device n of a tenant is.
func (g *generator) owner(t *tenant, n int) string {
	random := g.random(3, uint64(t.first+n))
	if chance(random, 6) {
		return oneOf(random, rooms)
	}
	return oneOf(random, names) + ", " + oneOf(random, departments)
}

func (g *generator) draw(random *rand.Rand, t *tenant, n int, p *source.Descriptor) *deviceDocument {
	model := oneOf(random, p.Models)
	prefix := local(p.Vendor)
	if list := p.Addresses.Prefixes; len(list) > 0 {
		prefix = oneOf(random, list)
	}
	d := &deviceDocument{Device: g.mac(t.first+n, prefix), Tenant: t.id, Vendor: p.Vendor, Model: model.Name}
	switch random.IntN(100) {
	case 0:
		d.State = profile.Disabled
	case 1, 2:
		d.State = profile.Staged
	}
	if chance(random, 200) {
		d.Generation = 1 + random.IntN(3)
	}
	if _, ok := p.Tables["language"][t.region.language]; ok {
		d.Language = t.region.language
	}
	if p.Timers["checkin"].Kind == source.TimeOfDay {
		// Whole days, whatever the tenant has for others.
		d.Timers = map[string]timer{"checkin": {86400, 14400, 3600}}
	}
	if chance(random, 50) {
		d.TimeZone = oneOf(random, regions).zone
	}
	if chance(random, 3) && len(p.Codecs) > 0 {
		for _, c := range []string{"g722", "pcma", "pcmu"} {
			for _, known := range p.Codecs {
				if c == known {
					d.Codecs = append(d.Codecs, c)
				}
			}
		}
	}
	owner := g.owner(t, n)
	d.Lines = []line{{User: t.extension(n), Password: secret(random), Label: t.extension(n), DisplayName: owner}}
	for group := random.IntN(len(departments)); chance(random, 5) && len(d.Lines) < min(int(model.Lines), 4); group = (group + 1) % len(departments) {
		l := line{User: fmt.Sprint(60 + group), Password: secret(random), Label: departments[group]}
		if chance(random, 2) {
			l.Register = 1800
		}
		d.Lines = append(d.Lines, l)
	}
	d.Keys = g.keys(random, t, n, p, model, len(d.Lines))
	return d
}

// keys lays out the keys of a phone; none is what the phone does by itself.
func (g *generator) keys(random *rand.Rand, t *tenant, n int, p *source.Descriptor, model source.Model, lines int) (list []key) {
	room := int(model.Keys)
	if room <= lines || chance(random, 4) {
		return nil
	}
	can := func(kind string) bool { _, ok := p.Tables["key"][kind]; return ok || p.Tables["key"] == nil }
	for i := range lines {
		k := key{Type: "line"}
		if i > 0 {
			k.Line = i + 1
		}
		list = append(list, k)
	}
	for range random.IntN(min(room-lines, 20) + 1) {
		list = append(list, g.lamp(random, t, n))
	}
	for _, k := range []key{{Type: "speed-dial", Value: "+38111222333", Label: "Taxi"}, {Type: "voicemail"}, {Type: "dnd"}} {
		if len(list) < room && can(k.Type) && chance(random, 3) {
			list = append(list, k)
		}
	}
	if model.Modules > 0 && chance(random, 10) {
		for i := range random.IntN(int(model.ModuleKeys)) + 1 {
			k := g.lamp(random, t, n)
			if k.Module = 1; i == 0 {
				k.Index = 1
			}
			list = append(list, k)
		}
	}
	return list
}

// lamp watches another phone of the tenant.
func (g *generator) lamp(random *rand.Rand, t *tenant, n int) key {
	other := (n + 1 + random.IntN(30)) % t.devices
	return key{Type: "blf", Value: t.extension(other), Label: g.owner(t, other)}
}

// local is a prefix of addresses that belong to nobody, for a vendor whose own are not
// known.
func local(vendor string) string {
	sum := uint16(0)
	for _, c := range []byte(vendor) {
		sum = sum*31 + uint16(c)
	}
	return fmt.Sprintf("02%04x", sum)
}

// secret is a password of 24 letters and digits.
func secret(random *rand.Rand) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b [24]byte
	for i := range b {
		b[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(b[:])
}

func encode(document any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		panic(err) // there is nothing in a document that JSON cannot say
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
