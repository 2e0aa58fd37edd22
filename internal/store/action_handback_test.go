package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

func TestAnAttemptThatIsHandedBackDoesNotCount(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	q := request(event.ReceiptID, 1)
	q.MaxAttempts = 2
	for n := range 5 {
		claim, err := s.work.ClaimAction(t.Context(), q)
		require.NoError(t, err)
		require.Nil(t, claim.Outcome)
		require.Equal(t, 1, claim.RunAttempts)
		require.NoError(t, s.work.HandBack(t.Context(), claim, true))
		require.Equal(t, n+1, number(t, s.db, `SELECT attempts FROM oncehook.actions WHERE lease_until IS NULL AND call_deadline IS NULL`))
		// Twice is once.
		require.NoError(t, s.work.HandBack(t.Context(), claim, true))
	}
	for n := range 2 { // and those that end without a word do
		claim, err := s.work.ClaimAction(t.Context(), q)
		require.NoError(t, err)
		require.Nil(t, claim.Outcome)
		require.Equal(t, n+1, claim.RunAttempts)
	}
	claim, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, store.WordRetriesExhausted, claim.Outcome.Word)
}

func TestOnlyTheLatestAttemptThatDidNotCommitIsHandedBack(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	late := s.claimAction(t, event.ReceiptID, 1)
	next := s.claimAction(t, event.ReceiptID, 1)
	require.NoError(t, s.work.HandBack(t.Context(), late, true))
	require.Equal(t, 2, number(t, s.db, `SELECT run_attempts FROM oncehook.actions WHERE lease_until IS NOT NULL`))
	require.NoError(t, s.work.RunLocal(t.Context(), next, writes))
	require.NoError(t, s.work.HandBack(t.Context(), next, true))
	require.Equal(t, 2, number(t, s.db, `SELECT run_attempts FROM oncehook.actions WHERE state = 'done'`))
}

func TestWhatAnInterruptedAttemptSentStaysUnanswered(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]bool{"sent": false, "known not to be sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			claim := s.claimRemote(t, event.ReceiptID)
			_, err := s.work.BeforeSend(t.Context(), claim, aDay)
			require.NoError(t, err)
			require.NoError(t, s.work.HandBack(t.Context(), claim, answered))
			_, _, unanswered := s.ledger(t, event.ReceiptID)
			require.Equal(t, !answered, unanswered)
			// Nobody waits for the lease of the one that stopped.
			again := s.claimRemote(t, event.ReceiptID)
			require.Equal(t, 1, again.RunAttempts)
			require.Equal(t, claim.IdempotencyKey, again.IdempotencyKey)
			// What the earlier one sent is still unanswered, whatever this one knows of its own.
			require.NoError(t, s.work.HandBack(t.Context(), again, true))
			_, _, unanswered = s.ledger(t, event.ReceiptID)
			require.Equal(t, !answered, unanswered)
		})
	}
}
