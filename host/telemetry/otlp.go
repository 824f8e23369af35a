package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// NewOTLP returns a sink that takes records as logs of OTLP over HTTP, as an
// OpenTelemetry Collector does. Fields become attributes of the same names; time,
// level and msg become the timestamp, the severity and the body. A URL without a
// path means /v1/logs.
func NewOTLP(to *url.URL, header http.Header) (Sink, error) {
	if to.RawQuery != "" {
		return nil, errors.New("has a query in its URL, which OTLP does not have")
	}
	at := *to
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/v1/logs"
	}
	s := &otlp{client: newClient(header)}
	// Every option, lest variables of the environment decide.
	exporter, err := otlploghttp.New(context.Background(),
		otlploghttp.WithEndpointURL(at.String()),
		otlploghttp.WithHeaders(map[string]string{}),
		otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithTimeout(sendTimeout),
		// The recorder retries, from the spool.
		otlploghttp.WithRetry(otlploghttp.RetryConfig{Enabled: false}),
		otlploghttp.WithHTTPClient(&http.Client{
			Transport:     s.client,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	)
	if err != nil {
		return nil, err
	}
	s.exporter = exporter
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(&s.records),
		sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "stagger"))),
	)
	s.logger = provider.Logger("stagger/host/telemetry")
	return s, nil
}

type otlp struct {
	client   *client
	exporter *otlploghttp.Exporter
	logger   log.Logger
	records  collector
}

// A collector keeps what a logger emits: the SDK makes records in no other way, and
// its own batches are lost when the process is.
type collector struct{ list []sdklog.Record }

func (c *collector) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (c *collector) OnEmit(_ context.Context, r *sdklog.Record) error {
	c.list = append(c.list, r.Clone())
	return nil
}
func (c *collector) Shutdown(context.Context) error   { return nil }
func (c *collector) ForceFlush(context.Context) error { return nil }

func (s *otlp) Send(ctx context.Context, lines []byte) error {
	s.records.list = s.records.list[:0]
	for line := range strings.Lines(string(lines)) {
		s.logger.Emit(ctx, logRecord(line))
	}
	s.client.failure, s.client.taken = nil, false
	err := s.exporter.Export(ctx, s.records.list)
	clear(s.records.list)
	switch {
	case s.client.failure != nil:
		return s.client.failure
	case err != nil && s.client.taken:
		return ErrPartial
	}
	return err
}

var severities = map[string]log.Severity{
	slog.LevelDebug.String(): log.SeverityDebug,
	slog.LevelInfo.String():  log.SeverityInfo,
	slog.LevelWarn.String():  log.SeverityWarn,
	slog.LevelError.String(): log.SeverityError,
}

// logRecord makes a record of OTLP from a line. A line that is no record of ours
// arrives as it is, in the body.
func logRecord(line string) (r log.Record) {
	if !gjson.Valid(line) {
		r.SetBody(attribute.StringValue(strings.TrimSpace(line)))
		return r
	}
	gjson.Parse(line).ForEach(func(key, value gjson.Result) bool {
		switch name := key.String(); name {
		case slog.TimeKey:
			if t, err := time.Parse(time.RFC3339Nano, value.String()); err == nil {
				r.SetTimestamp(t)
				r.SetObservedTimestamp(t)
			}
		case slog.LevelKey:
			r.SetSeverityText(value.String())
			r.SetSeverity(severities[value.String()])
		case slog.MessageKey:
			r.SetBody(attribute.StringValue(value.String()))
		default:
			r.AddAttributes(attribute.KeyValue{Key: attribute.Key(name), Value: attributeOf(value)})
		}
		return true
	})
	return r
}

func attributeOf(value gjson.Result) attribute.Value {
	switch value.Type {
	case gjson.Number:
		if n := value.Int(); value.Raw == fmt.Sprint(n) {
			return attribute.Int64Value(n)
		}
		return attribute.Float64Value(value.Float())
	case gjson.True, gjson.False:
		return attribute.BoolValue(value.Bool())
	}
	return attribute.StringValue(value.String())
}
