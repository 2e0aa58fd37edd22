-- serves-from: 1
-- +goose Up
-- The whole schema. Three rules shape it (ARCHITECTURE.md): rows that accept touches are
-- updated by nobody else; a unique key cannot span time partitions, so keys, receipts and
-- actions are not partitioned; no foreign key lies on the accept path.

-- Which installation this is. One row, written by migrate.
CREATE TABLE installation (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    identity_check bytea       NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
);

-- Decides duplicates. Insert-only: no process updates or locks a row here.
CREATE TABLE event_keys (
    key                text COLLATE "C" PRIMARY KEY,
    receipt_id         uuid   NOT NULL,
    correlation_id     uuid   NOT NULL,
    recipe             text   NOT NULL,
    fingerprint_key_id bigint NOT NULL,
    fingerprint        bytea  NOT NULL
);

-- Copies beyond the first; no row means exactly one delivery. Written by the ingress alone.
CREATE TABLE delivery_counts (
    receipt_id uuid PRIMARY KEY,
    duplicates bigint      NOT NULL,
    conflicts  bigint      NOT NULL,
    last_at    timestamptz NOT NULL
) WITH (fillfactor = 70);

-- The one durable record of a logical event. Inserted by accept, updated by everyone else. Its states
-- are guarded by a trigger on updates: a CHECK on a table that accept inserts into is read and
-- compiled anew by every call.
CREATE TABLE receipts (
    id              uuid PRIMARY KEY,
    key             text COLLATE "C" NOT NULL,
    correlation_id  uuid        NOT NULL,
    source          text        NOT NULL,
    tenant          text        NOT NULL,
    event_id        text        NOT NULL,   -- the key's id part where the source's ids are personal
    event_type      text        NOT NULL,
    subject         text,
    occurred_at     timestamptz,            -- NULL: the event has no ordering signal
    sequence        text,
    workflow        text,                   -- NULL: the catalog has no workflow for it
    retention_class smallint    NOT NULL,
    payload_day     date        NOT NULL,   -- finds the payload's partition
    state           text        NOT NULL,
    cause           text        NOT NULL,
    version         integer     NOT NULL DEFAULT 1,
    run_no          integer     NOT NULL DEFAULT 1,
    received_at     timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL
) WITH (fillfactor = 85);
CREATE INDEX receipts_event_id ON receipts (event_id);
CREATE INDEX receipts_received ON receipts (received_at DESC, id DESC);
-- Counts the recent runs whose first action is not yet claimed; accept inserts none of these.
CREATE INDEX receipts_queued ON receipts (source, changed_at) WHERE state = 'queued';

CREATE TABLE receipt_history (
    receipt_id uuid        NOT NULL,
    version    integer     NOT NULL,
    from_state text,                        -- NULL: the first row
    to_state   text        NOT NULL,
    run_no     integer     NOT NULL,
    cause      text        NOT NULL,
    detail     text,
    actor      text        NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (receipt_id, version)
);

-- The arrows of the state machine, enforced for whoever writes.
-- +goose StatementBegin
CREATE FUNCTION check_receipt_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.key <> OLD.key THEN
        RAISE EXCEPTION 'a receipt never changes its id or key' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state = OLD.state THEN
        IF NEW.version <> OLD.version OR NEW.run_no <> OLD.run_no THEN
            RAISE EXCEPTION 'version and run_no change with the state only' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.version <> OLD.version + 1 THEN
        RAISE EXCEPTION 'version must rise by one' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT (
        (OLD.state = 'received'   AND NEW.state IN ('queued', 'ignored') AND NEW.run_no = OLD.run_no) OR
        (OLD.state = 'queued'     AND NEW.state IN ('processing', 'dead_lettered') AND NEW.run_no = OLD.run_no) OR
        (OLD.state = 'processing' AND NEW.state IN ('succeeded', 'ignored', 'dead_lettered') AND NEW.run_no = OLD.run_no) OR
        (OLD.state IN ('succeeded', 'ignored', 'dead_lettered') AND NEW.state = 'queued' AND NEW.run_no = OLD.run_no + 1)
    ) THEN
        RAISE EXCEPTION 'a receipt does not go from % to %', OLD.state, NEW.state USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER receipts_transition BEFORE UPDATE ON receipts
    FOR EACH ROW EXECUTE FUNCTION check_receipt_transition();

-- Encrypted bodies. delivery_id is the receipt's id for the accepted copy; a conflicting copy has its own.
CREATE TABLE payloads (
    delivery_id     uuid     NOT NULL,
    retention_class smallint NOT NULL,
    day             date     NOT NULL,
    data_key_id     bigint   NOT NULL,
    body            bytea    NOT NULL
) PARTITION BY LIST (retention_class);
ALTER TABLE payloads ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX payloads_delivery ON payloads (delivery_id);

-- Payloads of unresolved events, moved here before their partition is dropped.
CREATE TABLE payloads_pinned (
    delivery_id     uuid PRIMARY KEY,
    retention_class smallint    NOT NULL,
    day             date        NOT NULL,
    data_key_id     bigint      NOT NULL,
    body            bytea       NOT NULL,
    pinned_at       timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE payloads_pinned ALTER COLUMN body SET STORAGE EXTERNAL;

-- A tenant's data keys, wrapped by the keyset. The tenant '' holds what belongs to no tenant yet.
CREATE TABLE tenant_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant       text COLLATE "C" NOT NULL,
    generation   integer     NOT NULL DEFAULT 1,
    wrap_key_id  bigint      NOT NULL,
    wrapped      bytea       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    retired_at   timestamptz,
    UNIQUE (tenant, generation)
);

CREATE TABLE outbox (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind           text        NOT NULL DEFAULT 'start',   -- or 'signal'
    receipt_id     uuid        NOT NULL,
    run_no         integer     NOT NULL DEFAULT 1,
    source         text        NOT NULL,
    tenant         text        NOT NULL,
    workflow       text,                    -- of a start
    signal         text,                    -- of a signal: its argument
    traceparent    text,
    due_at         timestamptz NOT NULL DEFAULT now(),
    lease_until    timestamptz,
    claims         integer     NOT NULL DEFAULT 0,
    last_error     text,
    alert          text,                    -- set when the row needs a person
    local          boolean,                 -- fixed by the first claim
    run_id         text,
    dispatched_at  timestamptz,
    created_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX outbox_due ON outbox (source, due_at, id) WHERE dispatched_at IS NULL;
CREATE INDEX outbox_receipt ON outbox (receipt_id);

-- The action ledger: one row per side effect of an event and epoch.
CREATE TABLE actions (
    receipt_id       uuid        NOT NULL,
    name             text COLLATE "C" NOT NULL,
    epoch            integer     NOT NULL DEFAULT 1,
    key              text COLLATE "C" NOT NULL,
    tenant           text        NOT NULL,
    kind             text        NOT NULL CHECK (kind IN ('local', 'keyed', 'probed', 'at_most_once')),
    state            text        NOT NULL CHECK (state IN ('running', 'done', 'failed', 'uncertain', 'superseded', 'already_done')),
    run_no           integer     NOT NULL,
    claim            bigint      NOT NULL DEFAULT 1,   -- the fence: rises with every claim
    attempts         integer     NOT NULL DEFAULT 1,
    run_attempts     integer     NOT NULL DEFAULT 1,   -- of run_no alone: what the cap counts
    idempotency_key  text        NOT NULL,
    business_key     text,
    outcome          text,                             -- 'ok' or 'ignore' once done, and why otherwise
    reason           text,
    last_error       text,
    next_attempt_at  timestamptz,
    lease_until      timestamptz,
    call_deadline    timestamptz,
    first_sent_at    timestamptz,                      -- Keyed: when the downstream's key memory began
    key_expires_at   timestamptz,
    waits_for        text,                             -- NotYet: the business key
    wait_until       timestamptz,
    result_key_id    bigint,
    result           bytea,                            -- sealed under the tenant's data key
    done_by          uuid,                             -- already_done: the receipt that did it
    created_at       timestamptz NOT NULL,
    changed_at       timestamptz NOT NULL,
    PRIMARY KEY (receipt_id, name, epoch)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX actions_business_key ON actions (tenant, name, business_key, epoch)
    WHERE business_key IS NOT NULL AND state IN ('running', 'uncertain', 'done');
CREATE INDEX actions_waiting ON actions (tenant, waits_for) WHERE waits_for IS NOT NULL;

-- Evidence. Insert-only for every role.
CREATE TABLE audit (
    at                 timestamptz NOT NULL,
    kind               text        NOT NULL,   -- 'delivery', 'action', 'operator' or 'system'
    outcome            text        NOT NULL,
    receipt_id         uuid,
    delivery_id        uuid,
    source             text,
    tenant             text,
    principal          text,
    credential_version text,
    peer               text,
    action             text,
    run_no             integer,
    actor              text,
    cause              text,
    flags              text[],
    count              bigint      NOT NULL DEFAULT 1,
    recipe             text,
    fingerprint_key_id bigint,
    fingerprint        bytea,
    correlation_id     uuid,
    transaction_id     xid8        NOT NULL DEFAULT pg_current_xact_id()
) PARTITION BY RANGE (at);
CREATE INDEX audit_receipt ON audit (receipt_id) WHERE receipt_id IS NOT NULL;

-- Refusals counted instead of kept singly, by minute, process, source, cause and address block;
-- several rows of one minute add up. Insert-only for every role.
CREATE TABLE audit_sums (
    minute        timestamptz NOT NULL,
    process       uuid        NOT NULL,
    source        text        NOT NULL,
    outcome       text        NOT NULL,
    cause         text        NOT NULL,
    address_block text        NOT NULL,
    count         bigint      NOT NULL,
    first_at      timestamptz NOT NULL,
    last_at       timestamptz NOT NULL
) PARTITION BY RANGE (minute);
CREATE INDEX audit_sums_minute ON audit_sums (minute);

-- Same key, other content: each distinct content once, never applied.
CREATE TABLE conflicts (
    receipt_id         uuid        NOT NULL,
    recipe             text        NOT NULL,
    fingerprint_key_id bigint      NOT NULL,
    fingerprint        bytea       NOT NULL,
    delivery_id        uuid        NOT NULL,   -- its payload
    retention_class    smallint    NOT NULL,
    payload_day        date        NOT NULL,
    source             text        NOT NULL,
    tenant             text        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    first_at           timestamptz NOT NULL,
    PRIMARY KEY (receipt_id, recipe, fingerprint_key_id, fingerprint)
);

-- What an operator decided about a conflict. Apart, since accept inserts into conflicts.
CREATE TABLE conflict_resolutions (
    delivery_id uuid PRIMARY KEY,
    resolution  text        NOT NULL,
    reason      text        NOT NULL,
    actor       text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);

-- Authentic, but not an event that we know. Reserves no key.
CREATE TABLE rejected_deliveries (
    id                 uuid PRIMARY KEY,
    at                 timestamptz NOT NULL,
    source             text        NOT NULL,
    tenant             text,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    peer               text        NOT NULL,
    code               text        NOT NULL,
    field              text,
    data_key_id        bigint      NOT NULL,
    body               bytea       NOT NULL,
    headers            bytea       NOT NULL,   -- sealed; what the adapter reads beside the body
    expires_at         timestamptz NOT NULL,
    resubmitted_at     timestamptz,
    resubmitted_as     uuid
);
ALTER TABLE rejected_deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX rejected_deliveries_source ON rejected_deliveries (source, at DESC);
CREATE INDEX rejected_deliveries_expiry ON rejected_deliveries (expires_at);

-- Run-time switches: holds and consumer flags.
CREATE TABLE switches (
    id          uuid PRIMARY KEY,
    kind        text        NOT NULL,
    source      text,
    tenant      text,
    event_type  text,
    action      text,
    value       text,
    reason      text        NOT NULL,
    set_by      text        NOT NULL,
    set_at      timestamptz NOT NULL DEFAULT now(),
    released_by text,
    released_at timestamptz
);

CREATE TABLE operators (
    id         uuid PRIMARY KEY,
    name       text        NOT NULL UNIQUE,
    role       text        NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')),
    sources    text[]      NOT NULL,
    tenants    text[]      NOT NULL,
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz
);

CREATE TABLE operator_tokens (
    hash        bytea PRIMARY KEY,             -- SHA-256 of a 32-byte random token
    operator_id uuid        NOT NULL REFERENCES operators (id),
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz
);
CREATE INDEX operator_tokens_operator ON operator_tokens (operator_id);

-- Business schemas' migrations may depend on this: who may do what comes with roles.
REVOKE ALL ON SCHEMA oncehook FROM PUBLIC;

-- +goose Down
-- Migrations only move forward.
SELECT 1;
