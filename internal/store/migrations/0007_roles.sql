-- serves-from: 1
-- +goose Up
-- How the names of this installation's database roles begin: migrate gives the roles of that prefix
-- what they need. NULL: it has no roles of its own.
ALTER TABLE installation ADD COLUMN role_prefix text;

-- +goose Down
-- Migrations only move forward.
SELECT 1;
