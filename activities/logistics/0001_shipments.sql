-- serves-from: 1
-- +goose Up
-- Where each shipment is. The tenant is part of the key, so that no id reaches another
-- tenant's row.
CREATE TABLE shipments (
    tenant             text COLLATE "C" NOT NULL,
    shipment_id        text COLLATE "C" NOT NULL,
    depot_id           text        NOT NULL,
    previous_depot_id  text,                    -- NULL: first seen by the observation below
    -- The observation that last changed the row; an older one is refused.
    occurred_at        timestamptz,             -- NULL: it had no time of its own
    received_at        timestamptz NOT NULL,
    receipt_id         uuid        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    version            bigint      NOT NULL DEFAULT 1,
    changed_at         timestamptz NOT NULL,
    PRIMARY KEY (tenant, shipment_id)
);

-- One row per observation that was applied.
CREATE TABLE shipment_transitions (
    tenant          text COLLATE "C" NOT NULL,
    shipment_id     text COLLATE "C" NOT NULL,
    version         bigint      NOT NULL,
    from_depot_id   text,
    to_depot_id     text        NOT NULL,
    occurred_at     timestamptz,
    event_key       text COLLATE "C" NOT NULL,
    receipt_id      uuid        NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL UNIQUE,
    at              timestamptz NOT NULL,
    PRIMARY KEY (tenant, shipment_id, version)
);
CREATE INDEX shipment_transitions_receipt ON shipment_transitions (receipt_id);

-- Who caused what, by which event and under which credential. Insert-only.
CREATE TABLE audit (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at                 timestamptz NOT NULL,
    action             text        NOT NULL,
    tenant             text COLLATE "C" NOT NULL,
    shipment_id        text COLLATE "C" NOT NULL,
    version            bigint      NOT NULL,
    event_key          text COLLATE "C" NOT NULL,
    receipt_id         uuid        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL
);
CREATE INDEX audit_shipment ON audit (tenant, shipment_id);

-- +goose Down
-- Migrations only move forward.
SELECT 1;
