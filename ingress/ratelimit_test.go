package ingress

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestTheBucketsInMemoryAreBounded(t *testing.T) {
	l := newRateLimits()
	source := &Source{Name: "s", Rate: 1e-6, Burst: 1}
	now := time.Now()
	require.Zero(t, l.take(source, "busy", 1, now))
	for n := range 2 * limitsKept {
		require.Zero(t, l.take(source, fmt.Sprint("t", n), 1, now))
		require.NotZero(t, l.take(source, "busy", 1, now), "a tenant that keeps sending keeps its bucket")
	}
	require.Equal(t, limitsKept, l.recent.Len())
	require.Len(t, l.buckets, limitsKept)
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
	l := newRateLimits()
	source := &Source{Name: "s", Rate: 1e-300, Burst: 1}
	now := time.Now()
	require.Zero(t, l.take(source, "t", 1, now))
	require.Positive(t, l.take(source, "t", 1, now))
}
