package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
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

func TestWhatAnEffectSetsForItsSessionEndsWithIt(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	role, _ := loginRole(t, s.db, s.url, `INSERT ON public.effects`)
	_, err := s.db.Exec(t.Context(), `GRANT `+role+` TO test_work`)
	require.NoError(t, err)
	// One connection, which every attempt has.
	o := options(s.url)
	o.Conns = 3
	work := openWork(t, o)
	look := func(ctx context.Context, tx pgx.Tx) (seen [4]string) {
		require.NoError(t, tx.QueryRow(ctx, `SELECT current_user::text, current_setting('search_path'), current_setting('lock_timeout'),
			current_setting('application_name')`).Scan(&seen[0], &seen[1], &seen[2], &seen[3]))
		return seen
	}
	attempt := func(id string, effect store.LocalFunc) error {
		claim, err := work.ClaimAction(t.Context(), request(s.queued(t, id).ReceiptID, 1))
		require.NoError(t, err)
		return work.RunLocal(t.Context(), claim, effect)
	}
	var before, after [4]string
	for n, last := range map[string]string{"kept": "", "ended": "COMMIT", "ended and begun": "COMMIT; BEGIN"} {
		require.NoError(t, attempt("before "+n, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			before = look(ctx, tx)
			return nil, nil
		}))
		err := attempt(n, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, err := tx.Exec(ctx, `SET search_path = pg_temp; SET lock_timeout = 0; SET application_name = 'mine'; SET ROLE `+role+`; `+last)
			require.NoError(t, err)
			return writes(ctx, tx)
		})
		require.Equal(t, last == "", err == nil, "%s: %v", n, err)
		require.NoError(t, attempt("after "+n, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			after = look(ctx, tx)
			return nil, nil
		}))
		require.Equal(t, before, after, n)
	}
}
