-- serves-from: 1
-- +goose Up
-- What a rotation of keys must know: which processes can open what a new key seals, which still seal
-- with an old one, and since when nobody does. Times are the database's: they are compared with each
-- other across processes.

-- The keys of each process, as "kind:id", told every half minute.
CREATE TABLE key_reports (
    process   uuid        NOT NULL,
    role      text        NOT NULL,
    primaries text[]      NOT NULL,
    known     text[]      NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (process, role)
);

-- How long each key has been known, and until when it was used for what is new.
CREATE TABLE key_uses (
    key             text COLLATE "C" PRIMARY KEY,
    first_seen_at   timestamptz NOT NULL,
    last_primary_at timestamptz
) WITH (fillfactor = 70);

-- Tells a process's keys. Forgets processes that have been silent for a day.
-- +goose StatementBegin
CREATE FUNCTION report_keys_v1(p_process uuid, p_role text, p_primaries text[], p_known text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
BEGIN
    INSERT INTO key_reports AS r (process, role, primaries, known, at)
    VALUES (p_process, left(p_role, 64), p_primaries, p_known, now())
    ON CONFLICT (process, role) DO UPDATE
    SET primaries = excluded.primaries, known = excluded.known, at = excluded.at;
    DELETE FROM key_reports WHERE at < now() - interval '1 day';
    -- In one order everywhere, so that processes that report at once wait and never deadlock.
    INSERT INTO key_uses AS u (key, first_seen_at, last_primary_at)
    SELECT k.key, now(), CASE WHEN k.key = ANY (p_primaries) THEN now() END
    FROM unnest(p_known) AS k (key) ORDER BY k.key COLLATE "C"
    ON CONFLICT (key) DO UPDATE SET last_primary_at = excluded.last_primary_at
    WHERE excluded.last_primary_at IS NOT NULL;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION report_keys_v1(uuid, text, text[], text[]) FROM PUBLIC;

-- Finds the data keys that are still wrapped by another key than the primary.
CREATE INDEX tenant_keys_wrap ON tenant_keys (wrap_key_id, id);

-- +goose Down
-- Migrations only move forward.
SELECT 1;
