package ingress_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// clock is a clock that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func limited(c *clock) func(*setup) {
	return func(s *setup) {
		s.Now = c.read
		s.Sources[0].Rate, s.Sources[0].Burst = 0.1, 2
	}
}

func TestOverTheRateANewEventIs429AndAKnownOneIsNot(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Now()}
	s := start(t, limited(c))
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	s.acceptedAs(s.post("logistics", event("e2")), oncehook.Accepted)

	a := s.refusedWith(s.post("logistics", event("e3")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(t, err)
	require.Equal(t, 10, seconds)
	for range 10 {
		s.acceptedAs(s.post("logistics", event("e1")), oncehook.Duplicate)
	}
	s.acceptedAs(s.post("logistics", event("e3", "north", "sandbox")), oncehook.Accepted)
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys WHERE key = 'logistics:north:e3'`))
	s.counted("logistics", oncehook.RateLimited, "rate_limited")

	// Refused requests have cost nothing: the genuine one passes when it is told to come.
	c.advance(time.Duration(seconds) * time.Second)
	s.acceptedAs(s.post("logistics", event("e3")), oncehook.Accepted)
}

func TestAConflictIsNotRefusedAndCostsWhatAnEventCosts(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Now()}
	s := start(t, limited(c))
	conflict := func() {
		s.refusedWith(s.post("logistics", event("e1", "depot-1", "depot-2")), http.StatusConflict, oncehook.CodeEventConflict)
	}
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	conflict()
	s.refusedWith(s.post("logistics", event("e2")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	conflict()
	a := s.refusedWith(s.post("logistics", event("e2")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	require.Equal(t, "20", a.header.Get("Retry-After"))
	c.advance(20 * time.Second)
	s.acceptedAs(s.post("logistics", event("e2")), oncehook.Accepted)
}

func TestASenderThatRepeatsItselfDoesNotUseUpTheRateOfNewEvents(t *testing.T) {
	t.Parallel()
	s := start(t, limited(&clock{now: time.Now()}))
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	for range 10 {
		s.acceptedAs(s.post("logistics", event("e1")), oncehook.Duplicate)
	}
	s.acceptedAs(s.post("logistics", event("e2")), oncehook.Accepted)
	s.refusedWith(s.post("logistics", event("e3")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
}

func TestConcurrentCopiesAreNeverRateLimited(t *testing.T) {
	t.Parallel()
	s := start(t, limited(&clock{now: time.Now()}))
	s.acceptedAs(s.post("logistics", event("first")), oncehook.Accepted)
	var wg sync.WaitGroup
	answers := make([]answer, 32)
	for n := range answers {
		wg.Go(func() { answers[n] = s.post("logistics", event("copied")) })
	}
	wg.Wait()
	accepted := 0
	for _, a := range answers {
		if a.status == http.StatusAccepted {
			accepted++
			continue
		}
		s.acceptedAs(a, oncehook.Duplicate)
	}
	require.Equal(t, 1, accepted)
	s.refusedWith(s.post("logistics", event("third")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
}

func TestTheRateIsPerSourceAndTenant(t *testing.T) {
	t.Parallel()
	s := start(t, func(s *setup) {
		for n := range s.Sources {
			s.Sources[n].Rate, s.Sources[n].Burst = 0.001, 1
		}
	})
	for n, tenant := range []string{"a", "b", "c"} {
		id := fmt.Sprintf("e%d", n)
		s.acceptedAs(s.post("logistics", event(id, "north", tenant), bearerOf(otherToken)), oncehook.Accepted)
		s.acceptedAs(s.post("any%20thing", event(id, "north", tenant), bearerOf(otherToken)), oncehook.Accepted)
		s.refusedWith(s.post("logistics", event(id+"x", "north", tenant), bearerOf(otherToken)), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	}
}
