package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestAShutdownIsBoundedWhilePostgreSQLAnswersNothing(t *testing.T) {
	t.Parallel()
	p, proxied := throughProxy(t, database(t))
	s := openIngress(t, options(proxied))
	accept(t, s, copyOf("warm-up"))
	p.hung.Store(true)
	answer := make(chan error, 1)
	go func() {
		_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
		answer <- err
	}()
	soon(t, func() bool { return s.Stats().QueuedEvents == 1 }, "in the queue")
	s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("192.0.2.1"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, <-answer, store.ErrUnavailable)
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestAShutdownInTimeIsAClose(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("192.0.2.1"))
	require.NoError(t, s.Shutdown(t.Context()))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit_sums`))
}
