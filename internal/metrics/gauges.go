package metrics

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Outbox is what the outbox looks like at the moment of a scrape.
type Outbox struct {
	OldestSeconds  float64
	Pending        int64
	NeedingAPerson int64
}

// ObserveOutbox calls read at each scrape. A failed read leaves the gauges out,
// which an alert on their absence notices.
func (m *Metrics) ObserveOutbox(read func(context.Context) (Outbox, error)) error {
	if m == nil {
		return nil
	}
	age, err := m.meter.Float64ObservableGauge(nameOutboxAge, metric.WithUnit("s"), metric.WithDescription("Age of the oldest outbox row that is not dispatched."))
	if err != nil {
		return fmt.Errorf("make the outbox age gauge: %w", err)
	}
	rows, err := m.meter.Int64ObservableGauge(nameOutboxRows, metric.WithDescription("Outbox rows that are not dispatched."))
	if err != nil {
		return fmt.Errorf("make the outbox size gauge: %w", err)
	}
	alerts, err := m.meter.Int64ObservableGauge(nameStartsAlerts, metric.WithDescription("Outbox rows that wait for a person."))
	if err != nil {
		return fmt.Errorf("make the outbox alert gauge: %w", err)
	}
	_, err = m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		seen, err := read(ctx)
		if err != nil {
			return err
		}
		o.ObserveFloat64(age, seen.OldestSeconds)
		o.ObserveInt64(rows, seen.Pending)
		o.ObserveInt64(alerts, seen.NeedingAPerson)
		return nil
	}, age, rows, alerts)
	return err
}

// observeInt registers a gauge that is read at each scrape.
func (m *Metrics) observeInt(name, description string, read func(context.Context) (int64, error)) error {
	if m == nil {
		return nil
	}
	_, err := m.meter.Int64ObservableGauge(name, metric.WithDescription(description),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			n, err := read(ctx)
			if err != nil {
				return err
			}
			o.Observe(n)
			return nil
		}))
	return err
}

// ObserveAcceptQueue reports how many events wait for their commit.
func (m *Metrics) ObserveAcceptQueue(read func(context.Context) (int64, error)) error {
	return m.observeInt(nameQueueDepth, "Events that wait for their commit.", read)
}

// ObservePartitions reports for how many days ahead partitions exist.
func (m *Metrics) ObservePartitions(read func(context.Context) (int64, error)) error {
	return m.observeInt(namePartitions, "Days ahead for which partitions exist.", read)
}
