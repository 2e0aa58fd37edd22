// Package spine_test follows events from end to end: a sender, the ingress, the
// outbox, Temporal, a workflow, and the business table.
package spine_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// Effects are counted here, in the business table, never in oncehook's own evidence.
const transitions = `SELECT count(*) FROM logistics.shipment_transitions`
