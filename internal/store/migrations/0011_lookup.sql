-- serves-from: 1
-- What an operator looks up by the correlation id of an answer. Accept pays one index entry per event: event_keys
-- is insert-only, while each transition of a receipt would write one into every index of receipts. New
-- correlation ids rise with time, so the entries go to the index's end.
-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS oncehook.event_keys_correlation;
CREATE INDEX CONCURRENTLY event_keys_correlation ON oncehook.event_keys (correlation_id);
-- The list of all sources' rejected deliveries.
DROP INDEX CONCURRENTLY IF EXISTS oncehook.rejected_deliveries_at;
CREATE INDEX CONCURRENTLY rejected_deliveries_at ON oncehook.rejected_deliveries (at DESC, id DESC);

-- +goose Down
-- Migrations only move forward.
SELECT 1;
