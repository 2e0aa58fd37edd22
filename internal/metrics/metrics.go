// Package metrics holds oncehook's own instruments: OpenTelemetry on the way in,
// Prometheus text on the way out, through a registry of its own.
//
// Labels are bounded: source, outcome, action and state names come from the
// configuration or from fixed lists, never from a request.
package metrics

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Names of the instruments, as Prometheus shows them but for the unit suffixes
// that the exporter adds. They are contracts with dashboards and alerts.
const (
	nameDeliveries   = "oncehook.deliveries"            // oncehook_deliveries_total
	nameAck          = "oncehook.ack"                   // oncehook_ack_seconds
	nameStarts       = "oncehook.starts"                // oncehook_starts_total
	nameAttempts     = "oncehook.action_attempts"       // oncehook_action_attempts_total
	nameEnds         = "oncehook.receipt_ends"          // oncehook_receipt_ends_total
	nameOutboxAge    = "oncehook.outbox_oldest"         // oncehook_outbox_oldest_seconds
	nameOutboxRows   = "oncehook.outbox_pending_rows"   // oncehook_outbox_pending_rows
	nameStartsAlerts = "oncehook.outbox_alerted_rows"   // oncehook_outbox_alerted_rows
	nameQueueDepth   = "oncehook.accept_queued_events"  // oncehook_accept_queued_events
	namePartitions   = "oncehook.partitions_ahead_days" // oncehook_partitions_ahead_days
)

// Metrics is one process's instruments. Every method works on a nil receiver,
// so that tests and embedders may go without.
type Metrics struct {
	registry   *prometheus.Registry
	provider   *sdkmetric.MeterProvider
	meter      metric.Meter
	deliveries metric.Int64Counter
	ack        metric.Float64Histogram
	starts     metric.Int64Counter
	attempts   metric.Int64Counter
	ends       metric.Int64Counter
}

// New makes the instruments and the registry behind Handler.
func New() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(collectors.NewGoCollector()); err != nil {
		return nil, fmt.Errorf("register the runtime's metrics: %w", err)
	}
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(),
		// Stated, since the default keeps dots, which alert rules cannot use.
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
	)
	if err != nil {
		return nil, fmt.Errorf("make the metrics exporter: %w", err)
	}
	named := resource.NewSchemaless(attribute.String("service.name", "oncehook"))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(named))
	m := &Metrics{registry: registry, provider: provider, meter: provider.Meter("oncehook")}
	counter := func(name, description string) metric.Int64Counter {
		if err != nil {
			return nil
		}
		var c metric.Int64Counter
		c, err = m.meter.Int64Counter(name, metric.WithDescription(description))
		return c
	}
	m.deliveries = counter(nameDeliveries, "Deliveries by source and decision.")
	m.starts = counter(nameStarts, "Workflow starts by result.")
	m.attempts = counter(nameAttempts, "Attempts of side effects by action and result.")
	m.ends = counter(nameEnds, "Ended runs by final state.")
	if err != nil {
		return nil, fmt.Errorf("make the counters: %w", err)
	}
	m.ack, err = m.meter.Float64Histogram(nameAck, metric.WithUnit("s"),
		metric.WithDescription("Time from the request's last byte to its answer, by source."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	if err != nil {
		return nil, fmt.Errorf("make the acknowledgement histogram: %w", err)
	}
	return m, nil
}

// Handler serves the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Delivery counts one decision about a delivery.
func (m *Metrics) Delivery(ctx context.Context, source, outcome string) {
	if m != nil {
		m.deliveries.Add(ctx, 1, metric.WithAttributes(attribute.String("source", source), attribute.String("outcome", outcome)))
	}
}

// AckSeconds records how long an answer took.
func (m *Metrics) AckSeconds(ctx context.Context, source string, seconds float64) {
	if m != nil {
		m.ack.Record(ctx, seconds, metric.WithAttributes(attribute.String("source", source)))
	}
}

// Start counts one attempt to start a workflow.
func (m *Metrics) Start(ctx context.Context, result string) {
	if m != nil {
		m.starts.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
	}
}

// ActionAttempt counts one attempt of a side effect.
func (m *Metrics) ActionAttempt(ctx context.Context, action, result string) {
	if m != nil {
		m.attempts.Add(ctx, 1, metric.WithAttributes(attribute.String("action", action), attribute.String("result", result)))
	}
}

// ReceiptEnd counts one run that wrote an end state.
func (m *Metrics) ReceiptEnd(ctx context.Context, state string) {
	if m != nil {
		m.ends.Add(ctx, 1, metric.WithAttributes(attribute.String("state", state)))
	}
}

// Close flushes and stops the instruments.
func (m *Metrics) Close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.provider.Shutdown(ctx)
}
