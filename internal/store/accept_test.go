package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestAcceptRecordsTheFirstCopyOnceAndCountsTheOthers(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	first := copyOf("event-1")
	got := accept(t, s, first)[0]
	require.Equal(t, store.AcceptResult{Decision: oncehook.Accepted, ReceiptID: first.ReceiptID, CorrelationID: first.CorrelationID}, got)
	for range 2 {
		again := accept(t, s, copyOf("event-1"))[0]
		require.Equal(t, store.AcceptResult{Decision: oncehook.Duplicate, ReceiptID: first.ReceiptID, CorrelationID: first.CorrelationID}, again)
	}
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts WHERE state = 'received' AND version = 1 AND run_no = 1`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.outbox WHERE source = 'logistics' AND tenant = 'north' AND workflow = 'ShipmentDepotArrival' AND dispatched_at IS NULL`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.payloads WHERE delivery_id = $1`, first.ReceiptID))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipt_history WHERE to_state = 'received' AND from_state IS NULL AND cause = 'accept' AND actor = 'sender'`))
	require.Equal(t, 2, number(t, db, `SELECT duplicates FROM oncehook.delivery_counts WHERE receipt_id = $1`, first.ReceiptID))
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE receipt_id = $1 AND kind = 'delivery'
		AND principal = 'sender' AND credential_version = '1' AND peer = '192.0.2.7' AND correlation_id = $2`, first.ReceiptID, first.CorrelationID))
	require.Equal(t, 3, number(t, db, `SELECT count(DISTINCT transaction_id) FROM oncehook.audit`))
}

func TestAReceiptWithoutWorkflowEndsIgnoredWithBothSteps(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	c := copyOf("event-1", withoutWorkflow)
	require.Equal(t, oncehook.Accepted, accept(t, s, c)[0].Decision)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts WHERE state = 'ignored' AND cause = 'no_workflow' AND version = 2 AND workflow IS NULL`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipt_history WHERE version = 1 AND to_state = 'received' AND cause = 'accept'`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipt_history WHERE version = 2 AND from_state = 'received' AND to_state = 'ignored' AND cause = 'no_workflow' AND actor = 'oncehook'`))
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.outbox`))
}

func TestCopiesInOneBatchAreEachDecidedAndCounted(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	unit := []store.Candidate{copyOf("event-1"), copyOf("event-1"), copyOf("event-1", content("other")), copyOf("event-2")}
	results := accept(t, s, unit...)
	require.Equal(t, []oncehook.Decision{oncehook.Accepted, oncehook.Duplicate, oncehook.Conflict, oncehook.Accepted}, decisions(results))
	for _, r := range results[:3] {
		require.Equal(t, unit[0].ReceiptID, r.ReceiptID)
		require.Equal(t, unit[0].CorrelationID, r.CorrelationID)
	}
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.delivery_counts WHERE duplicates = 1 AND conflicts = 1`))
	require.Equal(t, 1, number(t, db, `SELECT count(DISTINCT transaction_id) FROM oncehook.audit`))
}

func TestAConflictIsKeptOncePerDistinctContentWithItsBody(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	first := accept(t, s, copyOf("event-1"))[0]
	conflicting := copyOf("event-1", content("other"))
	require.Equal(t, oncehook.Conflict, accept(t, s, conflicting)[0].Decision)
	// The same other content again, twice in one batch, and a third content.
	require.Equal(t, []oncehook.Decision{oncehook.Conflict, oncehook.Conflict, oncehook.Conflict},
		decisions(accept(t, s, copyOf("event-1", content("other")), copyOf("event-1", content("third")), copyOf("event-1", content("third")))))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM oncehook.conflicts WHERE receipt_id = $1`, first.ReceiptID))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM oncehook.conflicts c JOIN oncehook.payloads p ON p.delivery_id = c.delivery_id
		AND p.day = c.payload_day AND p.retention_class = c.retention_class`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.conflicts WHERE delivery_id = $1`, conflicting.ReceiptID))
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM oncehook.payloads`), "the accepted one and each conflicting content")
	require.Equal(t, 4, number(t, db, `SELECT conflicts FROM oncehook.delivery_counts WHERE duplicates = 0`))
	require.Equal(t, 4, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE outcome = 'conflict' AND fingerprint IS NOT NULL AND recipe = 'fields/1'`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, oncehook.Duplicate, accept(t, s, copyOf("event-1"))[0].Decision)
}

func TestOfOneEventABoundedNumberOfConflictingContentsIsKept(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	differing := func(from, to int) []store.Candidate {
		var unit []store.Candidate
		for n := from; n < to; n++ {
			unit = append(unit, copyOf("event-1", content(fmt.Sprintf("other-%d", n))))
		}
		return unit
	}
	require.Equal(t, oncehook.Accepted, accept(t, s, copyOf("event-1"))[0].Decision)
	conflicts := func(unit []store.Candidate) {
		t.Helper()
		for _, decision := range decisions(accept(t, s, unit...)) {
			require.Equal(t, oncehook.Conflict, decision)
		}
	}
	const kept = store.ConflictCap
	conflicts(differing(0, kept-10))
	conflicts(differing(kept-20, kept+10)) // ten known ones, ten that find room, ten that do not
	require.Equal(t, kept, number(t, db, `SELECT count(*) FROM oncehook.conflicts`))
	require.Equal(t, 1+kept, number(t, db, `SELECT count(*) FROM oncehook.payloads`))
	require.Equal(t, 10, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE outcome = 'conflict' AND flags = '{not_kept}' AND fingerprint IS NOT NULL`))
	// What is full says so again, and knows what it keeps.
	conflicts(append(differing(kept+10, kept+15), differing(0, 5)...))
	require.Equal(t, kept, number(t, db, `SELECT count(*) FROM oncehook.conflicts`))
	require.Equal(t, 15, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE flags = $1`, []string{store.FlagNotKept}))
	require.Equal(t, kept+30, number(t, db, `SELECT conflicts FROM oncehook.delivery_counts`))
	// Another event has room of its own.
	other := copyOf("event-2")
	require.Equal(t, []oncehook.Decision{oncehook.Accepted, oncehook.Conflict}, decisions(accept(t, s, other, copyOf("event-2", content("other")))))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.conflicts WHERE receipt_id = $1`, other.ReceiptID))
}

func TestConcurrentConflictingCopiesKeepOneBody(t *testing.T) {
	url := database(t)
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	for round := range 20 {
		id := fmt.Sprintf("event-%d", round)
		accept(t, a, copyOf(id))
		var got answers
		for range 8 {
			got.offer(a, copyOf(id, content("other")))
			got.offer(b, copyOf(id, content("other")))
		}
		got.wg.Wait()
		require.EqualValues(t, 16, got.conflict.Load(), got.String())
	}
	require.Equal(t, 20, number(t, db, `SELECT count(*) FROM oncehook.conflicts`))
	require.Equal(t, 40, number(t, db, `SELECT count(*) FROM oncehook.payloads`))
	require.Equal(t, 20, number(t, db, `SELECT count(*) FROM oncehook.conflicts c JOIN oncehook.payloads p USING (delivery_id)`))
}

func TestUnitsOfSeveralEventsCommitWholeBesideSingleOnes(t *testing.T) {
	url := database(t)
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	var got answers
	for n := range 60 {
		s := []*store.Ingress{a, b}[n%2]
		got.offer(s, copyOf(fmt.Sprintf("a-%d", n)), copyOf(fmt.Sprintf("b-%d", n)), copyOf(fmt.Sprintf("c-%d", n)))
		got.offer(s, copyOf(fmt.Sprintf("single-%d", n)))
		got.offer(s, copyOf(fmt.Sprintf("b-%d", n)))
	}
	got.wg.Wait()
	require.EqualValues(t, 240, got.accepted.Load(), got.String())
	require.EqualValues(t, 60, got.duplicate.Load(), got.String())
	require.Equal(t, 240, number(t, db, `SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, 60, number(t, db, `SELECT sum(duplicates) FROM oncehook.delivery_counts`))
}

func TestConcurrentCopiesOverTwoProcessesAreAcceptedOnce(t *testing.T) {
	url := database(t)
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	for round, copies := range []int{2, 10, 100} {
		var got answers
		for n := range copies {
			got.offer([]*store.Ingress{a, b}[n%2], copyOf(fmt.Sprintf("event-%d", round)))
		}
		got.wg.Wait()
		require.EqualValues(t, 1, got.accepted.Load(), got.String())
		require.EqualValues(t, copies-1, got.duplicate.Load(), got.String())
	}
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, 109, number(t, db, `SELECT sum(duplicates) FROM oncehook.delivery_counts`))
	require.Equal(t, 112, number(t, db, `SELECT count(*) FROM oncehook.audit`))
}

func TestStoredTimesAndThePartitionDayAreTheProcesssClock(t *testing.T) {
	url := database(t)
	db := connect(t, url)
	// A second before and after midnight, tomorrow, whatever the database's clock says.
	midnight := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
	now := midnight.Add(-time.Second)
	o := options(url)
	o.Now = func() time.Time { return now }
	s := openIngress(t, o)
	before := copyOf("before")
	accept(t, s, before)
	now = midnight.Add(time.Second)
	after := copyOf("after")
	accept(t, s, after, copyOf("before"))
	for id, at := range map[uuid.UUID]time.Time{before.ReceiptID: midnight.Add(-time.Second), after.ReceiptID: midnight.Add(time.Second)} {
		var received, audited time.Time
		var day, payloadDay string
		require.NoError(t, db.QueryRow(t.Context(), `SELECT r.received_at, a.at, r.payload_day::text, p.day::text
			FROM oncehook.receipts r JOIN oncehook.audit a ON a.receipt_id = r.id AND a.outcome = 'accepted'
			JOIN oncehook.payloads p ON p.delivery_id = r.id WHERE r.id = $1`, id).Scan(&received, &audited, &day, &payloadDay))
		require.True(t, received.Equal(at), received)
		require.True(t, audited.Equal(at), audited)
		require.Equal(t, at.Format(time.DateOnly), day)
		require.Equal(t, day, payloadDay)
	}
}

func TestOnAcceptedIsCalledForNewWorkOnly(t *testing.T) {
	s := openIngress(t, options(database(t)))
	called := make(chan struct{}, 16)
	s.OnAccepted(func() { called <- struct{}{} })
	accept(t, s, copyOf("event-1", withoutWorkflow))
	accept(t, s, copyOf("event-1", withoutWorkflow))
	accept(t, s, copyOf("event-2"))
	<-called
	s.Close()
	require.Empty(t, called)
}
