-- serves-from: 1
-- +goose Up
-- What a process must know before it works with this schema: the applied versions, and the check
-- value of the installation's identity key, NULL before there is one. Roles ask here, since they
-- may not read the tables.
-- +goose StatementBegin
CREATE FUNCTION schema_v1() RETURNS TABLE (version bigint, checksum text, serves_from bigint, identity_check bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
    SELECT v.version, v.checksum, v.serves_from, i.identity_check
    FROM schema_versions v LEFT JOIN installation i ON true
    WHERE v.version > 0
    ORDER BY v.version
$$;
-- +goose StatementEnd

-- PostgreSQL lets everybody call a new function, and these run with their owner's rights. From here
-- on a role can call what it was granted, and a later migration revokes what it adds. Triggers ask
-- for no privilege when they fire.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA oncehook FROM PUBLIC;

-- +goose Down
-- Migrations only move forward.
SELECT 1;
