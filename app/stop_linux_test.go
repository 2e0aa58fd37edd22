package app_test

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// stopLimit is when an orchestrator loses its patience.
const stopLimit = 10 * time.Second

// requireStops ends the process as an orchestrator does: in time, and with exit code 0.
func requireStops(t *testing.T, p *harness.Process) {
	t.Helper()
	began := time.Now()
	p.Stop()
	took := time.Since(began)
	t.Logf("stopped in %s", took.Round(time.Millisecond))
	require.Less(t, took, stopLimit)
}

func TestServeStopsInTimeWhilePostgreSQLIsFrozen(t *testing.T) {
	t.Parallel()
	server := ownPostgres(t)
	s := harness.New(t, harness.Options{Database: server.URL("postgres")})
	p := s.Serve()
	p.Post("logistics", harness.LogisticsToken, harness.Event("before")).Is(t, http.StatusAccepted, "accepted")
	freeze(t, server)
	p.Post("logistics", "wrong", harness.Event("forged")).Is(t, http.StatusUnauthorized, "unauthenticated")
	answers, sent := make(chan harness.Answer, 4), make(chan struct{}, 4)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent <- struct{}{} }})
	for _, id := range harness.IDs("during", cap(answers)) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.IngressURL+"/hooks/logistics", strings.NewReader(harness.Event(id)))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+harness.LogisticsToken)
		r.Header.Set("Content-Type", "application/json")
		go func() { answers <- harness.Do(r) }()
	}
	for range cap(answers) {
		<-sent
	}
	requireStops(t, p)
	for range cap(answers) {
		a := <-answers
		require.True(t, a.Err != nil || a.Status == http.StatusServiceUnavailable, "%d %s", a.Status, a.Body)
	}
}

func TestServeStopsInTimeDespiteASlowSender(t *testing.T) {
	t.Parallel()
	p := harness.New(t, harness.Options{}).Serve()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.IngressURL, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + harness.LogisticsToken +
		"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n"))
	require.NoError(t, err)
	// The handler reads the body: it asked for it.
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	requireStops(t, p)
}

func TestWorkStopsInTimeWhilePostgreSQLIsFrozen(t *testing.T) {
	t.Parallel()
	server := ownPostgres(t)
	s := harness.New(t, harness.Options{Database: server.URL("postgres"), Temporal: harness.StartTemporal(t)})
	p, work := s.Serve(), s.Work()
	barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	p.Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")
	barrier.Reached(1)
	freeze(t, server)
	requireStops(t, work)
}

func TestWorkStopsInTimeWhileEffectsWaitForALock(t *testing.T) {
	t.Parallel()
	for name, regular := range map[string]bool{"local activities": false, "regular activities": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
			p, work := s.Serve(), s.Work()
			barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
			for _, id := range harness.IDs("e", 6) {
				p.Post("logistics", harness.LogisticsToken, harness.Event(id)).Is(t, http.StatusAccepted, "accepted")
			}
			barrier.Reached(4) // each slot
			requireStops(t, work)
			barrier.Release()
			s.Work()
			s.Succeeded(6, 3*time.Minute)
			require.Equal(t, 6, s.Count(`SELECT count(*) FROM logistics.shipment_transitions`))
		})
	}
}
