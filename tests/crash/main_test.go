// Package crash_test kills real processes by SIGKILL at named points and counts
// effects in the business table: each acknowledged event ends succeeded, once.
package crash_test

import (
	"os"
	"testing"
	"time"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// recovery bounds how long a crash may hold an event up: leases and Temporal's
// own timeouts run out first.
const recovery = 3 * time.Minute

const transitions = `SELECT count(*) FROM logistics.shipment_transitions`
