package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestATraceTellsTheWholeChain(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	first := copyOf("event-1")
	accept(t, s.ingress, first)
	accept(t, s.ingress, copyOf("event-1"))
	accept(t, s.ingress, copyOf("event-1", content("depot-9")))
	starts := s.claim(t, limits())
	require.Len(t, starts, 1)
	require.NoError(t, s.work.MarkStarted(t.Context(), starts[0].OutboxID, "run-1"))
	claim := s.claimAction(t, first.ReceiptID, 1)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "boom"}))
	claim = s.claimAction(t, first.ReceiptID, 1)
	require.NoError(t, s.work.RunLocal(t.Context(), claim, succeeds))
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: first.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished})
	require.NoError(t, err)

	trace, err := admin.Trace(t.Context(), everything, first.ReceiptID)
	require.NoError(t, err)

	r := trace.Receipt
	require.Equal(t, first.Key, r.EventKey)
	require.Equal(t, first.CorrelationID, r.CorrelationID)
	require.Equal(t, oncehook.StateSucceeded, r.State)
	require.EqualValues(t, oncehook.StateSucceeded, r.Status)
	require.EqualValues(t, 4, r.Version)
	require.EqualValues(t, 2, r.Deliveries, "accepted and duplicates; a conflict is none of them")
	require.EqualValues(t, 1, r.Conflicts)
	require.Equal(t, "run-1", *r.RunID)
	require.True(t, r.OccurredAt.Equal(first.Event.OccurredAt))
	require.False(t, r.LastSeen.Before(r.FirstSeen))

	require.Len(t, trace.Decisions, 3)
	for n, outcome := range []oncehook.Decision{oncehook.Accepted, oncehook.Duplicate, oncehook.Conflict} {
		d := trace.Decisions[n]
		require.Equal(t, outcome, d.Outcome)
		require.Equal(t, "sender", *d.Principal)
		require.Equal(t, "1", *d.CredentialVersion)
		require.Equal(t, "north", *d.Tenant)
		require.Regexp(t, `^[0-9]+$`, d.TransactionID)
		require.EqualValues(t, 1, d.Count)
	}
	require.False(t, trace.Truncated)

	var states []oncehook.State
	for n, tr := range trace.Transitions {
		states = append(states, tr.To)
		if n > 0 {
			require.Equal(t, string(states[n-1]), *tr.From)
		}
	}
	require.Equal(t, []oncehook.State{oncehook.StateReceived, oncehook.StateQueued, oncehook.StateProcessing, oncehook.StateSucceeded}, states)
	require.Nil(t, trace.Transitions[0].From)

	require.Len(t, trace.Outbox, 1)
	require.EqualValues(t, 1, trace.Outbox[0].Claims)
	require.NotNil(t, trace.Outbox[0].DispatchedAt)

	require.Len(t, trace.Actions, 1)
	a := trace.Actions[0]
	require.Equal(t, action, a.Name)
	require.Equal(t, oncehook.ActionDone, a.State)
	require.EqualValues(t, 2, a.Attempts)
	require.Equal(t, "boom", *a.LastError)
	require.Equal(t, first.Key.IdempotencyKey(action, 1), a.IdempotencyKey)
	require.JSONEq(t, `{"version":1}`, string(a.Result), "the sealed result is opened")
	require.Nil(t, a.Sealed)
}

func TestATraceWithoutItsTenantsKeyStaysReadable(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	require.NoError(t, s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), succeeds))
	_, err := s.db.Exec(t.Context(), `DELETE FROM oncehook.tenant_keys`)
	require.NoError(t, err)
	trace, err := openAdmin(t, options(s.url)).Trace(t.Context(), everything, event.ReceiptID)
	require.NoError(t, err)
	require.Nil(t, trace.Actions[0].Result)
}

func TestOutsideTheScopeThereIsNothing(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	event := copyOf("event-1")
	accept(t, s.ingress, event)
	for _, scope := range []store.Scope{
		{}, {Sources: []string{"acme"}, Tenants: []string{store.Everything}}, {Sources: []string{"logistics"}, Tenants: []string{"south"}},
	} {
		_, err := admin.Trace(t.Context(), scope, event.ReceiptID)
		require.ErrorIs(t, err, store.ErrNotFound)
		_, err = admin.Receipt(t.Context(), scope, event.ReceiptID)
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	_, err := admin.Trace(t.Context(), everything, uuid.New())
	require.ErrorIs(t, err, store.ErrNotFound)
}
