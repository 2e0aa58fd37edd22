package metrics

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Names of the instruments, as Prometheus shows them but for the unit suffixes
// that the exporter adds. They are contracts with dashboards and alerts;
// docs/operations/metrics.md lists them, and a test compares.
const (
	nameDeliveries = "oncehook.deliveries"
	nameNotKept    = "oncehook.rejected_not_kept"
	nameStarts     = "oncehook.starts"
	nameAttempts   = "oncehook.action_attempts"
	nameEnds       = "oncehook.receipt_ends"
	nameUnread     = "oncehook.gauge_failures"
)

type counters struct {
	deliveries metric.Int64Counter
	notKept    metric.Int64Counter
	starts     metric.Int64Counter
	attempts   metric.Int64Counter
	ends       metric.Int64Counter
	unread     metric.Int64Counter
}

func newCounters(meter metric.Meter) (counters, error) {
	var c counters
	for _, one := range []struct {
		name, description string
		into              *metric.Int64Counter
	}{
		{nameDeliveries, "Deliveries by source and decision.", &c.deliveries},
		{nameNotKept, "Rejected deliveries beyond their source's cap, which were not kept.", &c.notKept},
		{nameStarts, "Workflow starts by result.", &c.starts},
		{nameAttempts, "Attempts of side effects by action and result.", &c.attempts},
		{nameEnds, "Ended runs by final state.", &c.ends},
		{nameUnread, "Gauges that could not be read at a scrape.", &c.unread},
	} {
		var err error
		if *one.into, err = meter.Int64Counter(one.name, metric.WithDescription(one.description)); err != nil {
			return c, fmt.Errorf("make the counter %s: %w", one.name, err)
		}
	}
	return c, nil
}

// Delivery counts one decision about a delivery. source is "" for none of the
// configured ones.
func (m *Metrics) Delivery(ctx context.Context, source, outcome string) {
	if m != nil {
		m.deliveries.Add(ctx, 1, metric.WithAttributes(m.words.label("source", source), m.words.label("outcome", outcome)))
	}
}

// RejectedNotKept counts one rejected delivery of which the audit row alone remains.
func (m *Metrics) RejectedNotKept(ctx context.Context, source string) {
	if m != nil {
		m.notKept.Add(ctx, 1, metric.WithAttributes(m.words.label("source", source)))
	}
}

// Start counts one attempt to start a workflow.
func (m *Metrics) Start(ctx context.Context, result string) {
	if m != nil {
		m.starts.Add(ctx, 1, metric.WithAttributes(m.words.label("result", result)))
	}
}

// ActionAttempt counts one attempt of a side effect.
func (m *Metrics) ActionAttempt(ctx context.Context, action, result string) {
	if m != nil {
		m.attempts.Add(ctx, 1, metric.WithAttributes(m.words.label("action", action), m.words.label("result", result)))
	}
}

// ReceiptEnd counts one run that wrote an end state.
func (m *Metrics) ReceiptEnd(ctx context.Context, state string) {
	if m != nil {
		m.ends.Add(ctx, 1, metric.WithAttributes(m.words.label("state", state)))
	}
}
