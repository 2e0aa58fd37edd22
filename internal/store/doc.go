// Package store keeps everything in PostgreSQL and is the only opener of pools.
//
// Three roles have a type each, so that a process can do only what its role
// may: Ingress accepts deliveries, Work runs effects, Admin serves people.
// Migrate makes the schema they need. Opening never waits for PostgreSQL: a
// process without it still answers 401 and 503.
//
// It imports the root package, internal/keyring, pgx and goose, never Temporal.
package store
