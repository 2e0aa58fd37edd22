package telemetry_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func requireStatus(t *testing.T, url string, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _ := harness.Get(url)
		return status == want
	}, 30*time.Second, 50*time.Millisecond, "%s never answered %d", url, want)
}

func TestAWorkerAnswersOperatorsAndIsReadyWhileTemporalAnswers(t *testing.T) {
	temporal := harness.StartTemporal(t)
	s := harness.New(t, harness.Options{Temporal: temporal})
	work := s.WorkWith(harness.WithOperations)
	url := work.OperationsURL()
	requireStatus(t, url+"/livez", http.StatusOK)
	requireStatus(t, url+"/readyz", http.StatusOK)

	s.Serve().Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")
	s.Succeeded(1, time.Minute)
	var text string
	require.Eventually(t, func() bool {
		_, text = harness.Get(url + "/metrics")
		return strings.Contains(text, `oncehook_event_seconds_count{source="logistics",state="succeeded"} 1`+"\n")
	}, 10*time.Second, 50*time.Millisecond, "%s", text)
	for _, line := range []string{
		`oncehook_starts_total{result="started"} 1`,
		`oncehook_dispatch_seconds_count{source="logistics"} 1`,
		`oncehook_action_seconds_count{action="logistics.record_arrival",result="done"} 1`,
		`oncehook_receipt_ends_total{state="succeeded"} 1`,
		`oncehook_pool_connections{pool="work_effects",state="most"} `,
		`oncehook_build_info{version="development"} 1`,
		`temporal_worker_task_slots_available{`,
		`temporal_request_total{`,
		`temporal_workflow_task_execution_latency_seconds_bucket{`,
		`go_goroutines `,
	} {
		require.Contains(t, text, "\n"+line)
	}
	require.NotContains(t, text, "logistics-sandbox", "no tenant is a label")

	temporal.Kill()
	requireStatus(t, url+"/readyz", http.StatusServiceUnavailable)
	requireStatus(t, url+"/livez", http.StatusOK)
	temporal.Start()
	requireStatus(t, url+"/readyz", http.StatusOK)
	for _, path := range []string{"/", "/api/v1/events", "/debug/pprof/"} {
		requireStatus(t, url+path, http.StatusNotFound)
	}
	work.Stop()
}

func TestAWorkerIsAliveAndNotReadyBeforeTemporalAnswers(t *testing.T) {
	s := harness.New(t, harness.Options{})
	work := s.WorkUnready(harness.WithOperations)
	url := work.OperationsURL()
	requireStatus(t, url+"/livez", http.StatusOK)
	requireStatus(t, url+"/readyz", http.StatusServiceUnavailable)
	require.Eventually(t, func() bool {
		_, text := harness.Get(url + "/metrics")
		return strings.Contains(text, "\noncehook_outbox_pending_rows 0\n")
	}, 10*time.Second, 50*time.Millisecond)
}

func TestAnIngressAloneAnswersOperators(t *testing.T) {
	s := harness.New(t, harness.Options{})
	p := s.ServeWith(harness.OnlyIngress, harness.WithOperations)
	require.Empty(t, p.AdminURL)
	url := p.OperationsURL()
	requireStatus(t, url+"/livez", http.StatusOK)
	requireStatus(t, url+"/readyz", http.StatusOK)
	p.Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")
	p.Post("logistics", "wrong", harness.Event("e")).Is(t, http.StatusUnauthorized, "unauthenticated")
	_, text := harness.Get(url + "/metrics")
	for _, line := range []string{
		`oncehook_deliveries_total{outcome="accepted",source="logistics"} 1`,
		`oncehook_deliveries_total{outcome="unauthenticated",source="logistics"} 1`,
		`oncehook_accept_queued_events 0`,
		`oncehook_pool_connections{pool="ingress_commits",state="most"} 2`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	status, _ := harness.Get(p.IngressURL + "/metrics")
	require.Equal(t, http.StatusNotFound, status, "senders see no metrics")
	p.Stop()
}

// What a worker says about an event names it, whoever writes the line.
func TestLinesOfAnEventCarryItsCorrelationID(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: true})
	work := s.Work()
	a := s.Serve().Post("acme", harness.AcmeToken, harness.EventOf(harness.RetryingType, "e")).Is(t, http.StatusAccepted, "accepted")
	s.Eventually(1, time.Minute, `SELECT count(*) FROM oncehook.actions WHERE last_error IS NOT NULL`)
	var line map[string]any
	require.Eventually(t, func() bool {
		for _, text := range strings.Split(work.Log(), "\n") {
			if strings.Contains(text, "Activity error") {
				return json.Unmarshal([]byte(text), &line) == nil
			}
		}
		return false
	}, 10*time.Second, 50*time.Millisecond, "%s", work.Log())
	require.Equal(t, a.CorrelationID, line["correlation_id"])
	require.Equal(t, a.ReceiptID, line["receipt_id"])
	require.Contains(t, work.Log(), "an attempt did not succeed")
	for _, text := range strings.Split(strings.TrimSpace(work.Log()), "\n") {
		if strings.Contains(text, "RunID") || strings.Contains(text, a.ReceiptID) {
			require.Contains(t, text, a.CorrelationID)
		}
	}
}
