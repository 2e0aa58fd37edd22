package store

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The outcomes of the audit rows of an operator's use of the codec.
const (
	// OutcomeDecoded: payloads of histories were decrypted; the row has their count.
	OutcomeDecoded = "payloads_decoded"
	// OutcomeLinked: a link was made that decrypts in the operator's name.
	OutcomeLinked = "codec_link_made"
)

// RecordCodecUse audits what an operator had the codec do, and with how much.
func (a *Admin) RecordCodecUse(ctx context.Context, operator Operator, outcome string, count int64) error {
	if err := a.usable(ctx); err != nil {
		return err
	}
	_, err := a.pool.Exec(ctx, `INSERT INTO audit (at, kind, outcome, actor, count) VALUES ($1, 'operator', $2, $3, $4)`,
		a.now(), outcome, operator.Name, count)
	if err != nil {
		return reading("audit the use of the codec", err)
	}
	return nil
}

// Operator returns the operator of that id. The error is ErrUnauthenticated where
// there is none or it is disabled, or wraps ErrAway.
func (a *Admin) Operator(ctx context.Context, id uuid.UUID) (Operator, error) {
	return a.operator(ctx, `id = $1`, id)
}

// OperatorNamed returns the operator of that name, with the errors of Operator.
func (a *Admin) OperatorNamed(ctx context.Context, name string) (Operator, error) {
	return a.operator(ctx, `name = $1`, name)
}

func (a *Admin) operator(ctx context.Context, which string, arg any) (Operator, error) {
	if err := a.usable(ctx); err != nil {
		return Operator{}, err
	}
	var o Operator
	err := a.pool.QueryRow(ctx, `SELECT id, name, role, sources, tenants FROM operators WHERE disabled_at IS NULL AND `+which, arg).
		Scan(&o.ID, &o.Name, &o.Role, &o.Scope.Sources, &o.Scope.Tenants)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operator{}, ErrUnauthenticated
	}
	if err != nil {
		return Operator{}, reading("look up the operator", err)
	}
	return o, nil
}

// SeesAll reports whether the scope is every source and every tenant.
func (s Scope) SeesAll() bool { return s.allSources() && s.allTenants() }
