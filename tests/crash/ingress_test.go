package crash_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestTheIngressKilledBeforeCommitHasAcceptedNothing(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Parameters: map[string]string{"lock_timeout": "60s", "statement_timeout": "90s"}})
	s.Work()
	doomed := s.Serve()
	barrier := s.Barrier("INSERT", "oncehook.receipts", "", true)
	answer := make(chan harness.Answer, 1)
	go func() { answer <- doomed.Post("logistics", harness.LogisticsToken, harness.Event("before-commit")) }()
	barrier.Reached(1)
	doomed.Kill()
	require.Error(t, (<-answer).Err, "the sender saw no 2xx")
	// The server finishes or aborts the statement without its client; either way
	// nothing was promised, and the sender's retry settles it.
	barrier.Release()
	p := s.Serve()
	a := p.Post("logistics", harness.LogisticsToken, harness.Event("before-commit"))
	require.Contains(t, []int{http.StatusAccepted, http.StatusOK}, a.Status, a.Body)
	s.Succeeded(1, recovery)
	require.Equal(t, 1, s.Count(transitions))
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.receipts`))
}

func TestTheIngressKilledBetweenCommitAndAnswerLosesNothing(t *testing.T) {
	temporal := harness.StartTemporal(t)
	plain := harness.New(t, harness.Options{Temporal: temporal})
	proxy := harness.NewProxy(t, plain.URL)
	doomed := plain.Through(proxy.Addr()).Serve()
	plain.Work()

	// The first delivery warms the connection up, so that the second is one round trip.
	doomed.Post("logistics", harness.LogisticsToken, harness.Event("warm")).Is(t, http.StatusAccepted, "accepted")
	proxy.HoldAnswers()
	answer := make(chan harness.Answer, 1)
	go func() { answer <- doomed.Post("logistics", harness.LogisticsToken, harness.Event("after-commit")) }()
	plain.Eventually(1, time.Minute, `SELECT count(*) FROM oncehook.receipts WHERE event_id = 'after-commit'`)
	doomed.Kill()
	require.Error(t, (<-answer).Err)
	proxy.Pass()

	p := plain.Serve()
	p.Post("logistics", harness.LogisticsToken, harness.Event("after-commit")).Is(t, http.StatusOK, "duplicate")
	plain.Succeeded(2, recovery)
	require.Equal(t, 2, plain.Count(transitions))
}
