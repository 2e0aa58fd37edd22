package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook/internal/keyring"
)

// Reencrypted is what Reencrypt did.
type Reencrypted struct {
	// Rewrapped data keys are wrapped by the primary wrap key now.
	Rewrapped int64
	// Unreadable data keys did not open with this keyset; they stay as they are.
	Unreadable []int64
}

// reencryptBatch is how many data keys are read at once.
const reencryptBatch = 200

type wrappedRow struct {
	ID        int64
	Tenant    string
	WrapKeyID int64
	Wrapped   []byte
}

// Reencrypt wraps every data key, retired ones too, by the primary wrap key. What
// the data keys sealed is not touched. Each key is one short statement of its own
// that changes it only as it was read: the call can be broken off anywhere, run
// again, and run beside processes that use and make data keys. It goes on until
// none is left, those that running processes meanwhile made included.
func (k *Keys) Reencrypt(ctx context.Context, progress func(rewrapped int64)) (Reencrypted, error) {
	var done Reencrypted
	for {
		before := done.Rewrapped
		if err := k.reencryptPass(ctx, &done, progress); err != nil || done.Rewrapped == before {
			return done, err
		}
		done.Unreadable = nil // counted by the last pass
	}
}

// reencryptPass goes over the data keys once, in the order of their ids.
func (k *Keys) reencryptPass(ctx context.Context, done *Reencrypted, progress func(int64)) error {
	primary := int64(k.keyring.WrapKeyID())
	for after := int64(0); ; {
		rows, _ := k.pool.Query(ctx, `
			SELECT id, tenant, wrap_key_id, wrapped FROM tenant_keys
			WHERE wrap_key_id <> $1 AND id > $2 ORDER BY id LIMIT $3`, primary, after, reencryptBatch)
		batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wrappedRow])
		if err != nil {
			return fmt.Errorf("read data keys: %w", brief(err))
		}
		if len(batch) == 0 {
			return nil
		}
		for _, row := range batch {
			after = row.ID
			if err := k.rewrap(ctx, row, done); err != nil {
				return err
			}
		}
		progress(done.Rewrapped)
	}
}

func (k *Keys) rewrap(ctx context.Context, row wrappedRow, done *Reencrypted) error {
	again, err := k.keyring.Rewrap(row.Tenant, keyring.Wrapped{WrapKeyID: uint32(row.WrapKeyID), Bytes: row.Wrapped}) //nolint:gosec // stored from a uint32
	if errors.Is(err, keyring.ErrUnwrap) {
		done.Unreadable = append(done.Unreadable, row.ID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("data key %d: %w", row.ID, err)
	}
	tag, err := k.pool.Exec(ctx, `UPDATE tenant_keys SET wrap_key_id = $2, wrapped = $3 WHERE id = $1 AND wrapped = $4`,
		row.ID, int64(again.WrapKeyID), again.Bytes, row.Wrapped)
	if err != nil {
		return fmt.Errorf("store data key %d: %w", row.ID, brief(err))
	}
	done.Rewrapped += tag.RowsAffected() // 0: another rotation was faster
	return nil
}
