-- serves-from: 1
-- +goose Up
-- What the reconciler looks for and remembers, and what outlives an outbox row.

-- Receipts that are not at their end, the longest unchanged first. They are two, since in an outage
-- of Temporal the received ones pile up; accept inserts into the first alone.
CREATE INDEX receipts_undispatched ON receipts (changed_at, id) WHERE state = 'received';
CREATE INDEX receipts_running ON receipts (changed_at, id) WHERE state IN ('queued', 'processing');
-- Attempts that may be a dead run's.
CREATE INDEX actions_running ON actions (receipt_id) WHERE state = 'running';
-- Rows that may be deleted.
CREATE INDEX outbox_dispatched ON outbox (dispatched_at) WHERE dispatched_at IS NOT NULL;

-- How often the reconciler opened the row again because its run was lost.
ALTER TABLE outbox ADD COLUMN reopened integer NOT NULL DEFAULT 0;
-- Temporal's id of the latest run whose outbox row is deleted.
ALTER TABLE receipts ADD COLUMN run_id text;

-- One sweep at a time: whoever holds the lease. The cursors are where the next one goes on.
CREATE TABLE reconciler (
    only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    holder            uuid,
    lease_until       timestamptz,
    swept_at          timestamptz,             -- the end of the last whole sweep, by the database's clock
    undispatched_at   timestamptz NOT NULL DEFAULT '-infinity',
    undispatched_id   uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    running_at        timestamptz NOT NULL DEFAULT '-infinity',
    running_id        uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO reconciler DEFAULT VALUES;

-- Finds a conflict by its payload.
CREATE INDEX conflicts_delivery ON conflicts (delivery_id);

-- +goose Down
-- Migrations only move forward.
SELECT 1;
