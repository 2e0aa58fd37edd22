package dispatch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
)

// wake writes a wake-up of the event's run, as the effect that causes it does.
func (p *post) wake(a accepted) {
	p.t.Helper()
	p.exec(`INSERT INTO oncehook.outbox (kind, receipt_id, source, tenant, signal) VALUES ('signal', $1, $2, 'north', '{"action":"test.write"}')`,
		a.receipt, p.source)
}

// signals returns the arguments of the signals in the run's history.
func (p *post) signals(a accepted) []string {
	p.t.Helper()
	var arguments []string
	history := p.client.GetWorkflowHistory(p.t.Context(), a.key, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(p.t, err)
		if signalled := event.GetWorkflowExecutionSignaledEventAttributes(); signalled != nil {
			require.Equal(p.t, oncehook.SignalWake, signalled.SignalName)
			arguments = append(arguments, string(signalled.GetInput().GetPayloads()[0].GetData()))
		}
	}
	return arguments
}

func TestAWakeUpReachesItsRunOnce(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	p.dispatch(p.config())
	p.started(event)
	p.wake(event)
	p.started(event)
	require.Equal(t, []string{`{"action":"test.write"}`}, p.signals(event))

	// As if the process had died before the mark.
	p.exec(`UPDATE oncehook.outbox SET dispatched_at = NULL, lease_until = NULL WHERE kind = 'signal'`)
	p.started(event)
	require.Len(t, p.signals(event), 1, "the request is recognized")
	require.Equal(t, 2, p.row(event).claims)
}

func TestAWakeUpOfAClosedOrUnknownRunIsDone(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	closed, unknown := p.accept("event-1"), p.accept("event-2")
	_, stop := p.dispatch(p.config())
	p.started(closed)
	p.started(unknown)
	stop()
	require.NoError(t, p.client.TerminateWorkflow(t.Context(), closed.key, "", "test"))
	_, err := p.client.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: unknown.key},
	})
	require.NoError(t, err)
	p.soon(func() bool {
		_, err := p.client.DescribeWorkflow(t.Context(), unknown.key, "")
		return err != nil
	}, "temporal forgets the run")
	p.wake(closed)
	p.wake(unknown)
	p.dispatch(p.config())
	for _, event := range []accepted{closed, unknown} {
		p.started(event)
		require.Contains(t, p.row(event).lastError, "nothing to wake")
		require.Empty(t, p.row(event).alert)
	}
}

func TestWakeUpsWaitWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	_, stop := p.dispatch(p.config())
	p.started(event)
	stop()
	gate := newRelay(t, shared.address(t))
	gate.close()
	c := p.config()
	c.Client = dial(t, gate.addr, client.DefaultNamespace)
	p.dispatch(c)
	p.wake(event)
	p.soon(func() bool { return p.row(event).lastError != "" }, "the wake-up fails")
	require.False(t, p.row(event).dispatched)
	gate.open()
	p.started(event)
	require.Len(t, p.signals(event), 1)
}

func TestOurOwnMisconfigurationKeepsWakeUps(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	_, stop := p.dispatch(p.config())
	p.started(event)
	stop()
	c := p.config()
	c.Client = dial(t, shared.address(t), "nowhere")
	p.wake(event)
	p.dispatch(c)
	p.soon(func() bool { return strings.Contains(p.row(event).alert, "check namespace") }, "the row alerts")
	require.False(t, p.row(event).dispatched)
}

func TestADispatcherThatStopsGivesWakeUpsBack(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	event := p.accept("event-1")
	_, stop := p.dispatch(p.config())
	p.started(event)
	for range 100 {
		p.wake(event)
	}
	p.soon(func() bool {
		return p.row(event).dispatched || p.Count(t, `SELECT count(*) FROM oncehook.outbox WHERE kind = 'signal' AND dispatched_at IS NOT NULL`) > 0
	}, "some are sent")
	stop()
	require.Zero(t, p.Count(t, `SELECT count(*) FROM oncehook.outbox WHERE dispatched_at IS NULL AND lease_until > now() + interval '1 second'`))
	_, restart := p.dispatch(p.config())
	defer restart()
	p.soon(func() bool {
		var left int
		err := p.DB.QueryRow(context.Background(), `SELECT count(*) FROM oncehook.outbox WHERE dispatched_at IS NULL`).Scan(&left)
		return err == nil && left == 0
	}, "all are sent")
	require.Len(t, p.signals(event), 100)
}
