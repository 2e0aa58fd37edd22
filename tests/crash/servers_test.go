package crash_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/tests/harness"
)

// traffic posts every id over and over until it is acknowledged, from a few
// senders at once, and returns when all are.
func traffic(t *testing.T, p *harness.Process, ids []string) (unavailable int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan string)
	for range 4 {
		wg.Go(func() {
			for id := range next {
				for {
					a := p.Post("logistics", harness.LogisticsToken, harness.Event(id))
					if a.Status == http.StatusAccepted || a.Status == http.StatusOK {
						break
					}
					mu.Lock()
					unavailable++
					if a.Status != http.StatusServiceUnavailable {
						t.Errorf("answered %d %s %v", a.Status, a.Body, a.Err)
					}
					mu.Unlock()
					if t.Failed() {
						break
					}
					<-time.After(20 * time.Millisecond) // a sender's own pause before its retry
				}
			}
		})
	}
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for _, id := range ids {
		<-pace.C
		next <- id
	}
	close(next)
	wg.Wait()
	return unavailable
}

func TestTemporalKilledUnderTrafficLosesNothing(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	s.Work()
	ids := harness.IDs("temporal", 300)
	done := make(chan int, 1)
	go func() { done <- traffic(t, p, ids) }()
	s.Eventually(1, time.Minute, `SELECT least(count(*), 1) FROM oncehook.receipts WHERE state = 'succeeded'`)
	s.Temporal.Kill()
	s.Temporal.Start()
	require.Zero(t, <-done, "Temporal's death is not the sender's concern")
	s.Succeeded(len(ids), recovery)
	require.Equal(t, len(ids), s.Count(transitions))
}

func TestPostgreSQLKilledUnderTrafficLosesNoAcknowledgedEvent(t *testing.T) {
	ctx := context.Background()
	settings := devstack.PostgresConfig{Dir: t.TempDir(), Database: "oncehook"}
	server, err := devstack.StartPostgres(ctx, settings)
	require.NoError(t, err)
	settings.Port = server.Port()
	t.Cleanup(func() { _ = server.Kill(); _ = server.Remove() })

	s := harness.New(t, harness.Options{Database: server.URL("oncehook"), Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	s.Work()
	ids := harness.IDs("postgres", 300)
	done := make(chan int, 1)
	go func() { done <- traffic(t, p, ids) }()
	s.Eventually(1, time.Minute, `SELECT least(count(*), 1) FROM oncehook.receipts WHERE state = 'succeeded'`)
	require.NoError(t, server.Kill())
	server, err = devstack.StartPostgres(ctx, settings)
	require.NoError(t, err)
	t.Logf("%d tries were answered 503 while PostgreSQL was away", <-done)
	s.Succeeded(len(ids), recovery)
	require.Equal(t, len(ids), s.Count(transitions))
}
