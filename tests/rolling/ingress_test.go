package rolling_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestARollingRestartOfTheIngressRefusesNoDelivery(t *testing.T) {
	s := harness.New(t, harness.Options{})
	balancer := harness.NewBalancer(t)
	begin := func() *harness.Process {
		p := s.ServeWith(harness.OnlyIngress, "ONCEHOOK_INGRESS_DRAIN=1s")
		balancer.Add(p.IngressURL)
		require.Eventually(t, func() bool { return balancer.Ready(p.IngressURL) }, time.Minute, 10*time.Millisecond)
		return p
	}
	running := []*harness.Process{begin(), begin()}
	load := startSenders(t, balancer.URL(), 15*time.Millisecond)
	load.goOn(200)
	for range 3 {
		for n, old := range running {
			old.Stop()
			balancer.Remove(old.IngressURL)
			load.goOn(50)
			running[n] = begin()
			load.goOn(50)
		}
	}
	accepted := load.end()
	require.Zero(t, balancer.Refused())
	require.Positive(t, load.parted.Load(), "senders are asked to connect anew")
	require.Equal(t, accepted, s.Count(`SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, accepted, s.Count(`SELECT count(*) FROM oncehook.outbox`))
	t.Logf("%d deliveries accepted over 6 restarts, %d connections ended by an answer", accepted, load.parted.Load())
}

func TestADrainingIngressServesOnAndIsNotReady(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{})
	p := s.ServeWith(harness.OnlyIngress, "ONCEHOOK_INGRESS_DRAIN=2s")
	began := time.Now()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.Stop()
	}()
	ready := func() int {
		answer, err := http.Get(p.IngressURL + "/readyz")
		if err != nil {
			return 0
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode
	}
	require.Eventually(t, func() bool { return ready() == http.StatusServiceUnavailable }, time.Second, 5*time.Millisecond)
	a := p.Post("logistics", harness.LogisticsToken, harness.Event("late")).Is(t, http.StatusAccepted, "accepted")
	require.True(t, a.Close)
	<-stopped
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
}
