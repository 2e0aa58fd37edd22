package crash_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/tests/harness"
)

// remote is an installation with a downstream and one event that makes a call to it.
func remote(t *testing.T, regular bool) (s *harness.System, d *harness.Downstream, serve *harness.Process) {
	t.Helper()
	s = harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
	d = s.Downstream()
	return s, d, s.Serve()
}

// notice sends the event whose workflow calls the downstream.
func notice(t *testing.T, serve *harness.Process, eventType string) harness.Answer {
	t.Helper()
	return serve.Post("acme", harness.AcmeToken, harness.EventOf(eventType, "e")).Is(t, http.StatusAccepted, "accepted")
}

// happenedOnce holds what is true however the way there was.
func happenedOnce(t *testing.T, s *harness.System, d *harness.Downstream, a harness.Answer) {
	t.Helper()
	s.Succeeded(1, recovery)
	require.Equal(t, 1, d.Effects())
	require.Equal(t, 1, s.Temporal.Runs(a.EventKey))
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE state = 'done' AND kind = 'keyed' AND NOT unanswered`))
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'done'`))
	require.Equal(t, 1, s.Count(`SELECT count(DISTINCT key) FROM public.downstream_calls`), "each call under the same key")
}

const attempts = `SELECT attempts FROM oncehook.actions`

func TestAWorkerKilledAroundARemoteCallRepeatsNoEffect(t *testing.T) {
	const sent = "NEW.first_sent_at IS NOT NULL AND OLD.first_sent_at IS NULL"
	inDatabase := func(event, when string) func(s *harness.System, _ *harness.Downstream) (reached, release func()) {
		return func(s *harness.System, _ *harness.Downstream) (reached, release func()) {
			b := s.Barrier(event, "oncehook.actions", when, false)
			return func() { b.Reached(1) }, func() { b.Abort(); b.Release() }
		}
	}
	atDownstream := func(at harness.Point) func(s *harness.System, d *harness.Downstream) (reached, release func()) {
		return func(_ *harness.System, d *harness.Downstream) (reached, release func()) {
			h := d.Hold(at)
			return h.Reached, h.Release
		}
	}
	cases := []struct {
		name  string
		hold  func(s *harness.System, d *harness.Downstream) (reached, release func())
		calls int
	}{
		{"before it is stored that something is sent", inDatabase("UPDATE", sent), 1},
		{"after the call has left, before it has an effect", atDownstream(harness.BeforeEffect), 2},
		{"after the effect, before the answer", atDownstream(harness.BeforeAnswer), 2},
		{"after the answer, before it is recorded", inDatabase("UPDATE", "NEW.state = 'done'"), 2},
		{"after it is recorded, before Temporal knows", func(s *harness.System, _ *harness.Downstream) (reached, release func()) {
			b := s.Barrier("UPDATE", "oncehook.receipts", "NEW.state = 'succeeded'", false)
			return func() { b.Reached(1) }, func() { b.Abort(); b.Release() }
		}, 1},
	}
	for n, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // mostly waits for leases and timeouts to run out
			s, d, serve := remote(t, n%2 == 1)
			reached, release := c.hold(s, d)
			doomed := s.Work()
			a := notice(t, serve, harness.NoticeType)
			reached()
			doomed.Kill()
			release()
			s.Work()
			happenedOnce(t, s, d, a)
			require.Equal(t, c.calls, d.Calls())
		})
	}
}

func TestAPausedAttemptThatWakesAfterItsSuccessorChangesNothing(t *testing.T) {
	cases := []struct {
		name  string
		pause func(s *harness.System, d *harness.Downstream) (reached, release func())
		calls int
	}{
		{"paused before it sends", func(s *harness.System, _ *harness.Downstream) (reached, release func()) {
			b := s.Barrier("UPDATE", "oncehook.actions", "NEW.first_sent_at IS NOT NULL AND OLD.first_sent_at IS NULL", false)
			return func() { b.Reached(1) }, b.Release
		}, 1},
		{"paused before it has the answer", func(_ *harness.System, d *harness.Downstream) (reached, release func()) {
			h := d.Hold(harness.BeforeAnswer)
			return h.Reached, h.Release
		}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, d, serve := remote(t, false)
			reached, release := c.pause(s, d)
			paused := s.Work()
			a := notice(t, serve, harness.NoticeType)
			reached()
			paused.Pause()
			release()
			s.Work()
			happenedOnce(t, s, d, a)
			require.Equal(t, 2, s.Count(attempts))
			fence := s.Count(`SELECT claim FROM oncehook.actions`)

			paused.Resume()
			// It is awake once it has done something that comes after: another event.
			serve.Post("acme", harness.AcmeToken, harness.EventOf(harness.NoticeType, "later")).Is(t, http.StatusAccepted, "accepted")
			s.Succeeded(2, recovery)
			paused.Stop() // waits for its attempts
			require.Equal(t, 2, d.Effects())
			require.Equal(t, c.calls+1, d.Calls(), "the old attempt sends nothing more")
			require.Equal(t, fence, s.Count(`SELECT claim FROM oncehook.actions WHERE receipt_id = $1`, a.ReceiptID))
			require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND receipt_id = $1`, a.ReceiptID))
		})
	}
}

func TestPastTheKeysLifeNothingIsSentAndTheReceiptSaysSo(t *testing.T) {
	t.Parallel()
	s, d, serve := remote(t, false)
	d.Lost.Store(true)
	worker := s.Work()
	a := notice(t, serve, harness.BriefNoticeType)
	s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.actions WHERE state = 'uncertain' AND outcome = 'key_expired'`)
	calls := d.Calls()
	require.GreaterOrEqual(t, calls, 1)
	require.Zero(t, s.Count(`SELECT count(*) FROM public.downstream_calls c, oncehook.actions a WHERE c.at > a.key_expires_at`))
	var shown struct{ Status oncehook.Status }
	serve.Admin("/api/v1/events/"+a.ReceiptID, &shown)
	require.Equal(t, oncehook.StatusUncertain, shown.Status)

	// The wait survives its worker, and nothing that wakes it makes it send.
	worker.Kill()
	s.Work()
	d.Lost.Store(false)
	s.Exec(`INSERT INTO oncehook.outbox (kind, receipt_id, source, tenant, signal) SELECT 'signal', id, source, tenant, '{}' FROM oncehook.receipts`)
	s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.receipts WHERE state = 'dead_lettered' AND cause = 'key_expired'`)
	require.Equal(t, calls, d.Calls())
	require.Equal(t, 1, d.Effects())
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE state = 'uncertain' AND unanswered`))
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'uncertain'`))
}

func TestAWaitSurvivesItsWorkerAndIsWokenByTheEffect(t *testing.T) {
	for _, shape := range []struct {
		name    string
		regular bool
	}{{"local activities", false}, {"regular activities", true}} {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: shape.regular})
			s.Invoices()
			serve, first := s.Serve(), s.Work()
			waiting := serve.Post("acme", harness.AcmeToken, harness.EventOf(harness.AwaitType, "waits")).Is(t, http.StatusAccepted, "accepted")
			s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.actions WHERE waits_for = 'invoice-42'`)
			var shown struct{ Status oncehook.Status }
			serve.Admin("/api/v1/events/"+waiting.ReceiptID, &shown)
			require.Equal(t, oncehook.StatusParked, shown.Status)
			first.Kill()
			s.Work()
			began := time.Now()
			serve.Post("acme", harness.AcmeToken, harness.EventOf(harness.SettleType, "settles")).Is(t, http.StatusAccepted, "accepted")
			s.Succeeded(2, recovery)
			require.Equal(t, 1, s.Count(`SELECT count(*) FROM public.test_paid`))
			require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.outbox WHERE kind = 'signal' AND dispatched_at IS NOT NULL AND last_error IS NULL`))
			require.Equal(t, 2, s.Count(`SELECT attempts FROM oncehook.actions WHERE receipt_id = $1`, waiting.ReceiptID), "woken after %s, not by its own look", time.Since(began))
			require.Equal(t, 1, s.Count(`SELECT run_attempts FROM oncehook.actions WHERE receipt_id = $1`, waiting.ReceiptID))
		})
	}
}
