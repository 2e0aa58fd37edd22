package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

const day = 24 * time.Hour

func clocks() store.RetentionClocks {
	return store.RetentionClocks{
		Payloads: map[string]time.Duration{"short": 7 * day, "standard": 30 * day, "long": 400 * day},
		Keys:     400 * day, Audit: 800 * day, Actions: 800 * day, Outbox: 7 * day,
	}
}

// later is the options of a process whose clock is ahead by that much.
func later(url string, ahead time.Duration) store.Options {
	o := options(url)
	o.Now = func() time.Time { return time.Now().Add(ahead) }
	return o
}

func (s spine) retain(t testing.TB, ahead time.Duration, apply bool) map[string]store.RetentionLine {
	t.Helper()
	lines, err := store.Retain(t.Context(), later(s.url, ahead), clocks(), apply)
	require.NoError(t, err)
	byName := map[string]store.RetentionLine{}
	for _, l := range lines {
		byName[l.What] = l
	}
	return byName
}

// finished ends a queued receipt.
func (s spine) finished(t testing.TB, id uuid.UUID, state oncehook.State) {
	t.Helper()
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: id, RunNo: 1, State: state, Cause: oncehook.CauseFinished})
	require.NoError(t, err)
}

func (s spine) body(t testing.TB, id uuid.UUID) string {
	t.Helper()
	e, err := s.work.Event(t.Context(), id)
	require.NoError(t, err)
	return string(e.Body)
}

// fates is one event of each fate, all of today.
type fates struct {
	succeeded, ignored, deadLettered, received, processing, uncertain, disputed, decided store.Candidate
	disputedCopy, decidedCopy                                                            store.Candidate
}

func (f fates) unresolved() []store.Candidate {
	return []store.Candidate{f.deadLettered, f.received, f.processing, f.uncertain, f.disputed}
}

func makeFates(t *testing.T, s spine) fates {
	t.Helper()
	f := fates{
		succeeded: s.queued(t, "succeeded"), deadLettered: s.queued(t, "dead"), processing: s.queued(t, "processing"),
		uncertain: s.queued(t, "uncertain"), disputed: s.queued(t, "disputed"), decided: s.queued(t, "decided"),
		ignored: copyOf("ignored", withoutWorkflow), received: copyOf("received"),
	}
	f.disputedCopy, f.decidedCopy = copyOf("disputed", content("other")), copyOf("decided", content("other"))
	for _, c := range []store.Candidate{f.ignored, f.received, f.disputedCopy, f.decidedCopy} {
		accept(t, s.ingress, c)
	}
	claim, err := s.work.ClaimAction(t.Context(), request(f.succeeded.ReceiptID, 1))
	require.NoError(t, err)
	require.NoError(t, s.work.RunLocal(t.Context(), claim, succeeds))
	_, err = s.work.ClaimAction(t.Context(), request(f.processing.ReceiptID, 1))
	require.NoError(t, err)
	_, err = s.work.ClaimAction(t.Context(), request(f.uncertain.ReceiptID, 1))
	require.NoError(t, err)
	for _, c := range []store.Candidate{f.succeeded, f.uncertain, f.disputed, f.decided} {
		s.finished(t, c.ReceiptID, oncehook.StateSucceeded)
	}
	s.finished(t, f.deadLettered.ReceiptID, oncehook.StateDeadLettered)
	execute(t, s.db, `UPDATE oncehook.actions SET state = 'uncertain', outcome = NULL WHERE receipt_id = $1`, f.uncertain.ReceiptID)
	execute(t, s.db, `INSERT INTO oncehook.conflict_resolutions (delivery_id, resolution, reason, actor) VALUES ($1, 'keep', 'test', 'test')`, f.decidedCopy.ReceiptID)
	return f
}

func TestBodiesGoAfterTheirTimeAndThoseOfUnresolvedEventsStayReadable(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	f := makeFates(t, s)
	before := s.body(t, f.deadLettered.ReceiptID)
	require.NotEmpty(t, before)

	early := s.retain(t, 29*day, true)
	require.Zero(t, early["payloads standard"].Rows)
	require.NotEmpty(t, s.body(t, f.succeeded.ReceiptID))

	dry := s.retain(t, 32*day, false)
	require.Equal(t, int64(3+1), dry["payloads standard"].Rows, "succeeded, ignored, decided and the decided copy")
	require.Equal(t, int64(5+1), dry["payloads standard"].Kept, "five events and the disputed copy")
	require.NotZero(t, dry["payloads standard"].Bytes)
	require.NotEmpty(t, s.body(t, f.succeeded.ReceiptID), "a dry run deletes nothing")
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned`))

	applied := s.retain(t, 32*day, true)
	require.Equal(t, dry["payloads standard"], applied["payloads standard"], "it does what the dry run said")
	for _, c := range f.unresolved() {
		require.NotEmpty(t, s.body(t, c.ReceiptID), c.Event.ID)
	}
	require.Equal(t, before, s.body(t, f.deadLettered.ReceiptID))
	for _, c := range []store.Candidate{f.succeeded, f.ignored, f.decided} {
		require.Empty(t, s.body(t, c.ReceiptID), "gone, and no error: "+c.Event.ID)
	}
	require.Equal(t, 6, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned`))
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned WHERE delivery_id = $1`, f.disputedCopy.ReceiptID))

	// Of what is settled meanwhile the body goes.
	execute(t, s.db, `INSERT INTO oncehook.conflict_resolutions (delivery_id, resolution, reason, actor) VALUES ($1, 'keep', 'test', 'test')`, f.disputedCopy.ReceiptID)
	s.finished(t, f.processing.ReceiptID, oncehook.StateSucceeded)
	again := s.retain(t, 32*day, true)
	require.Equal(t, int64(3), again["payloads pinned"].Rows)
	require.Empty(t, s.body(t, f.processing.ReceiptID))
	require.NotEmpty(t, s.body(t, f.deadLettered.ReceiptID))
	require.Equal(t, 3, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned`))
}

func TestAKeyIsForgottenLongAfterItsLastCopyAndTheLedgerAfterThat(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	f := makeFates(t, s)
	execute(t, s.db, `UPDATE oncehook.delivery_counts SET last_at = last_at + interval '10 days' WHERE receipt_id = $1`, f.decided.ReceiptID)
	line := s.retain(t, 399*day, true)["keys and receipts"]
	require.Zero(t, line.Rows)
	line = s.retain(t, 401*day, true)["keys and receipts"]
	require.Equal(t, int64(2), line.Rows, "succeeded and ignored")
	require.Equal(t, int64(5), line.Kept)
	for _, query := range []string{
		`SELECT count(*) FROM oncehook.receipts WHERE event_id IN ('succeeded', 'ignored')`,
		`SELECT count(*) FROM oncehook.event_keys k WHERE NOT EXISTS (SELECT FROM oncehook.receipts r WHERE r.id = k.receipt_id)`,
		`SELECT count(*) FROM oncehook.receipt_history k WHERE NOT EXISTS (SELECT FROM oncehook.receipts r WHERE r.id = k.receipt_id)`,
		`SELECT count(*) FROM oncehook.outbox k WHERE NOT EXISTS (SELECT FROM oncehook.receipts r WHERE r.id = k.receipt_id)`,
	} {
		require.Zero(t, number(t, s.db, query), query)
	}
	require.Equal(t, 6, number(t, s.db, `SELECT count(*) FROM oncehook.receipts`), "the decided one had a copy ten days later")
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE receipt_id = $1`, f.succeeded.ReceiptID), "the ledger outlives the key")
	require.NoError(t, openWork(t, later(s.url, 401*day)).PreparePartitions(t.Context()))
	ingress := openIngress(t, later(s.url, 401*day))
	require.Equal(t, []oncehook.Decision{oncehook.Accepted}, decisions(accept(t, ingress, copyOf("succeeded"))), "the key is free")
	require.Equal(t, []oncehook.Decision{oncehook.Duplicate}, decisions(accept(t, ingress, copyOf("dead"))), "that of a dead letter is not")

	gone := s.retain(t, 801*day, true)
	require.NotZero(t, gone["actions"].Rows)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE receipt_id = $1`, f.succeeded.ReceiptID))
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE receipt_id = $1`, f.uncertain.ReceiptID))
	require.NotZero(t, gone["audit"].Partitions)
	require.NotZero(t, gone["audit_sums"].Partitions)
	require.NotEmpty(t, s.body(t, f.deadLettered.ReceiptID), "what is unresolved outlives all")
}

func TestRejectedDeliveriesGoWhenTheirOwnTimeIsOver(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	require.True(t, reject(t, s.ingress, store.Rejection{
		ID: uuid.New(), Source: "logistics", Refusal: oncehook.Refusal{Code: oncehook.CodeMalformedJSON}, Body: []byte("x"),
	}))
	require.Zero(t, s.retain(t, 6*day, true)["rejected deliveries"].Rows)
	require.Equal(t, int64(1), s.retain(t, 8*day, true)["rejected deliveries"].Rows)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.rejected_deliveries`))
}

func TestADetachmentThatWasBrokenOffIsCompleted(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	f := makeFates(t, s)
	reader := begin(t, s.db)
	_, err := reader.Exec(t.Context(), `SELECT FROM oncehook.payloads_c2 LIMIT 1`)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := store.Retain(ctx, later(s.url, 32*day), clocks(), true)
		done <- err
	}()
	pending := `SELECT count(*) FROM pg_inherits WHERE inhdetachpending AND inhparent = 'oncehook.payloads_c2'::regclass`
	soon(t, func() bool { return number(t, s.db, pending) == 1 }, "it waits for the reader of the parent")
	_, err = store.Retain(t.Context(), later(s.url, 32*day), clocks(), true)
	require.ErrorIs(t, err, store.ErrRetentionRuns)
	cancel()
	require.Error(t, <-done)
	soon(t, func() bool {
		return number(t, s.db, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 0
	}, "the session that applied it has ended")
	require.Equal(t, 1, number(t, s.db, pending))
	require.NotEmpty(t, s.body(t, f.deadLettered.ReceiptID), "between two runs it can be read")
	require.NoError(t, reader.Rollback(t.Context()))

	// Meanwhile life goes on: partitions are made, events accepted.
	require.NoError(t, s.work.PreparePartitions(t.Context()))
	accept(t, s.ingress, copyOf("meanwhile"))

	lines := s.retain(t, 32*day, true)
	require.NotZero(t, lines["payloads standard"].Partitions)
	require.Zero(t, number(t, s.db, pending))
	require.Equal(t, 7, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned`))
	for _, c := range f.unresolved() {
		require.NotEmpty(t, s.body(t, c.ReceiptID), c.Event.ID)
	}
}

func TestADayThatIsDetachedAndNotDroppedIsDroppedByTheNextRun(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	f := makeFates(t, s)
	leaf := pgx.Identifier{"oncehook", "payloads_c2_" + time.Now().UTC().Format("20060102")}.Sanitize()
	execute(t, s.db, `ALTER TABLE oncehook.payloads_c2 DETACH PARTITION `+leaf)
	s.retain(t, 32*day, true)
	require.Equal(t, 6, number(t, s.db, `SELECT count(*) FROM oncehook.payloads_pinned`))
	require.Zero(t, number(t, s.db, `SELECT count(to_regclass($1))`, leaf))
	require.NotEmpty(t, s.body(t, f.deadLettered.ReceiptID))
}
