package metrics

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

const (
	nameAck      = "oncehook.ack"
	nameDispatch = "oncehook.dispatch"
	nameAction   = "oncehook.action"
	nameEvent    = "oncehook.event"
)

type histograms struct {
	ack      metric.Float64Histogram
	dispatch metric.Float64Histogram
	action   metric.Float64Histogram
	event    metric.Float64Histogram
}

// Buckets in seconds: an answer is due within the sender's patience, an effect
// within an attempt's thirty seconds, an event within what a person waits for or,
// after an outage, within hours.
func newHistograms(meter metric.Meter) (histograms, error) {
	var h histograms
	for _, one := range []struct {
		name, description string
		buckets           []float64
		into              *metric.Float64Histogram
	}{
		{
			nameAck, "Time from the request's last byte to its answer, by source.",
			[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			&h.ack,
		},
		{
			nameDispatch, "Time from a first acceptance to its workflow's start, by source.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200},
			&h.dispatch,
		},
		{
			nameAction, "Duration of one attempt of a side effect, by action and result.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
			&h.action,
		},
		{
			nameEvent, "Time from a first acceptance to the end of its run, by source and state.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 43200},
			&h.event,
		},
	} {
		var err error
		*one.into, err = meter.Float64Histogram(one.name, metric.WithUnit("s"),
			metric.WithDescription(one.description), metric.WithExplicitBucketBoundaries(one.buckets...))
		if err != nil {
			return h, fmt.Errorf("make the histogram %s: %w", one.name, err)
		}
	}
	return h, nil
}

// AckSeconds records how long an answer took.
func (m *Metrics) AckSeconds(ctx context.Context, source string, seconds float64) {
	if m != nil {
		m.ack.Record(ctx, seconds, metric.WithAttributes(m.words.label("source", source)))
	}
}

// DispatchSeconds records how long an accepted event waited for its workflow's start.
func (m *Metrics) DispatchSeconds(ctx context.Context, source string, seconds float64) {
	if m != nil {
		m.dispatch.Record(ctx, seconds, metric.WithAttributes(m.words.label("source", source)))
	}
}

// ActionSeconds records how long one attempt of a side effect took.
func (m *Metrics) ActionSeconds(ctx context.Context, action, result string, seconds float64) {
	if m != nil {
		m.action.Record(ctx, seconds, metric.WithAttributes(m.words.label("action", action), m.words.label("result", result)))
	}
}

// EventSeconds records how long an event took from its acceptance to its end.
func (m *Metrics) EventSeconds(ctx context.Context, source, state string, seconds float64) {
	if m != nil {
		m.event.Record(ctx, seconds, metric.WithAttributes(m.words.label("source", source), m.words.label("state", state)))
	}
}
