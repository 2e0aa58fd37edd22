// Package effect makes a side effect happen once.
//
// An action is declared once, typed, beside the function that performs it:
//
//	var RecordArrival = effect.Local[Arrival, Recorded]("logistics.record_arrival")
//
// and called from a workflow by RecordArrival.Do, or by
// workflow.ExecuteActivity(ctx, RecordArrival.Name, in), which is the same. Two
// interceptors do the rest. On the workflow's side: timeouts, retries and
// summaries where the engineer set none, and oncehook.finish as the run's last
// command. On the activity's side: claim ▶ run ▶ record, against the action
// ledger in PostgreSQL.
//
// errors.go is the one place that turns outcomes into Temporal's errors.
//
// It imports the root package, internal/store, pgx and Temporal's SDK.
package effect
