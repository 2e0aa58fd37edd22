package logistics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
)

// RecordArrival records that a shipment arrived at a depot. An observation older
// than the one that last changed the shipment is superseded.
var RecordArrival = effect.Local[Arrival, Recorded]("logistics.record_arrival")

// Arrival is the input of RecordArrival. It is empty: what arrived where is in
// the event, and stays out of histories.
type Arrival struct{}

// Recorded is the result of RecordArrival.
type Recorded struct {
	// FromDepot is "" when the shipment was seen for the first time.
	FromDepot string `json:"from_depot"`
	ToDepot   string `json:"to_depot"`
	// Version counts the shipment's transitions, this one included.
	Version int64 `json:"version"`
	// Unordered says that the event had no time of its own, so that the order of
	// receipt decided.
	Unordered bool `json:"unordered,omitempty"`
}

// apply writes the transition unless the row was last changed by a newer
// observation. Where both have a time of their own it decides, and an equal one
// applies; where one has none, the order of receipt decides.
const apply = `
WITH applied AS (
	INSERT INTO logistics.shipments AS s (tenant, shipment_id, depot_id, occurred_at, received_at, receipt_id,
		principal, credential_version, changed_at)
	VALUES (@tenant, @shipment, @depot, @occurred_at, @received_at, @receipt_id, @principal, @credential_version, @now)
	ON CONFLICT (tenant, shipment_id) DO UPDATE SET
		depot_id = excluded.depot_id, previous_depot_id = s.depot_id, occurred_at = excluded.occurred_at,
		received_at = excluded.received_at, receipt_id = excluded.receipt_id, principal = excluded.principal,
		credential_version = excluded.credential_version, version = s.version + 1, changed_at = excluded.changed_at
	WHERE CASE WHEN s.occurred_at IS NULL OR excluded.occurred_at IS NULL
		THEN (s.received_at, s.receipt_id) <= (excluded.received_at, excluded.receipt_id)
		ELSE s.occurred_at <= excluded.occurred_at END
	RETURNING s.version, s.previous_depot_id
), transition AS (
	INSERT INTO logistics.shipment_transitions (tenant, shipment_id, version, from_depot_id, to_depot_id, occurred_at, event_key,
		receipt_id, idempotency_key, at)
	SELECT @tenant, @shipment, a.version, a.previous_depot_id, @depot, @occurred_at, @event_key, @receipt_id, @idempotency_key, @now
	FROM applied a
), witness AS (
	INSERT INTO logistics.audit (at, action, tenant, shipment_id, version, event_key, receipt_id, principal, credential_version)
	SELECT @now, @action, @tenant, @shipment, a.version, @event_key, @receipt_id, @principal, @credential_version
	FROM applied a
)
SELECT version, coalesce(previous_depot_id, '') FROM applied`

func recordArrival(ctx context.Context, _ Arrival) (Recorded, error) {
	event := effect.Event(ctx)
	arrived, err := readArrival(event.Body)
	if err != nil {
		return Recorded{}, oncehook.Permanent(err)
	}
	recorded := Recorded{ToDepot: arrived.depot, Unordered: event.OccurredAt.IsZero()}
	err = effect.Tx(ctx).QueryRow(ctx, apply, pgx.StrictNamedArgs{
		"tenant": event.Tenant, "shipment": arrived.shipment, "depot": arrived.depot,
		"occurred_at": timeOrNull(event.OccurredAt), "received_at": event.ReceivedAt, "receipt_id": event.ReceiptID,
		"event_key": event.Key, "idempotency_key": effect.IdempotencyKey(ctx), "action": RecordArrival.Name,
		"principal": event.Principal, "credential_version": event.CredentialVersion, "now": effect.Now(ctx),
	}).Scan(&recorded.Version, &recorded.FromDepot)
	if errors.Is(err, pgx.ErrNoRows) {
		return Recorded{}, superseded(ctx, event, arrived.shipment)
	}
	if err != nil {
		return Recorded{}, fmt.Errorf("record the arrival: %w", err)
	}
	return recorded, nil
}

// superseded says by what.
func superseded(ctx context.Context, event effect.StoredEvent, shipment string) error {
	var (
		occurredAt *time.Time
		receivedAt time.Time
	)
	err := effect.Tx(ctx).QueryRow(ctx, `
		SELECT occurred_at, received_at FROM logistics.shipments WHERE tenant = $1 AND shipment_id = $2`,
		event.Tenant, shipment).Scan(&occurredAt, &receivedAt)
	if err != nil {
		return fmt.Errorf("read the newer observation: %w", err)
	}
	if occurredAt != nil && !event.OccurredAt.IsZero() {
		return oncehook.Superseded(fmt.Sprintf("observed at %s, but the shipment was last changed by an observation of %s",
			stamp(event.OccurredAt), stamp(*occurredAt)))
	}
	return oncehook.Superseded(fmt.Sprintf("received at %s, but the shipment was last changed by an observation received at %s",
		stamp(event.ReceivedAt), stamp(receivedAt)))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
