package metrics

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	nameSweeps    = "oncehook.reconcile_sweeps"     // oncehook_reconcile_sweeps_total
	nameFound     = "oncehook.reconcile_found"      // oncehook_reconcile_found_total
	nameRepaired  = "oncehook.reconcile_repaired"   // oncehook_reconcile_repaired_total
	nameUnrepair  = "oncehook.reconcile_failures"   // oncehook_reconcile_failures_total
	nameLastSweep = "oncehook.reconcile_last_sweep" // oncehook_reconcile_last_sweep_seconds
)

// Reconcile is the instruments of the reconciler. Its methods work on a nil receiver.
type Reconcile struct {
	sweeps, found, repaired, failures metric.Int64Counter
}

// Reconcile makes the instruments; of nil Metrics it is nil.
func (m *Metrics) Reconcile() (*Reconcile, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // usable as it is
	}
	r := &Reconcile{}
	for _, c := range []struct {
		into              *metric.Int64Counter
		name, description string
	}{
		{&r.sweeps, nameSweeps, "Sweeps of the reconciler by result."},
		{&r.found, nameFound, "Receipts and actions that differ from what Temporal says, by kind."},
		{&r.repaired, nameRepaired, "Differences that were settled, by kind and by what was done."},
		{&r.failures, nameUnrepair, "Differences that could not be settled yet, by kind."},
	} {
		var err error
		if *c.into, err = m.meter.Int64Counter(c.name, metric.WithDescription(c.description)); err != nil {
			return nil, fmt.Errorf("make the reconciler's counters: %w", err)
		}
	}
	return r, nil
}

// Sweep counts a sweep that was whole, partial or failed.
func (r *Reconcile) Sweep(ctx context.Context, result string) {
	if r != nil {
		r.sweeps.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
	}
}

// Found counts a difference.
func (r *Reconcile) Found(ctx context.Context, kind string) {
	if r != nil {
		r.found.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
	}
}

// Repaired counts a difference that was settled, and how.
func (r *Reconcile) Repaired(ctx context.Context, kind, how string) {
	if r != nil {
		r.repaired.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind), attribute.String("how", how)))
	}
}

// Failed counts a difference that could not be settled yet.
func (r *Reconcile) Failed(ctx context.Context, kind string) {
	if r != nil {
		r.failures.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
	}
}

// lastSweep is the age of the last whole sweep, if there was one.
type lastSweep struct {
	seconds float64
	any     bool
}

// ObserveLastSweep reports how many seconds ago a whole sweep ended. read
// returns false before the first one, which leaves the gauge out.
func (m *Metrics) ObserveLastSweep(read func(context.Context) (seconds float64, ok bool, err error)) error {
	return observe(m, "reconcile", func(ctx context.Context) (lastSweep, error) {
		seconds, ok, err := read(ctx)
		return lastSweep{seconds, ok}, err
	}, gauge[lastSweep]{nameLastSweep, "s", "Time since the reconciler's last whole sweep.", func(l lastSweep, set func(float64, ...string)) {
		if l.any {
			set(l.seconds)
		}
	}})
}
