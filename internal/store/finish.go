package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// Finish is the end of one run of a receipt.
type Finish struct {
	ReceiptID uuid.UUID
	RunNo     int
	// State is succeeded, ignored or dead_lettered.
	State oncehook.State
	// Cause is a stable word, Detail what an operator reads.
	Cause, Detail string
}

// Finished says what Finish found.
type Finished string

// What Finish can find; each is success.
const (
	// FinishWritten means that this call wrote the end state.
	FinishWritten Finished = "written"
	// FinishRepeated means that the run had ended before.
	FinishRepeated Finished = "repeated"
	// FinishStale means that a later run owns the receipt.
	FinishStale Finished = "stale"
)

// Finish writes the end state of a run, once. Where no action was claimed the
// receipt passes through processing in the same transaction. Actions that are
// still open are closed and fenced, so that no attempt of an ended run commits or
// sends an effect afterwards; one that sent something and never learned what came
// of it is uncertain. It has connections of its own, which no effect can take.
func (s *Work) Finish(ctx context.Context, f Finish) (Finished, error) {
	switch f.State {
	case oncehook.StateSucceeded, oncehook.StateIgnored, oncehook.StateDeadLettered:
	case oncehook.StateReceived, oncehook.StateQueued, oncehook.StateProcessing:
		return "", fmt.Errorf("finish: %q is not an end state", f.State)
	default:
		return "", fmt.Errorf("finish: unknown state %q", f.State)
	}
	written, err := s.finishProcessing(ctx, f)
	if err != nil {
		return "", fmt.Errorf("finish: %w", err)
	}
	if written {
		return FinishWritten, nil
	}
	var found Finished
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		found, err = s.endRun(ctx, tx, f, noMore)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("finish: %w", err)
	}
	return found, nil
}

// noMore leaves a run's detail as it is.
func noMore(_ context.Context, _ pgx.Tx, f Finish) (string, error) { return f.Detail, nil }

// endRun writes the end of a run whose receipt nobody else may change meanwhile.
// complete returns the detail, once the run's actions are closed.
func (s *Work) endRun(ctx context.Context, tx pgx.Tx, f Finish, complete func(context.Context, pgx.Tx, Finish) (string, error)) (Finished, error) {
	receipt, err := lockReceipt(ctx, tx, f.ReceiptID)
	if err != nil {
		return "", err
	}
	switch {
	case receipt.runNo != f.RunNo:
		return FinishStale, nil
	case receipt.ended():
		return FinishRepeated, nil
	case receipt.state == oncehook.StateReceived:
		return "", fmt.Errorf("receipt %s was never queued", f.ReceiptID)
	}
	if err := s.closeActions(ctx, tx, receipt); err != nil {
		return "", err
	}
	detail, err := complete(ctx, tx, f)
	if err != nil {
		return "", err
	}
	if receipt.state == oncehook.StateQueued && f.State != oncehook.StateDeadLettered {
		if err := s.move(ctx, tx, receipt, oncehook.StateProcessing, oncehook.CauseFinished, "no action was claimed"); err != nil {
			return "", err
		}
		receipt.state, receipt.version = oncehook.StateProcessing, receipt.version+1
	}
	return FinishWritten, s.move(ctx, tx, receipt, f.State, f.Cause, detail)
}

// isOpen selects the actions a that have no end.
const isOpen = `a.state IN ('running', 'failed') AND a.outcome IS NULL`

// closeOpen ends the open actions of a receipt. An attempt that is still in its
// transaction holds its row: it is waited for, and then found done. The counter
// of an uncertain one stays, so that its own attempt may yet say what happened, and
// so does its call's deadline, which a later run waits out.
const closeOpen = `
	UPDATE oncehook.actions a SET state = CASE WHEN a.unanswered THEN 'uncertain' ELSE 'failed' END,
		claim = a.claim + (NOT a.unanswered)::int, outcome = 'run_ended',
		lease_until = NULL, next_attempt_at = NULL, waits_for = NULL, wait_until = NULL, changed_at = @now`

// closeActions is closeOpen with what others must know of it: the evidence of
// uncertain ones, and the wake-up of who waits for a business key.
const closeActions = `
WITH closed AS (` + closeOpen + `
	WHERE a.receipt_id = @id AND ` + isOpen + `
	RETURNING a.name, a.state, a.business_key
), noted AS (
	INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, source, tenant, action, run_no, actor, cause, correlation_id)
	SELECT @now, 'action', 'uncertain', r.id, r.source, r.tenant, c.name, r.run_no, @actor, 'run_ended', r.correlation_id
	FROM closed c, oncehook.receipts r WHERE c.state = 'uncertain' AND r.id = @id
)
SELECT coalesce(business_key, '') FROM closed`

func (s *Work) closeActions(ctx context.Context, tx pgx.Tx, r receiptRow) error {
	rows, err := tx.Query(ctx, closeActions, pgx.StrictNamedArgs{"id": r.id, "now": s.now(), "actor": s.actor()})
	if err != nil {
		return err
	}
	held, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return wake(ctx, tx, r.tenant, held...)
}

// finishInOne is Finish for the ordinary case: a receipt in processing, and nothing
// open that others must know of.
const finishInOne = `
WITH r AS (
	SELECT id FROM oncehook.receipts WHERE id = @id AND run_no = @run_no AND state = 'processing'
		AND NOT EXISTS (SELECT FROM oncehook.actions a WHERE a.receipt_id = @id AND (a.business_key IS NOT NULL OR a.unanswered) AND ` + isOpen + `)
	FOR NO KEY UPDATE
), closed AS (` + closeOpen + `
	FROM r WHERE a.receipt_id = r.id AND ` + isOpen + `
), moved AS (
	UPDATE oncehook.receipts t SET state = @state, cause = @cause, version = t.version + 1, changed_at = @now
	FROM r WHERE t.id = r.id
	RETURNING t.id, t.version, t.run_no
), noted AS (
	INSERT INTO oncehook.receipt_history (receipt_id, version, from_state, to_state, run_no, cause, detail, actor, at)
	SELECT m.id, m.version, 'processing', @state, m.run_no, @cause, NULLIF(@detail, ''), @actor, @now FROM moved m
)
SELECT count(*) = 1 FROM moved`

// finishProcessing has the receipt before it looks at the actions: a statement that
// waited for a claim would not see what that began.
func (s *Work) finishProcessing(ctx context.Context, f Finish) (bool, error) {
	batch := &pgx.Batch{}
	batch.Queue(`SELECT FROM oncehook.receipts WHERE id = $1 FOR NO KEY UPDATE`, f.ReceiptID)
	batch.Queue(finishInOne, pgx.StrictNamedArgs{
		"id": f.ReceiptID, "run_no": f.RunNo, "state": f.State, "cause": f.Cause, "detail": cleanText(f.Detail),
		"actor": s.actor(), "now": s.now(),
	})
	results := s.pool.SendBatch(ctx, batch)
	_, err := results.Exec()
	var written bool
	if err == nil {
		err = results.QueryRow().Scan(&written)
	}
	return written, errors.Join(err, results.Close())
}

// actor names this process in histories.
func (s *Work) actor() string { return ActorSystem + " " + s.process.String() }

// receiptRow is what transitions look at, locked.
type receiptRow struct {
	id      uuid.UUID
	key     oncehook.Key
	tenant  string
	state   oncehook.State
	version int
	runNo   int
}

func (r receiptRow) ended() bool {
	return r.state == oncehook.StateSucceeded || r.state == oncehook.StateIgnored || r.state == oncehook.StateDeadLettered
}

// lockReceipt returns the receipt, which stays as it is until tx ends, or ErrNotFound.
func lockReceipt(ctx context.Context, tx pgx.Tx, id uuid.UUID) (receiptRow, error) {
	r := receiptRow{id: id}
	err := tx.QueryRow(ctx, `
		SELECT key, tenant, state, version, run_no FROM oncehook.receipts WHERE id = $1 FOR NO KEY UPDATE`, id).
		Scan(&r.key, &r.tenant, &r.state, &r.version, &r.runNo)
	if errors.Is(err, pgx.ErrNoRows) {
		return receiptRow{}, fmt.Errorf("receipt %s: %w", id, ErrNotFound)
	}
	return r, err
}

// move writes one transition of a locked receipt and its history row.
func (s *Work) move(ctx context.Context, tx pgx.Tx, r receiptRow, to oncehook.State, cause, detail string) error {
	now := s.now()
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE oncehook.receipts SET state = $2, cause = $3, version = version + 1, changed_at = $4 WHERE id = $1`,
		r.id, to, cause, now)
	batch.Queue(`
		INSERT INTO oncehook.receipt_history (receipt_id, version, from_state, to_state, run_no, cause, detail, actor, at)
		VALUES ($1, $2, $3, $4, $5, $6, NULLIF($7, ''), $8, $9)`,
		r.id, r.version+1, r.state, to, r.runNo, cause, cleanText(detail), s.actor(), now)
	return tx.SendBatch(ctx, batch).Close()
}
