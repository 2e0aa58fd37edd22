package ingress

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// limitsKept bounds the buckets in memory. The bucket of the longest silent
// tenant goes first; it has refilled by then, unless more tenants than this send
// at once.
const limitsKept = 16_384

type limitKey struct{ source, tenant string }

// rateLimits holds a token bucket per source and tenant. In the end, a tenant has
// paid for its accepted events and its conflicts, each of which stores a body.
type rateLimits struct {
	mu      sync.Mutex
	buckets map[limitKey]*list.Element
	recent  *list.List // of *bucket, the most recent first
	// admitted holds the keys whose copies are between admit and settle.
	admitted map[oncehook.Key]*admission
}

// admission is what the copies of a key that are under way share: they are one
// event until the store says otherwise, and need one token.
type admission struct{ copies, tokens int }

type bucket struct {
	key limitKey
	*rate.Limiter
}

// overLimit is a tenant's part of a unit for which it has too few tokens now.
type overLimit struct {
	tenant string
	keys   []oncehook.Key
	wait   time.Duration
}

func newRateLimits() *rateLimits {
	return &rateLimits{buckets: map[limitKey]*list.Element{}, recent: list.New(), admitted: map[oncehook.Key]*admission{}}
}

// admit lets a unit pass, to be settled, or says which tenant is over its limit and
// keeps nothing of the unit. Keys that are free, or already admitted, need no token.
func (l *rateLimits) admit(source *Source, unit []store.Candidate, free func(oncehook.Key) bool, now time.Time) *overLimit {
	if source.Rate <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := map[oncehook.Key]bool{}
	byTenant := map[string][]oncehook.Key{}
	for n := range unit {
		key, tenant := unit[n].Key, unit[n].Event.Tenant
		if l.admitted[key] == nil && !fresh[key] && !free(key) {
			fresh[key] = true
			byTenant[tenant] = append(byTenant[tenant], key)
		}
	}
	paid := map[string]int{}
	for tenant, keys := range byTenant {
		if wait := l.bucket(source, tenant).take(len(keys), now); wait > 0 {
			for tenant, n := range paid {
				l.bucket(source, tenant).charge(-n, now)
			}
			return &overLimit{tenant, keys, wait}
		}
		paid[tenant] = len(keys)
	}
	for n := range unit {
		key := unit[n].Key
		if l.admitted[key] == nil {
			l.admitted[key] = &admission{}
		}
		l.admitted[key].copies++
	}
	for key := range fresh {
		l.admitted[key].tokens = 1
	}
	return nil
}

// settle ends the admission of a unit. Each accepted event and conflict has cost a
// token: its key's, else one more, for which the tenant may go into debt. The last
// copy of a key gives back what none has used. results is nil for a failed unit.
func (l *rateLimits) settle(source *Source, unit []store.Candidate, results []store.AcceptResult, now time.Time) {
	if source.Rate <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range unit {
		a, b := l.admitted[unit[n].Key], l.bucket(source, unit[n].Event.Tenant)
		if n < len(results) && (results[n].Decision == oncehook.Accepted || results[n].Decision == oncehook.Conflict) {
			if a.tokens > 0 {
				a.tokens--
			} else {
				b.charge(1, now)
			}
		}
		if a.copies--; a.copies == 0 {
			delete(l.admitted, unit[n].Key)
			b.charge(-a.tokens, now)
		}
	}
}

func (l *rateLimits) bucket(source *Source, tenant string) *bucket {
	key := limitKey{source.Name, tenant}
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

// take takes n tokens and returns zero, or takes none and returns how long they
// need. More than the burst need a full bucket only, and the rest is debt: else
// they never passed.
func (b *bucket) take(n int, now time.Time) time.Duration {
	first := min(n, b.Burst())
	wait := b.ReserveN(now, first).DelayFrom(now)
	if wait > 0 {
		b.charge(-first, now)
		return wait
	}
	b.charge(n-first, now)
	return 0
}

// charge takes n tokens, there or not; a negative n gives them, up to the burst.
func (b *bucket) charge(n int, now time.Time) {
	for n != 0 {
		// A reservation has no more than the burst, and may be negative.
		step := min(n, b.Burst())
		b.ReserveN(now, step)
		n -= step
	}
}
