package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// Kinds of what a sweep finds, as logs and metrics name them.
const (
	kindUndispatched = "accepted_not_dispatched"
	kindStuckLease   = "stuck_lease"
	kindLost         = "unknown_to_temporal"
	kindClosed       = "closed_in_temporal"
	kindDeadAttempt  = "lease_of_the_dead"
	// These fail as a whole.
	kindSweep   = "sweep"
	kindListing = "listing"
)

// sweep is one pass: what it may still spend, and whether anything was left out.
type sweep struct {
	*Reconciler
	looks int
	// away counts failed calls of Temporal in a row.
	away    int
	partial bool
}

// mostAway calls that fail in a row mean that Temporal is away. Fewer may be the
// fault of a single run, which must not keep the others from being looked at.
const mostAway = 3

// errEnough ends a walk early: what is left comes first in the next sweep.
var errEnough = errors.New("enough for one sweep")

// Sweep looks once at everything that is open, within bounds, unless another
// process does. Run calls it.
func (r *Reconciler) Sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	right, mine, err := r.Store.BeginSweep(ctx, sweepLease)
	if err != nil {
		r.failed(ctx, kindSweep, err)
		r.Metrics.Sweep(ctx, "failed")
		return
	}
	if !mine {
		return
	}
	s := &sweep{Reconciler: r, looks: maxLooks}
	s.closed(ctx)
	s.walk(ctx, r.Store.UndispatchedReceipts, &right.Undispatched, s.undispatched)
	s.walk(ctx, r.Store.RunningReceipts, &right.Running, s.running)
	s.deadAttempts(ctx)
	s.tidy(ctx)
	result := "whole"
	if s.partial || ctx.Err() != nil {
		result = "partial"
	}
	r.Metrics.Sweep(ctx, result)
	ending, cancelEnding := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancelEnding()
	if err := r.Store.EndSweep(ending, right, result == "whole"); err != nil {
		r.failed(ctx, kindSweep, err)
	}
}

// failed counts and logs what could not be done; the next sweep tries again.
func (r *Reconciler) failed(ctx context.Context, kind string, err error, attributes ...any) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the process stops
	}
	r.Metrics.Failed(ctx, kind)
	r.Log.WarnContext(ctx, "the reconciler could not settle something yet", append([]any{"kind", kind, "error", err.Error()}, attributes...)...)
}

type pageFunc func(ctx context.Context, before time.Time, after store.SweepCursor, size int) ([]store.OpenReceipt, error)

// walk calls each for the receipts of a list, beginning where the sweep before
// stopped and going once around. The cursor moves past a receipt whatever came of
// it: a bad one is met again only when all others had their turn.
func (s *sweep) walk(ctx context.Context, page pageFunc, cursor *store.SweepCursor, each func(context.Context, store.OpenReceipt) error) {
	before := s.Now().Add(-settle)
	first := *cursor
	around := first == store.SweepCursor{}
	for range maxPages {
		rows, err := page(ctx, before, *cursor, pageSize)
		if err != nil {
			s.partial = true
			s.failed(ctx, kindSweep, err)
			return
		}
		for _, row := range rows {
			if around && (first != store.SweepCursor{}) && !earlier(row.Cursor, first) {
				return
			}
			if err := each(ctx, row); err != nil {
				s.partial = true
				return
			}
			*cursor = row.Cursor
		}
		if len(rows) == pageSize {
			continue
		}
		*cursor = store.SweepCursor{}
		if around {
			return
		}
		around = true
	}
	s.partial = true
}

func earlier(a, b store.SweepCursor) bool {
	if c := a.At.Compare(b.At); c != 0 {
		return c <= 0
	}
	return string(a.ID[:]) <= string(b.ID[:])
}

// undispatched settles a receipt that was accepted a while ago and never queued.
// With an outbox row it is the dispatcher's.
func (s *sweep) undispatched(ctx context.Context, row store.OpenReceipt) error {
	ctx = named(ctx, row)
	switch {
	case row.Stuck:
		s.freeLease(ctx, row)
	case !row.Pending:
		s.Metrics.Found(ctx, kindUndispatched)
		s.reopen(ctx, row, kindUndispatched, 0, "accepted, but without an open start")
	}
	return ctx.Err()
}

// running settles a receipt whose run should exist.
func (s *sweep) running(ctx context.Context, row store.OpenReceipt) error {
	ctx = named(ctx, row)
	switch {
	case row.Stuck:
		s.freeLease(ctx, row)
	case row.Pending: // the dispatcher's
	case row.Row && row.DispatchedAt.After(s.Now().Add(-settle)): // just started
	default:
		return s.compare(ctx, row)
	}
	return ctx.Err()
}

// named makes log lines about the row name its event.
func named(ctx context.Context, row store.OpenReceipt) context.Context {
	return telemetry.WithEvent(ctx, telemetry.Event{CorrelationID: row.CorrelationID, ReceiptID: row.ID.String()})
}

func (s *sweep) freeLease(ctx context.Context, row store.OpenReceipt) {
	s.Metrics.Found(ctx, kindStuckLease)
	freed, err := s.Store.FreeLease(ctx, runOf(row))
	if err != nil {
		s.failed(ctx, kindStuckLease, err, "receipt_id", row.ID)
		return
	}
	if freed {
		s.Metrics.Repaired(ctx, kindStuckLease, "freed")
	}
}

func (s *sweep) reopen(ctx context.Context, row store.OpenReceipt, kind string, delay time.Duration, why string) {
	opened, err := s.Store.Reopen(ctx, runOf(row), delay, why)
	if err != nil {
		s.failed(ctx, kind, err, "receipt_id", row.ID)
		return
	}
	if opened {
		s.Metrics.Repaired(ctx, kind, "reopened")
		s.Log.WarnContext(ctx, "a run is started again", "kind", kind, "receipt_id", row.ID, "run_no", row.RunNo, "reason", why)
	}
}

func runOf(row store.OpenReceipt) store.ReceiptRun {
	return store.ReceiptRun{ReceiptID: row.ID, RunNo: row.RunNo}
}

// deadAttempts ends actions that say running although their receipt has ended.
func (s *sweep) deadAttempts(ctx context.Context) {
	dead, err := s.Store.DeadAttempts(ctx, pageSize)
	if err != nil {
		s.partial = true
		s.failed(ctx, kindDeadAttempt, err)
		return
	}
	for _, id := range dead {
		s.Metrics.Found(ctx, kindDeadAttempt)
		closed, err := s.Store.CloseAttempts(ctx, id)
		if err != nil {
			s.failed(ctx, kindDeadAttempt, err, "receipt_id", id)
			continue
		}
		if closed {
			s.Metrics.Repaired(ctx, kindDeadAttempt, "closed")
		}
	}
}

// tidy deletes outbox rows that nobody needs any more.
func (s *sweep) tidy(ctx context.Context) {
	if _, err := s.Store.TidyOutbox(ctx, s.Now().Add(-s.KeepOutbox), pageSize); err != nil {
		s.partial = true
		s.failed(ctx, kindSweep, err)
	}
}
