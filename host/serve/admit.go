package serve

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"

	"stagger/edge/wire"
	"stagger/host/admission"
	"stagger/host/plan"
)

// Later is the outcome of a request that was sent away until its slot.
const Later = "later"

// An Admission lets phones in at a rate. It stands before the core and knows of a
// request no more than its path, so it answers everybody alike, whether the tenant
// and the phone exist or not.
type Admission struct {
	gate *admission.Gate
	once sync.Once
	// begin is the first request's time, from which the gate counts seconds.
	begin time.Time
}

// slotChance is the chance of a second to have more phones in their slots than
// the rate, if they came at random instead of when told to.
const slotChance = 1e-3

// NewAdmission lets rate phones a second in, and burst at once after a pause; 0 is
// those of one second. Slots are handed out more slowly, lest those who come in
// theirs find the place taken by others.
func NewAdmission(rate, burst float64) *Admission {
	if burst == 0 {
		burst = rate
	}
	return &Admission{gate: admission.NewGate(rate, burst, max(plan.Mean(rate, slotChance), rate/2))}
}

func (a *Admission) seconds(now time.Time) float64 {
	a.once.Do(func() { a.begin = now })
	return now.Sub(a.begin).Seconds()
}

// admit returns 0, or after how many seconds the phone should come again.
func (a *Admission) admit(target string, client netip.Addr, now time.Time) int {
	path, _, _ := strings.Cut(target, "?")
	tenant, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	token, _, _ := strings.Cut(rest, "/")
	phone := tenant + "/" + token
	// What is too short for a token is no phone's own. Then the address has to do.
	if len(token) < 20 {
		phone += "/" + client.String()
	}
	return a.gate.Admit(a.seconds(now), xxhash.Sum64String(phone), xxhash.Sum64String(tenant))
}

// later is the answer to a phone that is sent away.
func later(method string, after int) wire.Response {
	r := wire.Response{
		Status: 503,
		Headers: []wire.Pair{
			{Name: "content-type", Value: "text/plain; charset=utf-8"},
			{Name: "content-length", Value: "6"},
			{Name: "cache-control", Value: "no-store, no-transform"},
			{Name: "x-content-type-options", Value: "nosniff"},
			{Name: "accept-ranges", Value: "none"},
			{Name: "retry-after", Value: strconv.Itoa(after)},
		},
		Audit: []wire.Pair{{Name: "outcome", Value: Later}, {Name: "after", Value: strconv.Itoa(after)}},
	}
	if method != "HEAD" {
		r.Body = []byte("later\n")
	}
	return r
}

// WatchAdmission shows what a gate has free and how far ahead its slots are taken.
func (m *Metrics) WatchAdmission(a *Admission, now func() time.Time) {
	gauge := func(name, help string, value func(free float64, queue int) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			return value(a.gate.State(a.seconds(now())))
		}))
	}
	gauge("stagger_admission_tokens", "Phones that would be let in at once.", func(free float64, _ int) float64 { return free })
	gauge("stagger_admission_queue_seconds", "How many seconds ahead slots are taken.", func(_ float64, queue int) float64 { return float64(queue) })
}
