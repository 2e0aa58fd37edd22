package spine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// demo is the printed first event.
const demo = `{"id":"event-demo-1042","tenant":"logistics-sandbox","type":"shipment.depot_arrival","occurred_at":"2026-11-30T09:30:00Z","shipment_id":"shipment-demo-42","depot_id":"depot-demo-7"}`

type trace struct {
	Receipt struct {
		EventKey   string `json:"event_key"`
		State      string `json:"state"`
		Status     string `json:"status"`
		Deliveries int    `json:"deliveries"`
		WorkflowID string `json:"workflow_id"`
		RunID      string `json:"run_id"`
	} `json:"receipt"`
	Decisions []struct {
		Outcome           string `json:"outcome"`
		Principal         string `json:"principal"`
		CredentialVersion string `json:"credential_version"`
		TransactionID     any    `json:"transaction_id"`
	} `json:"decisions"`
	Transitions []struct {
		From  string `json:"from"`
		To    string `json:"to"`
		Cause string `json:"cause"`
	} `json:"transitions"`
	Actions []struct {
		Name           string `json:"name"`
		State          string `json:"state"`
		IdempotencyKey string `json:"idempotency_key"`
		Attempts       int    `json:"attempts"`
	} `json:"actions"`
}

func TestOneEventDeliveredTwiceIsOneTransitionWithItsEvidence(t *testing.T) {
	for _, shape := range []struct {
		name    string
		regular bool
	}{{"as local activities", false}, {"as regular activities", true}} {
		t.Run(shape.name, func(t *testing.T) {
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: shape.regular})
			p := s.Serve()
			s.Work()

			accepted := p.Post("logistics", harness.LogisticsToken, demo).Is(t, http.StatusAccepted, "accepted")
			require.Equal(t, "logistics:logistics-sandbox:event-demo-1042", accepted.EventKey)
			duplicate := p.Post("logistics", harness.LogisticsToken, demo).Is(t, http.StatusOK, "duplicate")
			require.Equal(t, accepted.ReceiptID, duplicate.ReceiptID)
			s.Succeeded(1, time.Minute)
			require.Equal(t, 1, s.Count(transitions))

			var seen trace
			p.Admin("/api/v1/events/"+accepted.ReceiptID+"/trace", &seen)
			require.Equal(t, "succeeded", seen.Receipt.State)
			require.Equal(t, 2, seen.Receipt.Deliveries)
			require.Equal(t, accepted.EventKey, seen.Receipt.WorkflowID)
			require.NotEmpty(t, seen.Receipt.RunID)
			require.Len(t, seen.Decisions, 2)
			for _, d := range seen.Decisions {
				require.Equal(t, "logistics-sender", d.Principal)
				require.Equal(t, "1", d.CredentialVersion)
				require.NotEmpty(t, d.TransactionID)
			}
			states := []string{}
			for _, change := range seen.Transitions {
				states = append(states, change.To)
			}
			require.Equal(t, []string{"received", "queued", "processing", "succeeded"}, states)
			require.Len(t, seen.Actions, 1)
			require.Equal(t, "logistics.record_arrival", seen.Actions[0].Name)
			require.Equal(t, accepted.EventKey+":logistics.record_arrival", seen.Actions[0].IdempotencyKey)
			require.Equal(t, "done", seen.Actions[0].State)
			require.Equal(t, 1, seen.Actions[0].Attempts)

			run := s.Temporal.Describe(accepted.EventKey)
			require.Equal(t, "Completed", run.Status)
			require.Equal(t, map[string]string{
				"OncehookSource": "logistics", "OncehookTenant": "logistics-sandbox",
				"OncehookEventType": "shipment.depot_arrival", "OncehookCorrelationId": accepted.CorrelationID,
			}, run.SearchAttributes)
			require.Equal(t, "binary/encrypted", run.SummaryEncoding)
			require.ErrorContains(t, s.Temporal.StartAgain(accepted.EventKey), "already")
		})
	}
}

func TestAnEventWithoutAWorkflowEndsIgnoredAndStartsNothing(t *testing.T) {
	s := harness.New(t, harness.Options{})
	p := s.Serve()
	body := `{"id":"n-1","tenant":"logistics-north","type":"shipment.noted","shipment_id":"s","depot_id":"d"}`
	a := p.Post("logistics", harness.LogisticsToken, body).Is(t, http.StatusAccepted, "accepted")
	p.Post("logistics", harness.LogisticsToken, body).Is(t, http.StatusOK, "duplicate")
	require.Equal(t, "ignored", s.Text(`SELECT state FROM oncehook.receipts WHERE id = $1`, a.ReceiptID))
	require.Equal(t, 0, s.Count(`SELECT count(*) FROM oncehook.outbox`))
	require.Equal(t, "received\nignored", s.Text(`SELECT to_state FROM oncehook.receipt_history WHERE receipt_id = $1 ORDER BY version`, a.ReceiptID))
}
