package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// ActionView is one side effect of an event.
type ActionView struct {
	Name           string               `db:"name"`
	Kind           oncehook.Kind        `db:"kind"`
	State          oncehook.ActionState `db:"state"`
	Epoch          int32                `db:"epoch"`
	RunNo          int32                `db:"run_no"`
	IdempotencyKey string               `db:"idempotency_key"`
	BusinessKey    *string              `db:"business_key"`
	Attempts       int32                `db:"attempts"`
	Outcome        *string              `db:"outcome"`
	Reason         *string              `db:"reason"`
	LastError      *string              `db:"last_error"`
	NextAttemptAt  *time.Time           `db:"next_attempt_at"`
	WaitsFor       *string              `db:"waits_for"`
	DoneBy         *uuid.UUID           `db:"done_by"`
	CreatedAt      time.Time            `db:"created_at"`
	ChangedAt      time.Time            `db:"changed_at"`
	// Result is what the action returned, decrypted; nil when there is nothing or
	// when its key is gone.
	Result []byte `db:"-"`

	ResultKeyID *int64 `db:"result_key_id"`
	Sealed      []byte `db:"result"`
}

// readActions reads the actions in the order they began, their results still sealed.
func readActions(ctx context.Context, q querier, receipt uuid.UUID) ([]ActionView, error) {
	return collect[ActionView](ctx, q, `
		SELECT name, kind, state, epoch, run_no, idempotency_key, business_key, attempts, outcome, reason, last_error,
			next_attempt_at, waits_for, done_by, created_at, changed_at, result_key_id, result
		FROM actions WHERE receipt_id = $1 ORDER BY created_at, name, epoch`, receipt)
}

// openResults decrypts what the actions returned.
func (a *Admin) openResults(ctx context.Context, r ReceiptView, actions []ActionView) error {
	for n := range actions {
		action := &actions[n]
		sealed := action.Sealed
		action.Sealed = nil
		if sealed == nil || action.ResultKeyID == nil {
			continue
		}
		key, err := a.dataKeyByID(ctx, r.Tenant, *action.ResultKeyID)
		switch {
		case errors.Is(err, ErrNoDataKey), errors.Is(err, keyring.ErrUnwrap):
			a.log.WarnContext(ctx, "a result stays sealed", "receipt_id", r.ReceiptID.String(), "action", action.Name, "error", err.Error())
			continue
		case err != nil:
			return err
		}
		id := ActionID{ReceiptID: r.ReceiptID, Name: action.Name, Epoch: int(action.Epoch)}
		if action.Result, err = key.Open(sealed, resultAAD(r.Tenant, id)); err != nil {
			a.log.WarnContext(ctx, "a result stays sealed", "receipt_id", r.ReceiptID.String(), "action", action.Name, "error", err.Error())
		}
	}
	return nil
}
