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
// What a kind is for, and what a retry of it does:
//
//	Local   in our PostgreSQL: action, effect and evidence are one transaction
//	Keyed   at a downstream that honours an idempotency key for a declared time:
//	        within it a retry sends the same key; after it nothing is sent, the
//	        action is uncertain and the run waits for a person
//
// A remote attempt has a lease and a fence, the claim counter of its row. Both and
// the key's life are checked, and that something is sent is committed, immediately
// before each request; a successor waits until the lease and the call are over; the
// highest claim alone records a result. A process that stalls between the check and
// the send may still send: under the same key.
//
// A run waits durably for what an action finds missing (oncehook.NotYet): it is
// woken by the effect that settles the business key, through the outbox, and looks
// by itself now and then. In the end it is a dead letter: wait_expired, or
// key_expired where an action stayed uncertain.
//
// errors.go is the one place that turns outcomes into Temporal's errors.
//
// It imports the root package, internal/store, pgx and Temporal's SDK.
package effect
