package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// StoredEvent is a received event as its side effects see it.
type StoredEvent struct {
	ReceiptID     uuid.UUID
	Key           oncehook.Key
	CorrelationID uuid.UUID
	Source        string
	Tenant        string
	// EventID is the provider's id, or the key's id part where ids are personal.
	EventID string
	Type    string
	Subject string
	// OccurredAt is zero when the event has no ordering signal.
	OccurredAt time.Time
	Sequence   string
	ReceivedAt time.Time
	// Version and RunNo are the receipt's.
	Version int
	RunNo   int
	// Principal and CredentialVersion say who sent the accepted delivery. They
	// are "" once that evidence is past its retention.
	Principal         string
	CredentialVersion string
	// Body is the decrypted body, or nil once the payload or its key is gone.
	Body []byte
}

// selectEvent's bounds on the audit row's time spare the other partitions.
const selectEvent = `
SELECT r.id, r.key, r.correlation_id, r.source, r.tenant, r.event_id, r.event_type, coalesce(r.subject, ''), r.occurred_at,
	coalesce(r.sequence, ''), r.received_at, r.version, r.run_no,
	coalesce(a.principal, ''), coalesce(a.credential_version, ''), p.data_key_id, p.body
FROM oncehook.receipts r
LEFT JOIN LATERAL (
	SELECT x.data_key_id, x.body FROM oncehook.payloads x
	WHERE x.retention_class = r.retention_class AND x.day = r.payload_day AND x.delivery_id = r.id
	UNION ALL
	SELECT x.data_key_id, x.body FROM oncehook.payloads_pinned x WHERE x.delivery_id = r.id
	LIMIT 1) p ON true
LEFT JOIN LATERAL (
	SELECT x.principal, x.credential_version FROM oncehook.audit x
	WHERE x.receipt_id = r.id AND x.kind = 'delivery' AND x.outcome = 'accepted'
		AND x.at BETWEEN r.received_at - interval '1 hour' AND r.received_at + interval '1 hour'
	ORDER BY x.at LIMIT 1) a ON true
WHERE r.id = $1`

// sealedEvent is a StoredEvent whose body is still encrypted.
type sealedEvent struct {
	StoredEvent
	keyID *int64
	body  []byte
}

func scanEvent(row pgx.Row) (sealedEvent, error) {
	var (
		e          sealedEvent
		occurredAt *time.Time
	)
	err := row.Scan(&e.ReceiptID, &e.Key, &e.CorrelationID, &e.Source, &e.Tenant, &e.EventID, &e.Type, &e.Subject, &occurredAt,
		&e.Sequence, &e.ReceivedAt, &e.Version, &e.RunNo, &e.Principal, &e.CredentialVersion, &e.keyID, &e.body)
	if occurredAt != nil {
		e.OccurredAt = *occurredAt
	}
	return e, err
}

// Now is the clock of stored times.
func (s *Work) Now() time.Time { return s.now() }

// Event reads an event with its decrypted body, or returns ErrNotFound.
func (s *Work) Event(ctx context.Context, receiptID uuid.UUID) (StoredEvent, error) {
	sealed, err := scanEvent(s.effects.QueryRow(ctx, selectEvent, receiptID))
	if errors.Is(err, pgx.ErrNoRows) {
		return StoredEvent{}, fmt.Errorf("receipt %s: %w", receiptID, ErrNotFound)
	}
	if err != nil {
		return StoredEvent{}, fmt.Errorf("read the event: %w", err)
	}
	return s.openEvent(ctx, sealed)
}

func (s *Work) openEvent(ctx context.Context, sealed sealedEvent) (StoredEvent, error) {
	e := sealed.StoredEvent
	if sealed.keyID == nil {
		return e, nil
	}
	key, err := s.dataKeyByID(ctx, e.Tenant, *sealed.keyID)
	if errors.Is(err, ErrNoDataKey) {
		return e, nil
	}
	if err != nil {
		return StoredEvent{}, fmt.Errorf("open the event's body: %w", err)
	}
	e.Body, err = key.Open(sealed.body, bodyAAD(e.Tenant, e.ReceiptID))
	if errors.Is(err, keyring.ErrSealed) {
		return StoredEvent{}, fmt.Errorf("open the event's body: %w", err)
	}
	return e, err
}
