package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestTwoEventsForOneBusinessFactCauseOneEffect(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
	ask := func(receipt uuid.UUID) (store.Claim, error) {
		q := request(receipt, 1)
		q.BusinessKey = "invoice-42"
		return s.work.ClaimAction(t.Context(), q)
	}
	holder, err := ask(first.ReceiptID)
	require.NoError(t, err)
	for range 2 {
		_, err = ask(second.ReceiptID)
		require.ErrorIs(t, err, store.ErrBusinessKeyBusy)
	}
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'failed' AND waits_for = 'invoice-42' AND attempts = 2`))

	require.NoError(t, s.work.RunLocal(t.Context(), holder, succeeds))
	for range 2 {
		claim, err := ask(second.ReceiptID)
		require.NoError(t, err)
		require.Equal(t, oncehook.ActionAlreadyDone, claim.Outcome.State)
		require.Equal(t, first.ReceiptID, claim.Outcome.DoneBy)
		require.Equal(t, []byte(`{"version":1}`), claim.Outcome.Result, "what the first one returned")
	}
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'already_done'`))
}

func TestWaitingForABusinessKeyIsParkedAndSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
	ask := func(receipt uuid.UUID) (store.Claim, error) {
		q := request(receipt, 1)
		q.BusinessKey, q.MaxAttempts = "invoice-42", 2
		return s.work.ClaimAction(t.Context(), q)
	}
	holder, err := ask(first.ReceiptID)
	require.NoError(t, err)
	for range 4 {
		_, err = ask(second.ReceiptID)
		require.ErrorIs(t, err, store.ErrBusinessKeyBusy)
	}
	receipt, err := admin.Receipt(t.Context(), everything, second.ReceiptID)
	require.NoError(t, err)
	require.Equal(t, oncehook.StatusParked, receipt.Status)

	require.NoError(t, s.work.FailAction(t.Context(), holder, store.Failure{Error: "no", Word: store.WordPermanent}))
	claim, err := ask(second.ReceiptID)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome)
	require.Equal(t, 1, claim.RunAttempts)
	receipt, err = admin.Receipt(t.Context(), everything, second.ReceiptID)
	require.NoError(t, err)
	require.NotEqual(t, oncehook.StatusParked, receipt.Status)
}

func TestBusinessKeyOfAFailedActionIsFree(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
	q := request(first.ReceiptID, 1)
	q.BusinessKey = "invoice-42"
	_, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	s.finishRun(t, first.ReceiptID)
	q.ReceiptID = second.ReceiptID
	claim, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome)
}
