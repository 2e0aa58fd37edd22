package ingress

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// limitTest is a limiter of one source whose clock stands still.
type limitTest struct {
	*rateLimits
	t      *testing.T
	source *Source
	now    time.Time
	known  map[oncehook.Key]bool
}

func newLimitTest(t *testing.T, rate float64, burst int) *limitTest {
	return &limitTest{newRateLimits(), t, &Source{Name: "s", Rate: rate, Burst: burst}, time.Now(), map[oncehook.Key]bool{}}
}

// unitOf makes the events of one tenant with the given ids.
func unitOf(tenant string, ids ...string) []store.Candidate {
	var unit []store.Candidate
	for _, id := range ids {
		unit = append(unit, store.Candidate{Key: oncehook.Key("s:" + tenant + ":" + id), Event: oncehook.Event{Tenant: tenant}})
	}
	return unit
}

func (l *limitTest) pass(unit []store.Candidate) bool {
	return l.admit(l.source, unit, func(key oncehook.Key) bool { return l.known[key] }, l.now) == nil
}

// end settles a unit; no decisions mean that it failed.
func (l *limitTest) end(unit []store.Candidate, decisions ...oncehook.Decision) {
	var results []store.AcceptResult
	for _, d := range decisions {
		results = append(results, store.AcceptResult{Decision: d})
	}
	l.settle(l.source, unit, results, l.now)
}

func (l *limitTest) left(tenant string, want int) {
	l.t.Helper()
	require.InDelta(l.t, want, l.bucket(l.source, tenant).TokensAt(l.now), 0.001)
}

func TestCopiesUnderWayShareOneToken(t *testing.T) {
	l := newLimitTest(t, 1, 1)
	unit := unitOf("t", "e")
	for range 3 {
		require.True(t, l.pass(unit))
		l.left("t", 0)
	}
	require.False(t, l.pass(unitOf("t", "another")))
	// Whichever copy is the accepted one, and whoever ends first, the token is used.
	l.end(unit, oncehook.Duplicate)
	l.end(unit, oncehook.Accepted)
	l.left("t", 0)
	require.True(t, l.pass(unit), "a copy is still under way")
	l.end(unit, oncehook.Duplicate)
	l.end(unit, oncehook.Duplicate)
	l.left("t", 0)
	require.Empty(t, l.admitted)
	require.False(t, l.pass(unit), "none is under way")
}

func TestATenantPaysForItsAcceptedEventsAndConflicts(t *testing.T) {
	const accepted, duplicate, conflict = oncehook.Accepted, oncehook.Duplicate, oncehook.Conflict
	for name, c := range map[string]struct {
		ids       []string
		known     bool
		decisions []oncehook.Decision
		left      int
	}{
		"an accepted event":                 {[]string{"a"}, false, []oncehook.Decision{accepted}, 3},
		"a duplicate":                       {[]string{"a"}, false, []oncehook.Decision{duplicate}, 4},
		"a conflict":                        {[]string{"a"}, false, []oncehook.Decision{conflict}, 3},
		"a conflict with a known key":       {[]string{"a"}, true, []oncehook.Decision{conflict}, 3},
		"a known key that was not accepted": {[]string{"a"}, true, []oncehook.Decision{accepted}, 3},
		"a failed unit":                     {[]string{"a", "b"}, false, nil, 4},
		"a unit with a copy of its own":     {[]string{"a", "a"}, false, []oncehook.Decision{accepted, duplicate}, 3},
		"a unit that conflicts with itself": {[]string{"a", "a"}, false, []oncehook.Decision{accepted, conflict}, 2},
		"a mixed unit":                      {[]string{"a", "b", "c"}, false, []oncehook.Decision{accepted, duplicate, conflict}, 2},
		"a unit larger than the burst":      {[]string{"a", "b", "c", "d", "e", "f"}, false, []oncehook.Decision{accepted, accepted, accepted, accepted, accepted, accepted}, -2},
		"such a unit that failed":           {[]string{"a", "b", "c", "d", "e", "f"}, false, nil, 4},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimitTest(t, 1, 4)
			unit := unitOf("t", c.ids...)
			for n := range unit {
				l.known[unit[n].Key] = c.known
			}
			require.True(t, l.pass(unit))
			l.end(unit, c.decisions...)
			l.left("t", c.left)
			require.Empty(t, l.admitted)
		})
	}
}

func TestARefusedUnitLeavesNoTokenAndNoKeyBehind(t *testing.T) {
	l := newLimitTest(t, 1, 2)
	require.True(t, l.pass(unitOf("full", "x", "y")))
	admitted := len(l.admitted)
	for range 10 { // in whatever order the tenants are asked
		require.False(t, l.pass(append(unitOf("free", "a", "b"), unitOf("full", "z")...)))
		l.left("free", 2)
		l.left("full", 0)
		require.Len(t, l.admitted, admitted)
	}
}

func TestDebtIsPaidBeforeTheNextEvent(t *testing.T) {
	l := newLimitTest(t, 1, 2)
	unit := unitOf("t", "a")
	l.known[unit[0].Key] = true
	for range 5 {
		require.True(t, l.pass(unit))
		l.end(unit, oncehook.Conflict)
	}
	l.left("t", -3)
	l.now = l.now.Add(3 * time.Second)
	require.False(t, l.pass(unitOf("t", "b")))
	l.now = l.now.Add(time.Second)
	require.True(t, l.pass(unitOf("t", "b")))
}

func TestTheBucketsInMemoryAreBounded(t *testing.T) {
	l := newLimitTest(t, 1e-6, 1)
	require.True(t, l.pass(unitOf("busy", "a")))
	for n := range 2 * limitsKept {
		unit := unitOf(fmt.Sprint("t", n), "a")
		require.True(t, l.pass(unit))
		l.end(unit, oncehook.Accepted)
		require.False(t, l.pass(unitOf("busy", "b")), "a tenant that keeps sending keeps its bucket")
	}
	require.Equal(t, limitsKept, l.recent.Len())
	require.Len(t, l.buckets, limitsKept)
	require.Len(t, l.admitted, 1)
}

func TestRetryAfterIsAlwaysAWholeNumberOfSecondsInBounds(t *testing.T) {
	for wait, want := range map[time.Duration]int{1: 1, time.Second: 1, time.Second + 1: 2, time.Hour: retryMost, math.MaxInt64: retryMost} {
		require.Equal(t, want, (&refused{retryAfter: wait}).retryAfterSeconds(uuid.Nil))
	}
	for range 100 {
		seconds := (&refused{}).retryAfterSeconds(uuid.New())
		require.GreaterOrEqual(t, seconds, 1)
		require.LessOrEqual(t, seconds, retrySpread)
	}
}

func TestAVanishingRateStillAnswers(t *testing.T) {
	l := newLimitTest(t, 1e-300, 1)
	require.True(t, l.pass(unitOf("t", "a")))
	over := l.admit(l.source, unitOf("t", "b"), func(oncehook.Key) bool { return false }, l.now)
	require.NotNil(t, over)
	require.Positive(t, over.wait)
	l.left("t", 0)
}
