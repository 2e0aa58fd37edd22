package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

func TestAnEffectMayDecideOnAFailedStatement(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	for id, outcome := range map[string]error{"event-1": oncehook.Ignore("it is there"), "event-2": oncehook.Superseded("a newer one is there")} {
		event := s.queued(t, id)
		err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, err := writes(ctx, tx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx, `SELECT 1 / 0`)
			require.Error(t, err)
			return nil, outcome
		})
		require.Equal(t, outcome, err)
		require.NotNil(t, s.claimAction(t, event.ReceiptID, 1).Outcome)
	}
	require.Zero(t, s.counted(t))
}

func TestAnEffectThatEndsItsTransactionIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	for _, statement := range []string{"COMMIT", "COMMIT AND CHAIN", "ROLLBACK", "ROLLBACK AND CHAIN"} {
		event := s.queued(t, statement)
		err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			result, err := writes(ctx, tx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx, statement)
			return result, err
		})
		outcome, ok := oncehook.AsOutcome(err)
		require.True(t, ok, "%s: %v", statement, err)
		require.Equal(t, oncehook.OutcomePermanent, outcome.Kind, statement)
	}
}
