-- serves-from: 1
-- +goose Up
-- Remote effects and durable waits.

-- Something was sent of whose outcome nobody knows: since first_sent_at, under a key that the
-- downstream remembers until key_expires_at.
ALTER TABLE actions ADD COLUMN unanswered boolean NOT NULL DEFAULT false;

-- Whoever waits for a business fact asks whether it has come about, under whatever action.
CREATE INDEX actions_settled ON actions (tenant, business_key) WHERE business_key IS NOT NULL AND state = 'done';

-- Signals are found beside any backlog of starts.
CREATE INDEX outbox_signals ON outbox (source, due_at, id) WHERE dispatched_at IS NULL AND kind = 'signal';

-- +goose Down
-- Migrations only move forward.
SELECT 1;
