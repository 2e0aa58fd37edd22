package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

func TestOutboxDueTellsWhatMayGoNowFromTheRest(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	change := func(statement string, args ...any) {
		_, err := s.db.Exec(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		accept(t, s.ingress, copyOf(id))
	}
	due, err := s.work.OutboxDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, due.Due)
	newest := due.Newest
	require.Positive(t, newest)

	change(`UPDATE oncehook.outbox SET due_at = now() + interval '1 hour' WHERE id = $1`, newest)
	change(`UPDATE oncehook.outbox SET alert = 'somebody else has it', lease_until = now() + interval '1 hour' WHERE id = $1`, newest-1)
	change(`UPDATE oncehook.outbox SET dispatched_at = now() WHERE id = $1`, newest-2)
	due, err = s.work.OutboxDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.OutboxDue{Due: 1, Later: 1, Stuck: 1, Alert: "somebody else has it", Newest: newest}, due)
}

func TestOpenRunsAreThoseThatWereDispatchedAndHaveNoEnd(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	var begun []store.OpenRun
	for _, id := range []string{"a", "b", "c"} {
		event := s.queued(t, id)
		begun = append(begun, store.OpenRun{ReceiptID: event.ReceiptID})
	}
	next := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	claim := s.claimAction(t, begun[1].ReceiptID, 1)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "closed", NextAttemptAt: next}))
	s.finishRun(t, begun[0].ReceiptID)

	first, err := s.work.OpenRuns(t.Context(), nil, 1)
	require.NoError(t, err)
	require.Len(t, first, 1)
	require.Equal(t, begun[1].ReceiptID, first[0].ReceiptID, "the last changed first")
	require.True(t, next.Equal(first[0].NextAttemptAt))
	rest, err := s.work.OpenRuns(t.Context(), &first[0], 10)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, begun[2].ReceiptID, rest[0].ReceiptID)
	require.True(t, rest[0].NextAttemptAt.IsZero())
	require.NotEmpty(t, rest[0].Key)

	accept(t, s.ingress, copyOf("received"))
	_, err = s.db.Exec(t.Context(), `UPDATE oncehook.outbox SET dispatched_at = NULL WHERE receipt_id = $1`, begun[2].ReceiptID)
	require.NoError(t, err)
	rest, err = s.work.OpenRuns(t.Context(), nil, 10)
	require.NoError(t, err)
	require.Len(t, rest, 1, "what is not dispatched is the outbox's")
}
