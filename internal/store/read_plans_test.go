package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

// crowd fills the tables that operators look things up in.
const crowd = `
	INSERT INTO oncehook.event_keys (key, receipt_id, correlation_id, recipe, fingerprint_key_id, fingerprint)
	SELECT 'crowd:north:' || n, gen_random_uuid(), gen_random_uuid(), 'fields/1', 1, '' FROM generate_series(1, 5000) n;
	INSERT INTO oncehook.receipts (id, key, correlation_id, source, tenant, event_id, event_type, retention_class, payload_day, state, cause, received_at, changed_at)
	SELECT receipt_id, key, correlation_id, 'crowd', 'north', split_part(key, ':', 3), 'x', 2, now(), 'ignored', 'no_workflow', now(), now()
	FROM oncehook.event_keys WHERE key LIKE 'crowd:%';
	INSERT INTO oncehook.rejected_deliveries (id, at, source, principal, credential_version, peer, code, data_key_id, body, headers, expires_at)
	SELECT gen_random_uuid(), now() - n * interval '1 second', 'crowd' || n % 4, '', '', '', 'malformed_json', 0, '', '', now() FROM generate_series(1, 5000) n;
	INSERT INTO oncehook.audit_sums (minute, process, source, outcome, cause, address_block, count, first_at, last_at)
	SELECT date_trunc('day', now(), 'UTC'), gen_random_uuid(), 'crowd', 'unauthenticated', 'wrong_secret', '', 1, now(), now() FROM generate_series(1, 5000);
	ANALYZE oncehook.event_keys, oncehook.receipts, oncehook.rejected_deliveries, oncehook.audit_sums`

func TestNoLookUpReadsACrowdedTableWhole(t *testing.T) {
	t.Parallel()
	url := database(t)
	o := as(t, store.DatabaseAdmin, options(url))
	filler, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = filler.Exec(t.Context(), crowd)
	require.NoError(t, err)
	var correlation uuid.UUID
	require.NoError(t, filler.QueryRow(t.Context(), `SELECT correlation_id FROM oncehook.event_keys WHERE key = 'crowd:north:7'`).Scan(&correlation))
	require.NoError(t, filler.Close(t.Context()), "a session that ends reports what it did")

	db := connect(t, url)
	const today = `'audit_sums_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')`
	scans := func() int {
		return number(t, db, `SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname IN ('event_keys', 'receipts', 'rejected_deliveries', `+today+`)`)
	}
	reads := func() int {
		return number(t, db, `SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'rejected_deliveries'`)
	}
	soon(t, func() bool {
		return number(t, db, `SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = `+today) >= 5000
	}, "the filling is reported")
	scansBefore, readsBefore := scans(), reads()

	admin := openAdmin(t, o)
	page := store.Page{Size: 50}
	found, err := admin.Lookup(t.Context(), everything, correlation.String(), nil, page)
	require.NoError(t, err)
	require.Len(t, found.Events, 1)
	_, err = admin.Rejected(t.Context(), everything, correlation)
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, filter := range []store.RejectedFilter{{}, {Source: "crowd1"}, {Since: time.Now().Add(-time.Minute)}} {
		list, err := admin.RejectedList(t.Context(), everything, filter, page)
		require.NoError(t, err)
		require.NotEmpty(t, list.Rejected)
	}
	// What is counted is read for its minutes, and these are none.
	_, _, err = admin.Refusals(t.Context(), everything, "", time.Now().Add(time.Minute), 10)
	require.NoError(t, err)
	admin.Close()
	soon(t, func() bool { return reads() >= readsBefore+4 }, "the reading is reported")
	require.Equal(t, scansBefore, scans())
}
