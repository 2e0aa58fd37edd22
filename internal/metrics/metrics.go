// Package metrics holds oncehook's own instruments: OpenTelemetry on the way in,
// Prometheus text on the way out, through a registry of its own.
//
// Labels are bounded: source, outcome, action and state names come from the
// configuration or from fixed lists, never from a request. What is no such word
// all the same is counted as "other".
package metrics

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

const (
	ownScope = "oncehook"
	// TemporalScope is the scope of the Temporal SDK's instruments.
	TemporalScope = "temporal-sdk-go"
	// seriesMost bounds the label combinations of one instrument.
	seriesMost = 2000
	// scrapesAtOnce and scrapeTimeout bound what a scraper can ask of the process,
	// and through the gauges of PostgreSQL.
	scrapesAtOnce = 4
	scrapeTimeout = 10 * time.Second
)

// Metrics is one process's instruments. Every method works on a nil receiver,
// so that tests and embedders may go without.
type Metrics struct {
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	meter    metric.Meter
	counters
	histograms
	words    words
	observed observed
}

// New makes the instruments and the registry behind Handler.
func New() (*Metrics, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register the process's metrics: %w", err)
		}
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
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(exporter),
		sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "oncehook"))),
		sdkmetric.WithCardinalityLimit(seriesMost),
		sdkmetric.WithView(temporalBuckets()),
	)
	m := &Metrics{registry: registry, provider: provider, meter: provider.Meter(ownScope)}
	if m.counters, err = newCounters(m.meter); err != nil {
		return nil, err
	}
	if m.histograms, err = newHistograms(m.meter); err != nil {
		return nil, err
	}
	return m, nil
}

// temporalBuckets gives the Temporal SDK's timers, which are in seconds, buckets
// that fit: the default's first one ends at five.
func temporalBuckets() sdkmetric.View {
	return sdkmetric.NewView(
		sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram, Scope: instrumentation.Scope{Name: TemporalScope}},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{
			Boundaries: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}},
	)
}

// Meter makes instruments of another scope in the same registry, or of none.
func (m *Metrics) Meter(scope string) metric.Meter {
	if m == nil {
		return nil
	}
	return m.provider.Meter(scope)
}

// Handler serves the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout,
	})
}

// Close flushes and stops the instruments.
func (m *Metrics) Close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.provider.Shutdown(ctx)
}
