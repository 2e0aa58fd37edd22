package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oncehook/oncehook"
)

// localIdle ends an effect's transaction that does nothing for so long, as a
// paused process does; its rows are then free for the next attempt.
const localIdle = 30 * time.Second

// LocalFunc is a Local effect. What it does through tx commits together with
// its action, or not at all. result is stored, encrypted.
type LocalFunc func(ctx context.Context, tx pgx.Tx) (result []byte, err error)

// RunLocal attempts a Local action: the effect, the action's end and the audit
// row in one transaction. An Ignore or Superseded outcome of fn is recorded in
// the same way, without what fn wrote, and returned. Any other error of fn
// leaves no trace and is returned; FailAction records it. ErrFenced means that
// the attempt is too late, ErrCommitUnknown that the next claim must find out.
func (s *Work) RunLocal(ctx context.Context, c Claim, fn LocalFunc) error {
	// Before the transaction: a key may need a connection of its own.
	key, keyID, err := s.dataKey(ctx, c.Event.Tenant)
	if err != nil {
		return fmt.Errorf("run %s: %w", c.Name, err)
	}
	tx, err := s.beginLocal(ctx, c)
	if err != nil {
		return fmt.Errorf("run %s: %w", c.Name, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()

	result, failure := fn(ctx, tx)
	if tx.Conn().PgConn().TxStatus() == txIdle {
		return fmt.Errorf("run %s: %w", c.Name, endedByEffect(ctx, tx))
	}
	end := localEnd{state: oncehook.ActionDone, word: WordOK}
	switch outcome, ok := oncehook.AsOutcome(failure); {
	case failure == nil && len(result) > MaxResult:
		return fmt.Errorf("run %s: %w", c.Name, ErrResultTooLarge)
	case failure == nil:
		if end.result, err = key.Seal(result, resultAAD(c.Event.Tenant, c.ActionID)); err != nil {
			return fmt.Errorf("run %s: %w", c.Name, err)
		}
		end.keyID = &keyID
	case ok && outcome.Kind == oncehook.OutcomeIgnore:
		end.word, end.reason, end.undo = WordIgnored, outcome.Reason, true
	case ok && outcome.Kind == oncehook.OutcomeSuperseded:
		end.state, end.word, end.reason, end.undo = oncehook.ActionSuperseded, string(oncehook.ActionSuperseded), outcome.Reason, true
	default:
		return failure
	}
	if err := s.endLocal(ctx, tx, c, end); err != nil {
		return fmt.Errorf("run %s: %w", c.Name, err)
	}
	return failure
}

// errEndedByEffect is permanent: what the effect committed by itself stays, and
// another attempt would do it again.
var errEndedByEffect = oncehook.Permanent(errors.New("the effect ended its own transaction: COMMIT and ROLLBACK are not its to say"))

// endedByEffect gives the session up too: what the effect set there outlived its
// transaction.
func endedByEffect(ctx context.Context, tx pgx.Tx) error {
	_ = tx.Conn().Close(context.WithoutCancel(ctx))
	return errEndedByEffect
}

// txIdle is PostgreSQL's sign for a session outside of a transaction.
const txIdle = 'I'

// beginLocal opens the transaction and holds the action's row, so that nobody
// can take the action over before it ends.
func (s *Work) beginLocal(ctx context.Context, c Claim) (pgx.Tx, error) {
	tx, err := s.effects.Begin(ctx)
	if err != nil {
		return nil, err
	}
	var fence int64
	batch := &pgx.Batch{}
	batch.Queue(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, milliseconds(localIdle))
	batch.Queue(`
		SELECT claim FROM oncehook.actions
		WHERE receipt_id = $1 AND name = $2 AND epoch = $3 AND state = 'running' FOR NO KEY UPDATE`, c.ReceiptID, c.Name, c.Epoch)
	batch.Queue(`SAVEPOINT effect`)
	results := tx.SendBatch(ctx, batch)
	_, err = results.Exec()
	if err == nil {
		err = results.QueryRow().Scan(&fence)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrFenced
	}
	err = errors.Join(err, results.Close())
	if err == nil && fence != c.Fence {
		err = ErrFenced
	}
	if err == nil {
		err = s.prepareEnd(ctx, tx.Conn(), c)
	}
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, err
	}
	return tx, nil
}

// prepareEnd prepares what ends the transaction, once per connection: under a role
// that the effect sets it could not be prepared any more.
func (s *Work) prepareEnd(ctx context.Context, conn *pgx.Conn, c Claim) error {
	audit, _, err := s.audit(c, "", "").RewriteQuery(ctx, conn, actionAudit, nil)
	if err != nil {
		return err
	}
	statements := []string{endLocalAction, audit}
	if c.BusinessKey != "" {
		statements = append(statements, factLock, wakeWaiters)
	}
	for _, statement := range statements {
		if _, err := conn.Prepare(ctx, statement, statement); err != nil {
			return err
		}
	}
	return nil
}

type localEnd struct {
	state  oncehook.ActionState
	word   string
	reason string
	result []byte
	keyID  *int64
	// undo takes back what the effect wrote.
	undo bool
}

// evidence is the end as the audit names it.
func (e localEnd) evidence() string {
	if e.word == WordIgnored {
		return string(oncehook.StateIgnored)
	}
	return string(e.state)
}

// endLocalAction ends the action while its claim stands. One that was ignored has
// settled nothing, so another event may.
const endLocalAction = `
UPDATE oncehook.actions SET state = $5, outcome = $6, reason = NULLIF($7, ''), result_key_id = $8, result = $9,
	business_key = CASE WHEN $6 <> '` + WordIgnored + `' THEN business_key END,
	lease_until = NULL, next_attempt_at = NULL, waits_for = NULL, wait_until = NULL, changed_at = $10
WHERE receipt_id = $1 AND name = $2 AND epoch = $3 AND claim = $4 AND state = 'running'`

// resetSession takes back what an effect may have set for the session, which the
// pool hands to others after the COMMIT. A ROLLBACK takes it back by itself.
var resetSession = []string{"RESET SESSION AUTHORIZATION", "RESET ROLE", "RESET ALL"} //nolint:gochecknoglobals // constant

func (s *Work) endLocal(ctx context.Context, tx pgx.Tx, c Claim, end localEnd) error {
	if tx.Conn().PgConn().IsBusy() {
		return errors.New("the effect left a query's rows open")
	}
	if end.undo {
		// By itself: an effect may decide on a failed statement, and a connection
		// that has yet to prepare the rest cannot do that in a failed transaction.
		if _, err := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT effect"); err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	batch.Queue("RELEASE SAVEPOINT effect")
	for _, reset := range resetSession {
		batch.Queue(reset)
	}
	batch.Queue(endLocalAction,
		c.ReceiptID, c.Name, c.Epoch, c.Fence, end.state, end.word, cleanText(end.reason), end.keyID, end.result, s.now())
	batch.Queue(actionAudit, s.audit(c, end.evidence(), end.reason))
	if c.BusinessKey != "" {
		batch.Queue(factLock, c.Event.Tenant, c.BusinessKey)
		batch.Queue(wakeWaiters, c.Event.Tenant, c.BusinessKey)
	}
	results := tx.SendBatch(ctx, batch)
	_, err := results.Exec()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeNoSavepoint {
		return errors.Join(endedByEffect(ctx, tx), results.Close()) // and began another
	}
	for range resetSession {
		if err == nil {
			_, err = results.Exec()
		}
	}
	if err == nil {
		tag, updateErr := results.Exec()
		err = updateErr
		if err == nil && tag.RowsAffected() != 1 {
			err = ErrFenced
		}
	}
	if err = errors.Join(err, results.Close()); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	return nil
}
