package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestAnEventBecomesOneRunThatTellsItsStory(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	c := p.config()
	c.Local = true
	p.dispatch(c)
	row := p.started(event)

	found, err := p.client.DescribeWorkflow(t.Context(), event.key, "")
	require.NoError(t, err)
	require.Equal(t, row.runID, found.WorkflowExecution.RunID)
	require.Equal(t, "Flow", found.WorkflowType.Name)
	require.Equal(t, oncehook.TaskQueue, found.TaskQueueName)
	for name, want := range map[string]string{
		oncehook.SearchAttributeSource: p.source, oncehook.SearchAttributeTenant: "north",
		oncehook.SearchAttributeEventType: "shipment.depot_arrival",
	} {
		var value string
		require.NoError(t, converter.GetDefaultDataConverter().FromPayload(found.RawResponse.WorkflowExecutionInfo.SearchAttributes.IndexedFields[name], &value))
		require.Equal(t, want, value)
	}
	line, err := found.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "shipment.depot_arrival from "+p.source+" (north)", line)

	history := p.client.GetWorkflowHistory(t.Context(), event.key, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := history.Next()
	require.NoError(t, err)
	var ref oncehook.Ref
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(first.GetWorkflowExecutionStartedEventAttributes().GetInput(), &ref))
	require.Equal(t, event.key, ref.EventKey)
	require.Equal(t, event.receipt.String(), ref.ReceiptID)
	require.Equal(t, 1, ref.RunNo)
	require.True(t, ref.Local)
	state, cause := p.state(event)
	require.Equal(t, "queued", state)
	require.Equal(t, "dispatch", cause)
}

func TestACrashBetweenStartAndMarkLeavesOneRun(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	p.dispatch(p.config())
	open, closed := p.accept("open"), p.accept("closed")
	runs := map[string]string{open.key: p.started(open).runID, closed.key: p.started(closed).runID}
	require.NoError(t, p.client.TerminateWorkflow(t.Context(), closed.key, "", "test"))

	for _, event := range []accepted{open, closed} {
		p.forget(event)
		require.Equal(t, runs[event.key], p.started(event).runID, "the request is recognized, and so is its run")
	}
}

// start starts a run by the way of somebody else.
func (p *post) start(a accepted, memo map[string]any) string {
	p.t.Helper()
	run, err := p.client.ExecuteWorkflow(p.t.Context(), client.StartWorkflowOptions{ID: a.key, TaskQueue: oncehook.TaskQueue, Memo: memo}, "Flow")
	require.NoError(p.t, err)
	return run.GetRunID()
}

func TestARunWhoseMemoNamesTheRowIsItsOwn(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	runID := p.start(event, map[string]any{oncehook.MemoReceiptID: event.receipt.String(), oncehook.MemoRunNo: 1})
	p.dispatch(p.config())
	require.Equal(t, runID, p.started(event).runID)
}

func TestAForeignRunAlertsAndIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	for name, memo := range map[string]map[string]any{
		"no memo":       nil,
		"other receipt": {oncehook.MemoReceiptID: uuid.NewString(), oncehook.MemoRunNo: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPost(t)
			event := p.accept("event-1")
			runID := p.start(event, memo)
			require.NoError(t, p.client.TerminateWorkflow(t.Context(), event.key, runID, "closed or not"))
			p.dispatch(p.config())
			p.soon(func() bool { return strings.Contains(p.row(event).alert, "not this event's") }, "the row alerts")
			require.False(t, p.row(event).dispatched)
			state, _ := p.state(event)
			require.Equal(t, "queued", state)
		})
	}
}

func TestALaterRunFollowsAClosedOneAndNoOther(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	p.dispatch(p.config())
	event := p.accept("event-1")
	first := p.started(event).runID
	p.exec(`UPDATE oncehook.receipts SET state = 'dead_lettered', version = version + 1 WHERE id = $1`, event.receipt)
	p.exec(`UPDATE oncehook.receipts SET state = 'queued', version = version + 1, run_no = 2 WHERE id = $1`, event.receipt)
	p.exec(`INSERT INTO oncehook.outbox (receipt_id, run_no, source, tenant, workflow) VALUES ($1, 2, $2, 'north', 'Flow')`, event.receipt, p.source)
	p.soon(func() bool { return p.row(event).alert != "" }, "the first run still has the id")

	require.NoError(t, p.client.TerminateWorkflow(t.Context(), event.key, first, "test"))
	p.exec(`UPDATE oncehook.outbox SET lease_until = NULL WHERE dispatched_at IS NULL`)
	second := p.started(event)
	require.NotEqual(t, first, second.runID)
	require.Empty(t, second.alert)
}

func TestARunThatTemporalForgotIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	_, err := p.Work.ClaimStarts(t.Context(), store.ClaimLimits{Batch: 1, PerSource: 1, InFlight: 1})
	require.NoError(t, err)
	_, err = p.Work.Finish(t.Context(), store.Finish{ReceiptID: event.receipt, RunNo: 1, State: oncehook.StateSucceeded, Cause: "finished"})
	require.NoError(t, err)
	p.dispatch(p.config())
	require.Empty(t, p.started(event).runID)
	_, err = p.client.DescribeWorkflow(t.Context(), event.key, "")
	require.Error(t, err)
}

func TestWhatTemporalNeverTakesIsADeadLetter(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.acceptFor("event-1", strings.Repeat("x", 2000))
	other := p.accept("event-2")
	p.dispatch(p.config())
	p.started(event)
	state, cause := p.state(event)
	require.Equal(t, "dead_lettered", state)
	require.Equal(t, "temporal_refused", cause)
	p.started(other)
}

func TestOurOwnMisconfigurationKeepsEveryRow(t *testing.T) {
	t.Parallel()
	for name, namespace := range map[string]string{"no such namespace": "nowhere", "no search attributes": "temporal-system"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPost(t)
			event := p.accept("event-1")
			c := p.config()
			c.Client = dial(t, shared.address(t), namespace)
			_, stop := p.dispatch(c)
			p.soon(func() bool { return strings.Contains(p.row(event).alert, "check namespace") }, "the row alerts")
			stop()
			require.False(t, p.row(event).dispatched)
			p.exec(`UPDATE oncehook.outbox SET lease_until = NULL`)
			p.dispatch(p.config())
			require.Empty(t, p.started(event).alert, "mended, it starts")
		})
	}
}

func TestTheOutboxWaitsWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	gate := newRelay(t, shared.address(t))
	gate.close()
	c := p.config()
	c.Client = dial(t, gate.addr, client.DefaultNamespace)
	events := make([]accepted, 30)
	for n := range events {
		events[n] = p.accept(fmt.Sprint("event-", n))
	}
	p.dispatch(c)
	p.soon(func() bool { return p.row(events[0]).lastError != "" }, "a start fails")
	gate.open()
	for _, event := range events {
		p.started(event)
	}
	require.Empty(t, p.row(events[0]).alert, "an outage needs no person")
}

func TestTheDispatcherSurvivesPostgreSQLBeingAway(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	gate, url := throughRelay(t, p.URL)
	c := p.config()
	c.Store = storetest.OpenWork(t, url)
	before := p.accept("before")
	p.dispatch(c)
	p.started(before)
	gate.close()
	during := p.accept("during")
	require.Never(t, func() bool { return p.row(during).dispatched }, pause, pause/5)
	gate.open()
	p.started(during)
}

func TestTwoDispatchersStartEachEventOnce(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	const events = 100
	list := make([]accepted, events)
	for n := range list {
		list[n] = p.accept(fmt.Sprint("event-", n))
	}
	first, _ := p.dispatch(p.config())
	c := p.config()
	c.Store = storetest.OpenWork(t, p.URL)
	p.dispatch(c)
	first.Wake()
	runs := map[string]bool{}
	for _, event := range list {
		row := p.started(event)
		require.Equal(t, 1, row.claims)
		runs[row.runID] = true
	}
	require.Len(t, runs, events)
}

func TestStopFinishesStartsAndGivesTheRestBack(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	gate := newRelay(t, shared.address(t))
	gate.close()
	c := p.config()
	c.Client = dial(t, gate.addr, client.DefaultNamespace)
	c.Parallel = 1
	for n := range 20 {
		p.accept(fmt.Sprint("event-", n))
	}
	_, stop := p.dispatch(c)
	claimed := func() (n int) {
		require.NoError(t, p.DB.QueryRow(t.Context(), `SELECT count(*) FROM oncehook.outbox WHERE claims > 0`).Scan(&n))
		return n
	}
	p.soon(func() bool { return claimed() > 1 }, "rows are claimed")
	stop()
	var leased int
	require.NoError(t, p.DB.QueryRow(context.Background(), `SELECT count(*) FROM oncehook.outbox WHERE lease_until > now() + interval '11 seconds'`).Scan(&leased))
	require.Zero(t, leased, "no row waits for the end of a lease")
}
