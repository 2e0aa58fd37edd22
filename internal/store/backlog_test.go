package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

// The gauges' numbers are those of the rows, for each role that shows them.
func TestTheBacklogCountsWhatIsNotDone(t *testing.T) {
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	accept(t, s.ingress, copyOf("pending-1"), copyOf("pending-2"), copyOf("dead"), copyOf("waits"))
	_, err := s.db.Exec(t.Context(), `UPDATE oncehook.outbox SET alert = 'a person' WHERE id = (SELECT min(id) FROM oncehook.outbox)`)
	require.NoError(t, err)
	for _, state := range []string{"queued", "dead_lettered"} {
		_, err = s.db.Exec(t.Context(), `UPDATE oncehook.receipts SET state = $1, version = version + 1 WHERE event_id = 'dead'`, state)
		require.NoError(t, err)
	}
	for name, columns := range map[string]string{"a.uncertain": `'uncertain', NULL`, "a.parked": `'running', 'order-1'`, "a.done": `'done', 'order-1'`} {
		_, err = s.db.Exec(t.Context(), `INSERT INTO oncehook.actions (receipt_id, name, key, tenant, kind, state, waits_for, run_no, idempotency_key, created_at, changed_at)
			SELECT id, $1, key, tenant, 'keyed', `+columns+`, 1, key, now(), now() FROM oncehook.receipts WHERE event_id = 'waits'`, name)
		require.NoError(t, err)
	}
	for name, read := range map[string]func(context.Context) (store.Backlog, error){"work": s.work.Backlog, "admin": admin.Backlog} {
		b, err := read(t.Context())
		require.NoError(t, err, name)
		require.EqualValues(t, 4, b.Pending, name)
		require.EqualValues(t, 1, b.Alerts, name)
		require.Positive(t, b.Oldest, name)
		require.Len(t, b.DeadLetters, 1, name)
		for _, n := range b.DeadLetters {
			require.EqualValues(t, 1, n, name)
		}
		require.Equal(t, map[string]int64{"a.uncertain": 1}, b.Uncertain, name)
		require.Equal(t, map[string]int64{"a.parked": 1}, b.Parked, name)
	}
}

func TestTheAgeOfTheKeysInUseIsKnown(t *testing.T) {
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	for _, key := range keys().Keys() {
		_, err := s.db.Exec(t.Context(), `INSERT INTO oncehook.key_uses (key, first_seen_at) VALUES ($1, now() - interval '30 days')
			ON CONFLICT (key) DO UPDATE SET first_seen_at = excluded.first_seen_at`, key.Name())
		require.NoError(t, err)
	}
	ages, err := admin.KeyAges(t.Context(), keys().Keys())
	require.NoError(t, err)
	require.NotEmpty(t, ages)
	for kind, days := range ages {
		require.InDelta(t, 30, days, 0.1, kind)
	}
}

func TestThePoolsAreNamed(t *testing.T) {
	s := openSpine(t)
	names := []string{}
	for _, p := range append(append(s.ingress.Pools(), s.work.Pools()...), openAdmin(t, options(s.url)).Pools()...) {
		names = append(names, p.Name)
		require.Positive(t, p.Most)
	}
	require.Equal(t, []string{"ingress", "ingress_commits", "work", "work_effects", "admin"}, names)
}
