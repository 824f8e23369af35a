package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stagger/edge/provision"
	"stagger/edge/wire"
	"stagger/host/engine"
	"stagger/host/exchange"
	"stagger/host/telemetry"
)

// outcomes are the words that may label a metric: those of the core, and the
// host's own.
var outcomes = words(
	provision.OK, provision.Public, provision.Method, provision.Malformed, provision.NotServed, provision.PlainHTTP, provision.NoKey,
	provision.BadToken, provision.NoTenant, provision.NoDevice, provision.IsDisabled, provision.Revoked,
	provision.Credentials, provision.StaleNonce, provision.NoCert,
	provision.OtherVendor, provision.Store, provision.Invalid, "failed", Later,
)

func words(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, w := range list {
		m[w] = true
	}
	return m
}

// Metrics are what the operator's server shows to Prometheus. Every label is a
// word of a fixed set: no client can make a new series.
type Metrics struct {
	registry    *prometheus.Registry
	files       map[string]bool
	requests    *prometheus.CounterVec
	seconds     prometheus.Histogram
	rendering   prometheus.Histogram
	storeErrors prometheus.Counter
	unstable    prometheus.Counter
}

// buckets are of seconds: an answer takes 0.1 ms, and one that waits its turn more.
var buckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, 1, 10}

// NewMetrics returns metrics of the engine and of the process. kinds are the
// words for files that the vendor packs have.
func NewMetrics(core engine.Engine, kinds []string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		files:    words(kinds...),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stagger_requests_total",
			Help: "Requests answered, by what came of them and which file was asked for.",
		}, []string{"outcome", "file"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "stagger_request_seconds",
			Help:    "Time from the request's header to the end of the answer.",
			Buckets: buckets,
		}),
		rendering: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "stagger_render_seconds",
			Help:    "Time that the core and the store took for a file, with the wait for an instance.",
			Buckets: buckets,
		}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stagger_store_errors_total",
			Help: "Documents that the store could not tell of.",
		}),
		unstable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stagger_unstable_files_total",
			Help: "Files whose bytes changed although their documents did not.",
		}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.rendering, m.storeErrors, m.unstable, engineCollector{core},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers with the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe counts an answer. answering is the time that it took the core and the
// store, took the time of the whole request.
func (m *Metrics) observe(response *wire.Response, answering, took time.Duration) {
	outcome, file := "other", "none"
	for _, field := range response.Audit {
		switch {
		case field.Name == "outcome" && outcomes[field.Value]:
			outcome = strings.Clone(field.Value) // lest it keeps the whole answer alive
		case field.Name == "file" && m.files[field.Value]:
			file = strings.Clone(field.Value)
		case field.Name == "file":
			file = "other"
		}
	}
	m.requests.WithLabelValues(outcome, file).Inc()
	m.seconds.Observe(took.Seconds())
	if outcome == provision.OK {
		m.rendering.Observe(answering.Seconds())
	}
}

// CountErrors returns store with its errors counted.
func (m *Metrics) CountErrors(store exchange.Store) exchange.Store {
	return countedStore{store, m.storeErrors}
}

type countedStore struct {
	exchange.Store
	errors prometheus.Counter
}

func (s countedStore) Get(ctx context.Context, key string) (string, bool, error) {
	value, found, err := s.Store.Get(ctx, key)
	// A phone that hung up is not an error of the store.
	if err != nil && !errors.Is(err, context.Canceled) {
		s.errors.Inc()
	}
	return value, found, err
}

// WatchFleet shows what is served and what was refused, and counts the errors of the
// store. It is for a fleet that is not served yet.
func (m *Metrics) WatchFleet(f *Fleet) {
	f.count = m.CountErrors
	r := f.current.Load()
	r.store = m.CountErrors(r.documents)
	m.registry.MustRegister(fleetCollector{f})
}

type fleetCollector struct{ *Fleet }

var (
	fleetDesc    = prometheus.NewDesc("stagger_fleet_info", "The fleet that is served: the same version on another host means the same documents.", []string{"version"}, nil)
	loadedDesc   = prometheus.NewDesc("stagger_fleet_loaded_timestamp_seconds", "When it was read.", nil, nil)
	tenantsDesc  = prometheus.NewDesc("stagger_fleet_tenants", "Tenants in it.", nil, nil)
	devicesDesc  = prometheus.NewDesc("stagger_fleet_devices", "Devices in it.", nil, nil)
	attemptsDesc = prometheus.NewDesc("stagger_fleet_loads_total", "Attempts to read a fleet.", []string{"result"}, nil)
	staleDesc    = prometheus.NewDesc("stagger_fleet_stale", "1 when the last attempt was refused, so that an older fleet is served.", nil, nil)
)

// Describe implements prometheus.Collector.
func (fleetCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{fleetDesc, loadedDesc, tenantsDesc, devicesDesc, attemptsDesc, staleDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (f fleetCollector) Collect(ch chan<- prometheus.Metric) {
	s := f.State()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(fleetDesc, 1, s.Version)
	gauge(loadedDesc, float64(s.Loaded.Unix()))
	gauge(tenantsDesc, float64(s.Tenants))
	gauge(devicesDesc, float64(s.Devices))
	stale := 0.0
	if !s.Failed.IsZero() {
		stale = 1
	}
	gauge(staleDesc, stale)
	ch <- prometheus.MustNewConstMetric(attemptsDesc, prometheus.CounterValue, float64(s.Loads), "ok")
	ch <- prometheus.MustNewConstMetric(attemptsDesc, prometheus.CounterValue, float64(s.Refused), "refused")
}

// engineCollector shows an engine's own counts.
type engineCollector struct{ engine.Engine }

var (
	instancesDesc = prometheus.NewDesc("stagger_engine_instances_max", "How many instances of the core there may be.", nil, nil)
	inUseDesc     = prometheus.NewDesc("stagger_engine_instances_in_use", "How many instances are at work.", nil, nil)
	callsDesc     = prometheus.NewDesc("stagger_engine_calls_total", "Calls of the core.", nil, nil)
	failuresDesc  = prometheus.NewDesc("stagger_engine_failures_total", "Calls that failed.", []string{"cause"}, nil)
	discardsDesc  = prometheus.NewDesc("stagger_engine_discards_total", "Instances that were thrown away.", []string{"cause"}, nil)
)

// Describe implements prometheus.Collector.
func (engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{instancesDesc, inUseDesc, callsDesc, failuresDesc, discardsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (e engineCollector) Collect(ch chan<- prometheus.Metric) {
	s := e.Stats()
	ch <- prometheus.MustNewConstMetric(instancesDesc, prometheus.GaugeValue, float64(s.Size))
	ch <- prometheus.MustNewConstMetric(inUseDesc, prometheus.GaugeValue, float64(s.InUse))
	ch <- prometheus.MustNewConstMetric(callsDesc, prometheus.CounterValue, float64(s.Calls))
	for _, c := range engine.Causes() {
		ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(s.Failures[c]), c.String())
		ch <- prometheus.MustNewConstMetric(discardsDesc, prometheus.CounterValue, float64(s.Discards[c]), c.String())
	}
}

// WatchTelemetry shows what becomes of the records.
func (m *Metrics) WatchTelemetry(r *telemetry.Recorder) {
	m.registry.MustRegister(telemetryCollector{r})
}

// telemetryCollector shows a recorder's own counts.
type telemetryCollector struct{ *telemetry.Recorder }

var (
	recordsDesc     = prometheus.NewDesc("stagger_telemetry_records_total", "Records that were made.", nil, nil)
	sentDesc        = prometheus.NewDesc("stagger_telemetry_sent_total", "Records that the sink has.", nil, nil)
	droppedDesc     = prometheus.NewDesc("stagger_telemetry_dropped_total", "Records that nobody will see: the buffer was full, the spool was, or the sink refused them.", []string{"cause"}, nil)
	flushesDesc     = prometheus.NewDesc("stagger_telemetry_flushes_total", "Flushes that were due.", nil, nil)
	sendErrorsDesc  = prometheus.NewDesc("stagger_telemetry_failures_total", "Attempts to send that failed.", nil, nil)
	bufferDesc      = prometheus.NewDesc("stagger_telemetry_buffer_bytes", "Memory of the buffer.", nil, nil)
	bufferMaxDesc   = prometheus.NewDesc("stagger_telemetry_buffer_max_bytes", "Memory that the buffer may take.", nil, nil)
	spoolDesc       = prometheus.NewDesc("stagger_telemetry_spool_bytes", "Disk of the spool.", nil, nil)
	spoolMaxDesc    = prometheus.NewDesc("stagger_telemetry_spool_max_bytes", "Disk that the spool may take.", nil, nil)
	waitingDesc     = prometheus.NewDesc("stagger_telemetry_waiting_records", "Records that wait in the buffer or the spool.", nil, nil)
	lastSuccessDesc = prometheus.NewDesc("stagger_telemetry_last_success_timestamp_seconds", "When the sink last took records, since 1970; 0 when it never did.", nil, nil)
)

// Describe implements prometheus.Collector.
func (telemetryCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{recordsDesc, sentDesc, droppedDesc, flushesDesc, sendErrorsDesc, bufferDesc,
		bufferMaxDesc, spoolDesc, spoolMaxDesc, waitingDesc, lastSuccessDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (t telemetryCollector) Collect(ch chan<- prometheus.Metric) {
	s := t.Stats()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	count(recordsDesc, s.Recorded)
	count(sentDesc, s.Sent)
	count(droppedDesc, s.NoRoom, "buffer")
	count(droppedDesc, s.Displaced, "spool")
	count(droppedDesc, s.Refused, "refused")
	count(flushesDesc, s.Flushes)
	count(sendErrorsDesc, s.Failures)
	gauge(bufferDesc, float64(s.BufferBytes))
	gauge(bufferMaxDesc, float64(s.BufferLimit))
	gauge(spoolDesc, float64(s.SpoolBytes))
	gauge(spoolMaxDesc, float64(s.SpoolLimit))
	gauge(waitingDesc, float64(s.Buffered+s.Spooled))
	last := 0.0
	if !s.LastSent.IsZero() {
		last = float64(s.LastSent.UnixNano()) / 1e9
	}
	gauge(lastSuccessDesc, last)
}
