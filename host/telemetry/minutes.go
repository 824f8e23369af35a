package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// maxGroups is how many groups are kept. A scanner that makes names up can fill
// them; then they go into the buffer early, and nothing is lost.
const maxGroups = 1024

// minutes makes one record of those that are of one minute, tenant, vendor, file,
// outcome, cohort and status. Its fields are those, "requests", how many they
// were, "bytes" and "ms", the sums, and "ms_max". A minute that a flush comes into has
// two records, to be added up.
type minutes struct {
	to slog.Handler

	mu     sync.Mutex
	groups map[group]*sums
}

type group struct {
	minute                                int64 // since 1970
	status                                int64
	tenant, vendor, file, outcome, cohort string
}

type sums struct {
	requests, bytes int64
	ms, max         float64
}

func newMinutes(to slog.Handler) *minutes {
	return &minutes{to: to, groups: map[group]*sums{}}
}

func (m *minutes) add(r slog.Record) {
	g := group{minute: r.Time.Unix() / 60}
	one := sums{requests: 1}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "status":
			g.status = a.Value.Int64()
		case "bytes":
			one.bytes = a.Value.Int64()
		case "ms":
			one.ms = a.Value.Float64()
		case "tenant":
			g.tenant = a.Value.String()
		case "vendor":
			g.vendor = a.Value.String()
		case "file":
			g.file = a.Value.String()
		case "outcome":
			g.outcome = a.Value.String()
		case "cohort":
			g.cohort = a.Value.String()
		}
		return true
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.groups[g]
	if s == nil {
		if len(m.groups) == maxGroups {
			m.emit()
		}
		// The strings are parts of an answer, which they would keep alive.
		for _, text := range []*string{&g.tenant, &g.vendor, &g.file, &g.outcome, &g.cohort} {
			*text = strings.Clone(*text)
		}
		s = new(sums)
		m.groups[g] = s
	}
	s.requests += one.requests
	s.bytes += one.bytes
	s.ms += one.ms
	s.max = max(s.max, one.ms)
}

// flush hands over what there is.
func (m *minutes) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emit()
}

func (m *minutes) emit() {
	for g, s := range m.groups {
		r := slog.NewRecord(time.Unix(g.minute*60, 0).UTC(), slog.LevelInfo, "minute", 0)
		for _, field := range []slog.Attr{
			slog.String("tenant", g.tenant), slog.String("vendor", g.vendor), slog.String("file", g.file),
			slog.String("outcome", g.outcome), slog.String("cohort", g.cohort),
		} {
			if field.Value.String() != "" {
				r.AddAttrs(field)
			}
		}
		r.AddAttrs(slog.Int64("status", g.status), slog.Int64("requests", s.requests), slog.Int64("bytes", s.bytes),
			slog.Float64("ms", s.ms), slog.Float64("ms_max", s.max))
		_ = m.to.Handle(context.Background(), r) // the buffer never fails
	}
	clear(m.groups)
}
