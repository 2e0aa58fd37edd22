// Package reconcile_test ends, loses and disturbs runs behind oncehook's back, by
// Temporal's real API and by SIGKILL, and waits for the receipts to tell the truth.
package reconcile_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	// promise is how soon a receipt must tell what became of its run.
	promise = time.Minute
	// recovery is for what takes several steps.
	recovery    = 3 * time.Minute
	transitions = `SELECT count(*) FROM logistics.shipment_transitions`
)

// event is an accepted event of a test workflow.
type event struct {
	system     *harness.System
	id         string
	key        string
	receipt    uuid.UUID
	correlated string
}

// post delivers an event of the type to acme.
func post(t *testing.T, s *harness.System, p *harness.Process, eventType, id string) event {
	t.Helper()
	a := p.Post("acme", harness.AcmeToken, harness.EventOf(eventType, id)).Is(t, http.StatusAccepted, "accepted")
	return event{system: s, id: id, key: a.EventKey, receipt: uuid.MustParse(a.ReceiptID), correlated: a.CorrelationID}
}

// is waits for the receipt's state and cause.
func (e event) is(t *testing.T, within time.Duration, state, cause string) {
	t.Helper()
	var have string
	require.Eventually(t, func() bool {
		have = e.text(`SELECT state || ' ' || cause FROM oncehook.receipts WHERE id = $1`)
		return have == state+" "+cause
	}, within, 50*time.Millisecond, "wanted %s %s for %s", state, cause, e.id)
}

func (e event) text(query string) string { e.system.T.Helper(); return e.system.Text(query, e.receipt) }

// started waits until the run exists and its start is recorded.
func (e event) started(t *testing.T) {
	t.Helper()
	e.system.Eventually(1, promise, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND dispatched_at IS NOT NULL AND run_id IS NOT NULL`, e.receipt)
}

func (e event) detail() string {
	return e.text(`SELECT detail FROM oncehook.receipt_history WHERE receipt_id = $1 ORDER BY version DESC LIMIT 1`)
}
