// Package keys_test rotates keys under running processes: nothing stops, nothing
// is lost, and what Temporal keeps cannot be read without a key.
package keys_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const transitions = `SELECT count(*) FROM logistics.shipment_transitions`
