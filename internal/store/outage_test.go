package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/store"
)

func TestALostAnswerIsSettledByAskingWhoOwnsTheKeys(t *testing.T) {
	url := database(t)
	db := connect(t, url)
	p, proxied := throughProxy(t, url)
	s := openIngress(t, options(proxied))
	accept(t, s, copyOf("warm-up"))

	p.loseAnswer.Store(true)
	first := copyOf("event-1")
	require.Equal(t, oncehook.Accepted, accept(t, s, first, copyOf("event-2"))[0].Decision)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts WHERE id = $1`, first.ReceiptID))

	accept(t, s, copyOf("warm-up"))
	// A copy does not own its key: the answer is unknown, and a retry settles it.
	p.loseAnswer.Store(true)
	_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-3"), copyOf("event-1")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, oncehook.Duplicate, accept(t, s, copyOf("event-3"))[0].Decision)
}

func TestALostRequestIsUnavailableAndARetryIsAccepted(t *testing.T) {
	url := database(t)
	db := connect(t, url)
	p, proxied := throughProxy(t, url)
	s := openIngress(t, options(proxied))
	accept(t, s, copyOf("warm-up"))
	p.loseRequest.Store(true)
	_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.receipts WHERE event_id = 'event-1'`))
	require.Equal(t, oncehook.Accepted, accept(t, s, copyOf("event-1"))[0].Decision)
}

func TestAcceptIsUnavailableWhilePostgreSQLIsAwayAndRecoversByItself(t *testing.T) {
	url := database(t)
	p, proxied := throughProxy(t, url)
	p.away.Store(true)
	s := openIngress(t, options(proxied))
	require.Error(t, s.Ping(t.Context()))
	_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Error(t, s.Schema(t.Context()))
	p.away.Store(false)
	soon(t, func() bool {
		results, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
		return err == nil && results[0].Decision == oncehook.Accepted
	}, "accepted again")
	require.NoError(t, s.Schema(t.Context()))
	p.cutAll()
	soon(t, func() bool {
		results, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
		return err == nil && results[0].Decision == oncehook.Duplicate
	}, "known again")
}

func TestBehindCommitsThatHangNobodyWaitsForLonger(t *testing.T) {
	t.Parallel()
	p, proxied := throughProxy(t, database(t))
	s := openIngress(t, options(proxied+"&lock_timeout=100ms&statement_timeout=500ms"))
	accept(t, s, copyOf("warm-up"))
	p.hung.Store(true)
	began := time.Now()
	answers := make(chan error)
	for unit := range 5 {
		full := make([]store.Candidate, 256) // a batch of its own
		for n := range full {
			full[n] = copyOf(fmt.Sprintf("event-%d-%d", unit, n))
		}
		go func() {
			_, err := s.Accept(t.Context(), full)
			answers <- err
		}()
	}
	for range 5 {
		require.ErrorIs(t, <-answers, store.ErrUnavailable)
	}
	require.Less(t, time.Since(began), 12*time.Second, "one commit's time, not five of them")
	p.hung.Store(false)
	p.cutAll()
	soon(t, func() bool {
		_, err := s.Accept(t.Context(), []store.Candidate{copyOf("event-4-0")})
		return err == nil
	}, "a retry settles it")
}

func TestEveryAnsweredDeliverySurvivesTheServersCrash(t *testing.T) {
	config := devstack.PostgresConfig{Dir: filepath.Join(t.TempDir(), "postgres")}
	server, err := devstack.StartPostgres(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Remove()) })
	config.Port = server.Port()
	url := server.URL("postgres")
	require.NoError(t, store.Migrate(t.Context(), options(url)))
	s := openIngress(t, options(url))

	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan store.AcceptResult, 100_000)
	var senders answers
	for sender := range 8 {
		senders.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				results, err := s.Accept(context.Background(), []store.Candidate{copyOf(fmt.Sprintf("event-%d-%d", sender, n))})
				if err != nil {
					// The sender tries again; a wait keeps the loop from spinning.
					select {
					case <-time.After(20 * time.Millisecond):
					case <-ctx.Done():
					}
					continue
				}
				answered <- results[0]
			}
		})
	}
	soon(t, func() bool { return len(answered) > 50 }, "traffic before the crash")
	require.NoError(t, server.Kill())
	<-server.Done()
	before := len(answered)
	server, err = devstack.StartPostgres(t.Context(), config)
	require.NoError(t, err)
	soon(t, func() bool { return len(answered) > before+50 }, "traffic after the crash")
	stop()
	senders.wg.Wait()
	close(answered)

	db := connect(t, server.URL("postgres"))
	kept := map[string]bool{}
	rows, err := db.Query(t.Context(), `SELECT r.id::text FROM oncehook.receipts r JOIN oncehook.payloads p ON p.delivery_id = r.id
		JOIN oncehook.outbox o ON o.receipt_id = r.id JOIN oncehook.event_keys k ON k.receipt_id = r.id`)
	require.NoError(t, err)
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		kept[id] = true
	}
	require.NoError(t, rows.Err())
	for result := range answered {
		require.True(t, kept[result.ReceiptID.String()], "an answered delivery is missing")
	}
}
