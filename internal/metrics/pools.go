package metrics

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

const (
	nameConnections = "oncehook.pool_connections"
	nameWaits       = "oncehook.pool_waits"
	nameWaitSeconds = "oncehook.pool_wait"
)

// Pool is the state of one pool of database connections.
type Pool struct {
	// Name is the role's, such as ingress.
	Name             string
	Used, Idle, Most int64
	// Waits counts the requests that found no idle connection, WaitSeconds how
	// long all requests waited; both since the process began.
	Waits       int64
	WaitSeconds float64
}

// ObservePools shows the pools of one role of the process.
func (m *Metrics) ObservePools(role string, read func() []Pool) error {
	if m == nil || !m.observed.first("pools/"+role) {
		return nil
	}
	connections, err := m.meter.Int64ObservableGauge(nameConnections, metric.WithDescription("Database connections by pool and state: used, idle, and the most that there may be."))
	if err != nil {
		return fmt.Errorf("make the gauge %s: %w", nameConnections, err)
	}
	waits, err := m.meter.Int64ObservableCounter(nameWaits, metric.WithDescription("Requests for a connection that found none idle, by pool."))
	if err != nil {
		return fmt.Errorf("make the counter %s: %w", nameWaits, err)
	}
	seconds, err := m.meter.Float64ObservableCounter(nameWaitSeconds, metric.WithUnit("s"), metric.WithDescription("Time spent waiting for a connection, by pool."))
	if err != nil {
		return fmt.Errorf("make the counter %s: %w", nameWaitSeconds, err)
	}
	_, err = m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, p := range read() {
			pool := m.words.label("pool", p.Name)
			for state, n := range map[string]int64{"used": p.Used, "idle": p.Idle, "most": p.Most} {
				o.ObserveInt64(connections, n, metric.WithAttributes(pool, m.words.label("state", state)))
			}
			o.ObserveInt64(waits, p.Waits, metric.WithAttributes(pool))
			o.ObserveFloat64(seconds, p.WaitSeconds, metric.WithAttributes(pool))
		}
		return nil
	}, connections, waits, seconds)
	if err != nil {
		return fmt.Errorf("show the pools of %s: %w", role, err)
	}
	return nil
}
