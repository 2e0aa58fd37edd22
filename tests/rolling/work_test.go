package rolling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestARollingRestartOfWorkersLosesNoRunAndNoAttempt(t *testing.T) {
	t.Parallel()
	shapes(t, func(t *testing.T, regular bool) {
		s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
		running := []*harness.Process{s.Work(), s.Work()}
		load := startSenders(t, s.Serve().IngressURL, 400*time.Millisecond)
		load.goOn(50)
		for range 2 {
			for n, old := range running {
				old.Stop()
				load.goOn(20)
				running[n] = s.Work()
				load.goOn(20)
			}
		}
		accepted := load.end()
		s.Succeeded(accepted, recovery)
		require.Equal(t, accepted, s.Count(transitions))
		require.Equal(t, accepted, s.Count(`SELECT count(*) FROM oncehook.actions WHERE state = 'done' AND run_attempts = 1`), "no attempt is lost")
		require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.receipts WHERE state <> 'succeeded'`))
		s.Temporal.Eventually(0, "ExecutionStatus != 'Completed'")
		t.Logf("%d events over 4 restarts", accepted)
	})
}
