package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestARoleForgesNoEvidenceOfAnother(t *testing.T) {
	t.Parallel()
	url := database(t)
	for role, may := range map[store.DatabaseRole][]string{
		store.DatabaseWork: {"action", "system"}, store.DatabaseAdmin: {"operator"},
	} {
		me := connect(t, storetest.As(role, url))
		for _, kind := range []string{"delivery", "operator", "action", "system", "other"} {
			_, err := me.Exec(t.Context(), `INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, actor) VALUES (now(), $1, 'accepted', gen_random_uuid(), 'me')`, kind)
			if kind == may[0] || kind == may[len(may)-1] {
				require.NoError(t, err, "%s: %s", role, kind)
			} else {
				requireCode(t, err, "42501")
			}
		}
	}
}

func TestWorkCannotTakeThePlaceOfADaysPartitions(t *testing.T) {
	t.Parallel()
	url := database(t)
	work, db := connect(t, storetest.As(store.DatabaseWork, url)), connect(t, url)
	const partitions = `SELECT count(*) FROM pg_class WHERE relnamespace = 'oncehook'::regnamespace AND relispartition`
	before := number(t, db, partitions)
	for _, day := range []string{
		`to_date(to_char(now() + interval '30 days', 'YYYY-MM-DD') || ' BC', 'YYYY-MM-DD BC')`,
		`'infinity'`, `'-infinity'`, `'9999-01-01'`, `current_date + 801`, `current_date - 801`,
	} {
		_, err := work.Exec(t.Context(), `SELECT oncehook.prepare_partitions_v1(`+day+`, 1)`)
		require.Error(t, err, day)
	}
	require.Equal(t, before, number(t, db, partitions))
}

func TestNoOperatorOfTheWritersOwnOpensTheStateMachine(t *testing.T) {
	t.Parallel()
	owner := database(t)
	db := connect(t, owner)
	accept(t, openIngress(t, options(owner)), copyOf("event-1"))
	_, roleURL := loginRole(t, db, owner, `CREATE ON DATABASE `+pgtest.DatabaseName(t, owner), `USAGE ON SCHEMA oncehook`,
		`SELECT, UPDATE ON oncehook.receipts`)
	me := begin(t, connect(t, roleURL))
	for _, statement := range []string{
		`CREATE SCHEMA mine`,
		`CREATE FUNCTION mine.always(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
		`CREATE OPERATOR mine.= (FUNCTION = mine.always, LEFTARG = text, RIGHTARG = text)`,
		`SET LOCAL search_path = mine, pg_catalog`,
	} {
		_, err := me.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	_, err := me.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'succeeded'`)
	requireCode(t, err, "23514")
}
