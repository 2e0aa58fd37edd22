package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

const (
	// readTimeout bounds one reading, readEvery is how often one is made at most:
	// anybody may scrape, and each reading costs a query.
	readTimeout = 3 * time.Second
	readEvery   = 2 * time.Second
)

// observed says which gauges a process shows already: roles of one process that
// would show the same ones show them once.
type observed struct {
	mu    sync.Mutex
	names map[string]bool
}

func (o *observed) first(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names[name] {
		return false
	}
	if o.names == nil {
		o.names = map[string]bool{}
	}
	o.names[name] = true
	return true
}

// gauge is one gauge of a reading of type T; it reports through set, once for
// each combination of labels.
type gauge[T any] struct {
	name, unit, description string
	report                  func(seen T, set func(value float64, labels ...string))
}

// observe shows gauges that one reading fills, made at a scrape and kept for a
// moment. A failed reading leaves them out, which an alert on their absence
// notices, and is counted under what.
func observe[T any](m *Metrics, what string, read func(context.Context) (T, error), gauges ...gauge[T]) error {
	if m == nil || !m.observed.first(what) {
		return nil
	}
	instruments := make([]metric.Float64ObservableGauge, len(gauges))
	shown := make([]metric.Observable, len(gauges))
	for n, g := range gauges {
		var err error
		if instruments[n], err = m.meter.Float64ObservableGauge(g.name, metric.WithUnit(g.unit), metric.WithDescription(g.description)); err != nil {
			return fmt.Errorf("make the gauge %s: %w", g.name, err)
		}
		shown[n] = instruments[n]
	}
	last := reading[T]{read: read}
	_, err := m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		seen, err := last.get(ctx)
		if err != nil {
			m.unread.Add(ctx, 1, metric.WithAttributes(m.words.label("gauge", what)))
			return nil //nolint:nilerr // counted; the exporter's own way is a global handler
		}
		for n, g := range gauges {
			g.report(seen, func(value float64, labels ...string) {
				attributes := metric.WithAttributes()
				if len(labels) == 2 {
					attributes = metric.WithAttributes(m.words.label(labels[0], labels[1]))
				}
				o.ObserveFloat64(instruments[n], value, attributes)
			})
		}
		return nil
	}, shown...)
	if err != nil {
		return fmt.Errorf("show the gauges of %s: %w", what, err)
	}
	return nil
}

// reading is the last result of read.
type reading[T any] struct {
	read func(context.Context) (T, error)

	mu   sync.Mutex
	at   time.Time
	seen T
	err  error
}

func (r *reading[T]) get(ctx context.Context) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readEvery {
		return r.seen, r.err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	r.seen, r.err = r.read(ctx)
	r.at = time.Now()
	return r.seen, r.err
}
