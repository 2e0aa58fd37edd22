package metrics

import "context"

const (
	nameOutboxAge    = "oncehook.outbox_oldest"
	nameOutboxRows   = "oncehook.outbox_pending_rows"
	nameOutboxAlerts = "oncehook.outbox_alerted_rows"
	nameDeadLetters  = "oncehook.dead_letter_receipts"
	nameUncertain    = "oncehook.uncertain_actions"
	nameParked       = "oncehook.parked_actions"
	nameQueuedEvents = "oncehook.accept_queued_events"
	nameQueuedBytes  = "oncehook.accept_queued_bytes"
	namePartitions   = "oncehook.partitions_ahead_days"
	nameKeyAge       = "oncehook.key_age_days"
	nameBuild        = "oncehook.build_info"
)

// Backlog is what PostgreSQL knows of the work that is not done, at the moment
// of a scrape.
type Backlog struct {
	OldestSeconds  float64
	Pending        int64
	NeedingAPerson int64
	// DeadLetters counts the dead-lettered receipts of each source.
	DeadLetters map[string]int64
	// Uncertain and Parked count actions by name.
	Uncertain map[string]int64
	Parked    map[string]int64
}

// ObserveBacklog shows the outbox, the dead letters and the actions that wait.
func (m *Metrics) ObserveBacklog(read func(context.Context) (Backlog, error)) error {
	by := func(label string, counts func(Backlog) map[string]int64) func(Backlog, func(float64, ...string)) {
		return func(seen Backlog, set func(float64, ...string)) {
			for value, n := range counts(seen) {
				set(float64(n), label, value)
			}
		}
	}
	return observe(m, "backlog", read,
		gauge[Backlog]{nameOutboxAge, "s", "Age of the oldest outbox row that is not dispatched.", func(b Backlog, set func(float64, ...string)) { set(b.OldestSeconds) }},
		gauge[Backlog]{nameOutboxRows, "", "Outbox rows that are not dispatched.", func(b Backlog, set func(float64, ...string)) { set(float64(b.Pending)) }},
		gauge[Backlog]{nameOutboxAlerts, "", "Outbox rows that wait for a person.", func(b Backlog, set func(float64, ...string)) { set(float64(b.NeedingAPerson)) }},
		gauge[Backlog]{nameDeadLetters, "", "Receipts that are dead letters now, by source.", by("source", func(b Backlog) map[string]int64 { return b.DeadLetters })},
		gauge[Backlog]{nameUncertain, "", "Side effects of which nobody knows whether they happened, by action.", by("action", func(b Backlog) map[string]int64 { return b.Uncertain })},
		gauge[Backlog]{nameParked, "", "Side effects that wait for another event, by action.", by("action", func(b Backlog) map[string]int64 { return b.Parked })},
	)
}

// Queue is what waits for its commit.
type Queue struct{ Events, Bytes int64 }

// ObserveAcceptQueue shows what waits for its commit in this process.
func (m *Metrics) ObserveAcceptQueue(read func(context.Context) (Queue, error)) error {
	return observe(m, "accept_queue", read,
		gauge[Queue]{nameQueuedEvents, "", "Events that wait for their commit.", func(q Queue, set func(float64, ...string)) { set(float64(q.Events)) }},
		gauge[Queue]{nameQueuedBytes, "", "Bytes that wait for their commit.", func(q Queue, set func(float64, ...string)) { set(float64(q.Bytes)) }},
	)
}

// ObservePartitions shows for how many days ahead partitions exist.
func (m *Metrics) ObservePartitions(read func(context.Context) (int64, error)) error {
	return observe(m, "partitions", read,
		gauge[int64]{namePartitions, "", "Days ahead for which partitions exist.", func(days int64, set func(float64, ...string)) { set(float64(days)) }})
}

// ObserveKeys shows the age in days of the key in use for each purpose.
func (m *Metrics) ObserveKeys(read func(context.Context) (map[string]float64, error)) error {
	return observe(m, "keys", read,
		gauge[map[string]float64]{nameKeyAge, "", "Age of the key in use, by purpose.", func(ages map[string]float64, set func(float64, ...string)) {
			for use, days := range ages {
				set(days, "use", use)
			}
		}})
}

// Build shows which program runs, as a gauge that is always one.
func (m *Metrics) Build(version string) error {
	return observe(m, "build", func(context.Context) (string, error) { return version, nil },
		gauge[string]{nameBuild, "", "The program's version; the value is always 1.", func(v string, set func(float64, ...string)) { set(1, "version", v) }})
}
