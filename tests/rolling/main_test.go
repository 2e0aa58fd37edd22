// Package rolling_test stops and replaces real processes as a deployment does:
// nobody is refused, nothing is lost, and no action loses an attempt by it.
package rolling_test

import (
	"os"
	"testing"
	"time"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// recovery bounds how long a hand-over may hold an event up.
const recovery = 3 * time.Minute

const transitions = `SELECT count(*) FROM logistics.shipment_transitions`

// shapes are both ways in which Local effects run.
func shapes(t *testing.T, test func(t *testing.T, regular bool)) {
	t.Helper()
	for name, regular := range map[string]bool{"local activities": false, "regular activities": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, regular)
		})
	}
}
