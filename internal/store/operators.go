package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// Roles of an operator, from the least to the most.
const (
	RoleViewer   = "viewer"
	RoleOperator = "operator"
	RoleApprover = "approver"
	RoleAdmin    = "admin"
)

// Everything in a scope's list allows every source, or every tenant.
const Everything = "*"

// Scope is which events an operator may see. The zero Scope sees none.
type Scope struct {
	Sources []string
	Tenants []string
}

func (s Scope) allSources() bool { return slices.Contains(s.Sources, Everything) }
func (s Scope) allTenants() bool { return slices.Contains(s.Tenants, Everything) }

// Operator is a person or program that may use the admin API.
type Operator struct {
	ID    uuid.UUID
	Name  string
	Role  string
	Scope Scope
}

// ErrUnauthenticated says that a token is malformed, unknown, expired or revoked,
// or that its operator is disabled. It does not say which.
var ErrUnauthenticated = errors.New("no such operator token")

// createdByConfiguration marks the token that the configuration names.
const createdByConfiguration = "configuration"

// NewOperatorToken makes a token of 32 random bytes: oh_ and their base64url form.
func NewOperatorToken() (oncehook.Secret, error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("make an operator token: %w", err)
	}
	return oncehook.Secret(oncehook.OperatorTokenPrefix + base64.RawURLEncoding.EncodeToString(random)), nil
}

// hashToken returns the stored form of a token, and false when it cannot be one.
// A plain hash is enough: a token is random and long, so nobody can guess it.
func hashToken(token oncehook.Secret) ([]byte, bool) {
	if !oncehook.IsOperatorToken(token) {
		return nil, false
	}
	sum := sha256.Sum256(token)
	return sum[:], true
}

// Authenticate returns the operator of a token. The error is ErrUnauthenticated,
// or wraps ErrAway.
func (a *Admin) Authenticate(ctx context.Context, token oncehook.Secret) (Operator, error) {
	hash, ok := hashToken(token)
	if !ok {
		return Operator{}, ErrUnauthenticated
	}
	if err := a.usable(ctx); err != nil {
		return Operator{}, err
	}
	var o Operator
	var stored []byte
	err := a.pool.QueryRow(ctx, `
		SELECT o.id, o.name, o.role, o.sources, o.tenants, t.hash
		FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
		WHERE t.hash = $1 AND t.revoked_at IS NULL AND o.disabled_at IS NULL
		  AND (t.expires_at IS NULL OR t.expires_at > now())`, hash,
	).Scan(&o.ID, &o.Name, &o.Role, &o.Scope.Sources, &o.Scope.Tenants, &stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return Operator{}, ErrUnauthenticated
	}
	if err != nil {
		return Operator{}, reading("look up the operator", err)
	}
	if subtle.ConstantTimeCompare(hash, stored) != 1 {
		return Operator{}, ErrUnauthenticated
	}
	return o, nil
}

// EnsureAdmin makes an operator of role admin who sees everything, and gives it
// the token that the configuration names. It may be called again: what exists
// stays, a disabled operator or a revoked token too, and when the configuration
// names another token, the one it named before is revoked.
func (a *Admin) EnsureAdmin(ctx context.Context, name string, token oncehook.Secret) error {
	hash, ok := hashToken(token)
	if !ok {
		return fmt.Errorf("the token must be %s", oncehook.OperatorTokenForm)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			INSERT INTO operators (id, name, role, sources, tenants, created_by, created_at)
			VALUES ($1, $2, 'admin', '{*}', '{*}', $3, $4) ON CONFLICT (name) DO NOTHING`,
			id, name, createdByConfiguration, a.now()); err != nil {
			return fmt.Errorf("make the operator: %w", err)
		}
		if err := tx.QueryRow(ctx, `SELECT id FROM operators WHERE name = $1 FOR UPDATE`, name).Scan(&id); err != nil {
			return fmt.Errorf("find the operator: %w", err)
		}
		return ensureToken(ctx, tx, id, hash, a.now())
	})
}

func ensureToken(ctx context.Context, tx pgx.Tx, operator uuid.UUID, hash []byte, now time.Time) error {
	if _, err := tx.Exec(ctx, `
		INSERT INTO operator_tokens (hash, operator_id, created_by, created_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT (hash) DO NOTHING`,
		hash, operator, createdByConfiguration, now); err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	var owner uuid.UUID
	if err := tx.QueryRow(ctx, `SELECT operator_id FROM operator_tokens WHERE hash = $1`, hash).Scan(&owner); err != nil {
		return fmt.Errorf("find the token: %w", err)
	}
	if owner != operator {
		return errors.New("the token belongs to another operator: make a new one")
	}
	if _, err := tx.Exec(ctx, `
		UPDATE operator_tokens SET revoked_at = $4
		WHERE operator_id = $1 AND hash <> $2 AND created_by = $3 AND revoked_at IS NULL`,
		operator, hash, createdByConfiguration, now); err != nil {
		return fmt.Errorf("revoke the earlier token: %w", err)
	}
	return nil
}
