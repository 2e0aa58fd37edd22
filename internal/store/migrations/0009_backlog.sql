-- serves-from: 1
-- What operators' gauges count at every scrape: small indexes over what should be rare. They are made
-- beside running writers; a build that was broken off is thrown away first.
-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS oncehook.receipts_dead_letters;
CREATE INDEX CONCURRENTLY receipts_dead_letters ON oncehook.receipts (source) WHERE state = 'dead_lettered';
DROP INDEX CONCURRENTLY IF EXISTS oncehook.actions_uncertain;
CREATE INDEX CONCURRENTLY actions_uncertain ON oncehook.actions (name) WHERE state = 'uncertain';

-- +goose Down
-- Migrations only move forward.
SELECT 1;
