package spine_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestTemporalDownForAMinuteCostsNoEvent(t *testing.T) {
	temporal := harness.StartTemporal(t)
	s := harness.New(t, harness.Options{Temporal: temporal})
	p := s.Serve()
	s.Work()
	p.Post("logistics", harness.LogisticsToken, harness.Event("before")).Is(t, http.StatusAccepted, "accepted")
	s.Succeeded(1, time.Minute)

	temporal.Kill()
	const perSecond, seconds = 10, 60
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for _, id := range harness.IDs("down", perSecond*seconds) {
		<-tick.C
		p.Post("logistics", harness.LogisticsToken, harness.Event(id)).Is(t, http.StatusAccepted, "accepted")
	}
	temporal.Start()
	back := time.Now()
	s.Succeeded(1+perSecond*seconds, 90*time.Second)
	t.Logf("%d events drained %s after Temporal came back", perSecond*seconds, time.Since(back).Round(time.Millisecond))
	require.Equal(t, 1+perSecond*seconds, s.Count(transitions))
}

func TestALongLocalEffectDelaysNoAcknowledgement(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	s.Work()
	barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	p.Post("logistics", harness.LogisticsToken, harness.Event("long")).Is(t, http.StatusAccepted, "accepted")
	barrier.Reached(1)

	end := time.Now().Add(10 * time.Second)
	worst := time.Duration(0)
	n := 0
	for ; time.Now().Before(end); n++ {
		from := time.Now()
		p.Post("logistics", harness.LogisticsToken, harness.Event("long")).Is(t, http.StatusOK, "duplicate")
		p.Post("acme", harness.AcmeToken, fmt.Sprintf(`{"id":"other-%d","tenant":"x","type":"any"}`, n)).Is(t, http.StatusAccepted, "accepted")
		worst = max(worst, time.Since(from))
	}
	barrier.Release()
	s.Succeeded(1, time.Minute)
	t.Logf("%d duplicates and as many others beside a transaction of 10 s; the slowest pair took %s", n, worst.Round(time.Millisecond))
	require.Less(t, worst, 5*time.Second, "no acknowledgement waited for the effect")
	require.Equal(t, 1, s.Count(transitions))
}
