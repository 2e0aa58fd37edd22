package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// unitLimits bound the accept queue and each commit. A batch is about what one
// round trip carries well; the queue is about a second's worth of it.
var unitLimits = limits{queueParts: 4096, queueBytes: 64 << 20, batchParts: 256, batchBytes: 8 << 20}

// flusher commits batches of units, one call of accept_v1 each. One goroutine
// uses it.
type flusher struct {
	pool *pgxpool.Pool
	now  func() time.Time
	log  *slog.Logger
	// patience is how long a call may take; the server's own limits end it sooner.
	patience time.Duration
	// settled is told about each unit when its outcome is decided.
	settled func(*unit)
	// accepted is called after a commit with new outbox rows.
	accepted func()

	columns columns
	classes map[string]int16

	// An outage fails every batch: it is logged once a second, with how many units.
	loggedAt time.Time
	failed   int
}

// flush commits a batch and settles each of its units.
//
// A deadlock is tried once more with the same ids, which is safe since nothing
// of a failed call stands. Refused data is isolated by halving the batch between
// units. A timeout fails the batch as a whole: each half would wait as long again.
func (f *flusher) flush(batch []*unit) {
	results, err := f.commit(batch)
	if isDeadlock(err) {
		results, err = f.commit(batch)
	}
	switch {
	case err == nil:
		f.succeed(batch, results)
	case isRefusedData(err) && len(batch) > 1:
		middle := len(batch) / 2
		f.flush(batch[:middle])
		f.flush(batch[middle:])
	case isUnknownOutcome(err):
		f.probe(batch, err)
	default:
		f.fail(batch, err)
	}
}

var errShortAnswer = errors.New("accept_v1 did not answer for every delivery")

// commit makes the call and returns the results of all deliveries in order. It
// returns nil only after ReadyForQuery, that is after COMMIT: the rows arrive before.
func (f *flusher) commit(batch []*unit) ([]AcceptResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.patience)
	defer cancel()
	conn, err := f.pool.Acquire(ctx)
	if err != nil {
		return nil, notSentError{err}
	}
	defer conn.Release()

	defer f.columns.reset()
	for _, u := range batch {
		for i := range u.deliveries {
			f.columns.add(&u.deliveries[i], f.classes)
		}
	}
	results := make([]AcceptResult, len(f.columns.keys))
	var (
		ord, answers         int64
		outcome              string
		receipt, correlation pgtype.UUID
		unchecked            bool
	)
	rows, _ := conn.Query(ctx, acceptStatement, f.columns.arguments(f.now())...)
	_, err = pgx.ForEachRow(rows, []any{&ord, &outcome, &receipt, &correlation, &unchecked}, func() error {
		if ord < 1 || ord > int64(len(results)) || results[ord-1].Decision != "" {
			return errShortAnswer
		}
		answers++
		results[ord-1] = AcceptResult{
			Decision: oncehook.Decision(outcome), ReceiptID: receipt.Bytes, CorrelationID: correlation.Bytes, Unchecked: unchecked,
		}
		return nil
	})
	if err == nil && answers != int64(len(results)) {
		err = errShortAnswer
	}
	return results, err
}

func (f *flusher) succeed(batch []*unit, results []AcceptResult) {
	wake := false
	for _, u := range batch {
		n := len(u.deliveries)
		for i := range n {
			wake = wake || results[i].Decision == oncehook.Accepted && u.deliveries[i].Workflow != ""
		}
		f.settled(u)
		u.succeed(results[:n:n])
		results = results[n:]
	}
	if wake {
		f.accepted()
	}
}

func (f *flusher) fail(batch []*unit, err error) {
	f.failed += len(batch)
	if now := f.now(); now.Sub(f.loggedAt).Abs() >= time.Second {
		f.log.Warn("requests could not be recorded", "requests", f.failed, "error", brief(err))
		f.loggedAt, f.failed = now, 0
	}
	for _, u := range batch {
		f.settled(u)
		u.fail(unavailable("commit", err))
	}
}

// probe asks a new connection after a call whose outcome nobody knows. Where
// every delivery of a unit owns its key, the transaction committed and all of
// them were first copies; anything else stays unknown and the sender tries again.
func (f *flusher) probe(batch []*unit, cause error) {
	own, err := f.own(batch)
	if err != nil {
		f.fail(batch, cause)
		return
	}
	for _, u := range batch {
		results := make([]AcceptResult, len(u.deliveries))
		all := true
		for i := range u.deliveries {
			all = all && own[0]
			own = own[1:]
			d := &u.deliveries[i]
			results[i] = AcceptResult{Decision: oncehook.Accepted, ReceiptID: d.ReceiptID, CorrelationID: d.CorrelationID}
		}
		if all {
			f.succeed([]*unit{u}, results)
		} else {
			f.fail([]*unit{u}, cause)
		}
	}
}

const probeTimeout = 2 * time.Second

func (f *flusher) own(batch []*unit) ([]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, f.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	var keys []string
	var ids []pgtype.UUID
	for _, u := range batch {
		for i := range u.deliveries {
			keys = append(keys, string(u.deliveries[i].Key))
			ids = append(ids, pgtype.UUID{Bytes: u.deliveries[i].ReceiptID, Valid: true})
		}
	}
	own := make([]bool, len(keys))
	var ord int64
	var is bool
	rows, _ := conn.Query(ctx, `SELECT ord, own FROM oncehook.own_keys_v1($1, $2)`, keys, ids)
	_, err = pgx.ForEachRow(rows, []any{&ord, &is}, func() error {
		if ord < 1 || ord > int64(len(own)) {
			return fmt.Errorf("own_keys_v1 answered for delivery %d of %d", ord, len(own))
		}
		own[ord-1] = is
		return nil
	})
	return own, err
}
