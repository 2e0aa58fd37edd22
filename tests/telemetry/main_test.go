// Package telemetry_test holds what an operator sees of real processes: traces,
// metrics, health and log lines.
package telemetry_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
