package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// Ingress is the store of the role that accepts deliveries. It is safe for
// concurrent use.
type Ingress struct {
	*role
	// commits is the flusher's own pool: no other use of the database can make
	// it wait for a connection.
	commits *pgxpool.Pool
	// patience is how long one commit may take.
	patience time.Duration
	units    *batcher[*unit]
	lookups  *batcher[*lookup]
	sums     *sums
	inFlight inFlight
	wake     atomic.Pointer[func()]
}

// IngressStats is what the ingress's queue holds now.
type IngressStats struct {
	// QueuedEvents and QueuedBytes wait for the next commit, or are in it.
	QueuedEvents int
	QueuedBytes  int64
}

// commitConns leaves room for a new connection while a broken one is being closed.
const commitConns = 2

// OpenIngress opens the ingress role's pools, of Options.Conns connections (at
// least 4) in all, and starts its flusher. It does not wait for PostgreSQL.
func OpenIngress(_ context.Context, o Options) (*Ingress, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	own, forCommits := o, o
	own.Conns, forCommits.Conns = max(o.Conns-commitConns, 2), commitConns
	r, err := openRole(own, ingressSession)
	if err != nil {
		return nil, err
	}
	commits, err := openPool(forCommits, ingressSession, r.lines)
	if err != nil {
		r.close()
		return nil, err
	}
	s := &Ingress{role: r, commits: commits, patience: patience(commits), inFlight: inFlight{copies: map[oncehook.Key]int{}}}
	f := &flusher{
		pool: commits, now: o.Now, log: o.Log, patience: s.patience, classes: RetentionClasses(),
		settled:  s.inFlight.remove,
		accepted: s.announce,
	}
	s.units = startBatcher(unitLimits, f.flush)
	s.lookups = startBatcher(lookupLimits, s.answer)
	s.sums = startSums(s.writeSums, o.Now, o.Log)
	return s, nil
}

// Close commits what was queued, writes what was counted, and closes the pools.
// Calls that come later fail with ErrUnavailable.
func (s *Ingress) Close() {
	s.units.close()
	s.lookups.close()
	s.sums.close()
	s.close()
	s.commits.Close()
}

// Shutdown is Close until ctx ends. Then the connections are cut: what was not
// committed is ErrUnavailable to its senders, sums that were not written are
// lost, and an error says so.
func (s *Ingress) Shutdown(ctx context.Context) error { return s.lines.shutdown(ctx, s.Close) }

// InFlight reports whether a copy of the event is queued in this process or is
// being committed by it.
func (s *Ingress) InFlight(key oncehook.Key) bool { return s.inFlight.has(key) }

// OnAccepted sets what is called after each commit with new outbox rows. It is
// called on the goroutine that commits, and must not block.
func (s *Ingress) OnAccepted(wake func()) { s.wake.Store(&wake) }

func (s *Ingress) announce() {
	if wake := s.wake.Load(); wake != nil && *wake != nil {
		(*wake)()
	}
}

// Stats returns what the queue holds.
func (s *Ingress) Stats() IngressStats {
	return IngressStats{QueuedEvents: int(s.units.parts.Load()), QueuedBytes: s.units.bytes.Load()}
}
