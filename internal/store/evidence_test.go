package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code, refused.Message)
}

func TestEvidenceIsNeverChangedByAnyone(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	accept(t, s, copyOf("event-1"))
	s.Count("logistics", "unauthenticated", "wrong_secret", addr("192.0.2.1"))
	s.Close()
	day := time.Now().UTC().Format("20060102")
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit_sums_`+day))
	// The connection is the superuser's.
	for _, table := range []string{"audit", "audit_sums", "audit_" + day, "audit_sums_" + day} {
		for _, statement := range []string{"UPDATE oncehook." + table + " SET count = 7", "DELETE FROM oncehook." + table, "TRUNCATE oncehook." + table} {
			_, err := db.Exec(t.Context(), statement)
			requireCode(t, err, "42501")
		}
	}
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE count = 1`))

	// The end of evidence is the drop of a whole day.
	_, err := db.Exec(t.Context(), `ALTER TABLE oncehook.audit DETACH PARTITION oncehook.audit_`+day+` CONCURRENTLY`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `DROP TABLE oncehook.audit_`+day)
	require.NoError(t, err)
}

func TestTheDatabaseRefusesIllegalReceiptTransitions(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	states := []string{"received", "queued", "processing", "succeeded", "ignored", "dead_lettered"}
	legal := map[[2]string]bool{
		{"received", "queued"}: true, {"received", "ignored"}: true,
		{"queued", "processing"}: true, {"queued", "dead_lettered"}: true,
		{"processing", "succeeded"}: true, {"processing", "ignored"}: true, {"processing", "dead_lettered"}: true,
		{"succeeded", "queued"}: true, {"ignored", "queued"}: true, {"dead_lettered", "queued"}: true,
	}
	ways := map[string][]string{
		"received": nil, "queued": {"queued"}, "processing": {"queued", "processing"},
		"succeeded": {"queued", "processing", "succeeded"}, "ignored": {"ignored"}, "dead_lettered": {"queued", "dead_lettered"},
	}
	for _, from := range states {
		for _, to := range states {
			if from == to {
				continue
			}
			id := accept(t, s, copyOf(from+"-"+to))[0].ReceiptID
			for _, state := range ways[from] {
				_, err := db.Exec(t.Context(), `UPDATE oncehook.receipts SET state = $2, version = version + 1 WHERE id = $1`, id, state)
				require.NoError(t, err)
			}
			replay := 0
			if to == "queued" && from != "received" {
				replay = 1
			}
			_, err := db.Exec(t.Context(), `UPDATE oncehook.receipts SET state = $2, version = version + 1, run_no = run_no + $3 WHERE id = $1`, id, to, replay)
			if legal[[2]string{from, to}] {
				require.NoError(t, err, "%s to %s", from, to)
			} else {
				requireCode(t, err, "23514")
			}
		}
	}
	id := accept(t, s, copyOf("event-1"))[0].ReceiptID
	for _, change := range []string{
		"state = 'queued'", "state = 'queued', version = 3", "version = 2", "run_no = 2", "state = 'queued', version = 2, run_no = 2",
		"id = gen_random_uuid()", "key = 'other'", "state = 'unknown', version = 2",
	} {
		_, err := db.Exec(t.Context(), `UPDATE oncehook.receipts SET `+change+` WHERE id = $1`, id)
		requireCode(t, err, "23514")
	}
}

func TestPartitionsAreMadeOnceByManyAndBlockNobody(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	reader := begin(t, db)
	_, err := reader.Exec(t.Context(), `SELECT count(*) FROM oncehook.audit a, oncehook.payloads p`)
	require.NoError(t, err)

	later := as(t, store.DatabaseWork, options(url))
	later.Now = func() time.Time { return time.Now().AddDate(0, 0, 30) }
	made := make(chan error, 4)
	for range cap(made) {
		go func() {
			w, err := store.OpenWork(t.Context(), later)
			if err == nil {
				defer w.Close()
				err = w.PreparePartitions(t.Context())
			}
			made <- err
		}()
	}
	for range cap(made) {
		require.NoError(t, <-made)
		accept(t, s, copyOf("event-1"))
	}
	far := later.Now().UTC().AddDate(0, 0, 14).Format("20060102")
	for _, table := range []string{"payloads_c1_", "payloads_c2_", "payloads_c3_", "audit_", "audit_sums_"} {
		require.Equal(t, 1, number(t, db, `SELECT count(*) FROM pg_inherits WHERE inhrelid = to_regclass($1)`, "oncehook."+table+far), table)
	}
	// Each leaf has the parent's index.
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM pg_indexes WHERE tablename = $1`, "payloads_c2_"+far))
}

func TestADayWithoutPartitionIsUnavailableAndNothingStands(t *testing.T) {
	o := options(database(t))
	o.Now = func() time.Time { return time.Now().AddDate(0, 0, 60) }
	s, db := openIngress(t, o), connect(t, o.URL)
	_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1"), copyOf("event-2")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys`))
	require.NoError(t, openWork(t, o).PreparePartitions(t.Context()))
	accept(t, s, copyOf("event-1"))
}

func TestTheDaysWithPartitionsAreCountedUpToTheFirstGap(t *testing.T) {
	o := options(database(t))
	days := func(ahead int) int64 {
		t.Helper()
		o.Now = func() time.Time { return time.Now().AddDate(0, 0, ahead) }
		n, err := openWork(t, o).PartitionDays(t.Context())
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 14, days(0))
	require.EqualValues(t, 4, days(10))
	require.EqualValues(t, -1, days(15))

	_, err := connect(t, o.URL).Exec(t.Context(), `DROP TABLE oncehook.audit_`+time.Now().UTC().AddDate(0, 0, 3).Format("20060102"))
	require.NoError(t, err)
	require.EqualValues(t, 2, days(0))
}
