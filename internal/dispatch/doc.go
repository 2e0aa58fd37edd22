// Package dispatch turns outbox rows into workflow runs, and into signals that
// wake them.
//
// One run per row, whatever dies when: the workflow ID is the event key, the
// request ID is the row, and a row is claimed again until it is marked. It
// imports the root package, internal/store, internal/metrics and Temporal's client.
package dispatch
