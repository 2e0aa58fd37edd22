package ingress

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limitsKept bounds the buckets in memory. The bucket of the longest silent
// tenant goes first; it has refilled by then, unless more tenants than this send
// at once.
const limitsKept = 16_384

type limitKey struct{ source, tenant string }

// rateLimits holds a token bucket per source and tenant.
type rateLimits struct {
	mu      sync.Mutex
	buckets map[limitKey]*list.Element
	recent  *list.List // of *bucket, the most recent first
}

type bucket struct {
	key limitKey
	*rate.Limiter
}

func newRateLimits() *rateLimits {
	return &rateLimits{buckets: map[limitKey]*list.Element{}, recent: list.New()}
}

// take takes n tokens and returns zero, or takes none and returns how long they
// need. A unit larger than the burst needs a full bucket only: else it never passed.
func (l *rateLimits) take(source *Source, tenant string, n int, now time.Time) time.Duration {
	if source.Rate <= 0 {
		return 0
	}
	reservation := l.bucket(source, tenant).ReserveN(now, min(n, source.Burst))
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// give returns n tokens that take took: their events were known already.
func (l *rateLimits) give(source *Source, tenant string, n int, now time.Time) {
	if source.Rate <= 0 || n <= 0 {
		return
	}
	// A limiter has no refund, but a negative amount is one; it never exceeds the burst.
	l.bucket(source, tenant).AllowN(now, -min(n, source.Burst))
}

func (l *rateLimits) bucket(source *Source, tenant string) *bucket {
	key := limitKey{source.Name, tenant}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(e)
		return e.Value.(*bucket)
	}
	b := &bucket{key: key, Limiter: rate.NewLimiter(rate.Limit(source.Rate), source.Burst)}
	l.buckets[key] = l.recent.PushFront(b)
	if l.recent.Len() > limitsKept {
		oldest := l.recent.Back()
		l.recent.Remove(oldest)
		delete(l.buckets, oldest.Value.(*bucket).key)
	}
	return b
}
