-- serves-from: 1
-- +goose Up
-- What the ingress may do, as functions: its role needs EXECUTE and nothing else. A changed
-- signature becomes a new function beside the old one, so that old and new binaries run together.

-- Records deliveries: parallel arrays with one element per delivery, one call, one transaction.
-- The candidates' older fingerprints are parallel arrays of their own; p_alt_ord says whose each is.
-- Of one receipt, p_conflict_cap differing contents are kept; more only by calls that run at once.
-- Row locks are taken in one order everywhere: keys by key, then conflicts, counts by receipt id.
-- The planner settings are pinned: a plan made while a table was young would scan it for ever.
-- +goose StatementBegin
CREATE FUNCTION accept_v1(
    p_now timestamptz, p_conflict_cap bigint,
    p_key text[], p_id uuid[], p_correlation uuid[],
    p_recipe text[], p_fingerprint_key bigint[], p_fingerprint bytea[],
    p_alt_ord integer[], p_alt_recipe text[], p_alt_fingerprint_key bigint[], p_alt_fingerprint bytea[],
    p_source text[], p_tenant text[], p_event_id text[], p_type text[], p_subject text[],
    p_occurred_at timestamptz[], p_sequence text[], p_workflow text[], p_traceparent text[],
    p_class smallint[], p_data_key bigint[], p_body bytea[],
    p_principal text[], p_credential text[], p_peer text[], p_flags text[]
) RETURNS TABLE (ord bigint, outcome text, receipt_id uuid, correlation_id uuid, unchecked boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = oncehook, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_day      date := (p_now AT TIME ZONE 'UTC')::date;
    v_answered bigint;
BEGIN
    -- Waits here for a first copy that is not yet committed elsewhere.
    INSERT INTO event_keys (key, receipt_id, correlation_id, recipe, fingerprint_key_id, fingerprint)
    SELECT c.key, c.id, c.correlation, c.recipe, c.fingerprint_key, c.fingerprint
    FROM unnest(p_key, p_id, p_correlation, p_recipe, p_fingerprint_key, p_fingerprint) WITH ORDINALITY
         AS c (key, id, correlation, recipe, fingerprint_key, fingerprint, ord)
    ORDER BY c.key COLLATE "C", c.ord
    ON CONFLICT DO NOTHING;

    -- A statement of its own has a new snapshot, which sees whoever won.
    RETURN QUERY
    WITH found AS (
        SELECT c.*, k.receipt_id, k.correlation_id,
               k.recipe AS stored_recipe, k.fingerprint_key_id AS stored_key, k.fingerprint AS stored,
               CASE WHEN k.recipe = c.recipe AND k.fingerprint_key_id = c.fingerprint_key THEN c.fingerprint
                    ELSE (SELECT a.fingerprint
                          FROM unnest(p_alt_ord, p_alt_recipe, p_alt_fingerprint_key, p_alt_fingerprint)
                               AS a (ord, recipe, fingerprint_key, fingerprint)
                          WHERE a.ord = c.ord AND a.recipe = k.recipe AND a.fingerprint_key = k.fingerprint_key_id
                          LIMIT 1)
               END AS compared              -- NULL: nothing to compare the stored one with
        FROM unnest(p_key, p_id, p_recipe, p_fingerprint_key, p_fingerprint, p_source, p_tenant, p_event_id,
                    p_type, p_subject, p_occurred_at, p_sequence, p_workflow, p_traceparent, p_class,
                    p_data_key, p_body, p_principal, p_credential, p_peer, p_flags) WITH ORDINALITY
             AS c (key, id, recipe, fingerprint_key, fingerprint, source, tenant, event_id,
                   type, subject, occurred_at, sequence, workflow, traceparent, class,
                   data_key, body, principal, credential, peer, flags, ord)
        JOIN event_keys k ON k.key = c.key
        OFFSET 0                            -- keeps "compared" from being computed once per use
    ), decided AS MATERIALIZED (
        SELECT f.*,
               CASE WHEN f.receipt_id = f.id       THEN 'accepted'
                    WHEN f.compared IS NULL        THEN 'duplicate'
                    WHEN f.compared = f.stored     THEN 'duplicate'
                    ELSE 'conflict' END AS outcome,
               f.receipt_id <> f.id AND f.compared IS NULL AS unchecked
        FROM found f
    ), new_receipts AS (
        INSERT INTO receipts (id, key, correlation_id, source, tenant, event_id, event_type, subject, occurred_at,
                              sequence, workflow, retention_class, payload_day, state, cause, version, received_at, changed_at)
        SELECT id, key, correlation_id, source, tenant, event_id, type, nullif(subject, ''), occurred_at,
               nullif(sequence, ''), nullif(workflow, ''), class, v_day,
               CASE workflow WHEN '' THEN 'ignored' ELSE 'received' END,
               CASE workflow WHEN '' THEN 'no_workflow' ELSE 'accept' END,
               CASE workflow WHEN '' THEN 2 ELSE 1 END, p_now, p_now
        FROM decided WHERE outcome = 'accepted'
    ), new_history AS (
        INSERT INTO receipt_history (receipt_id, version, from_state, to_state, run_no, cause, actor, at)
        SELECT id, 1, NULL, 'received', 1, 'accept', principal, p_now FROM decided WHERE outcome = 'accepted'
        UNION ALL
        SELECT id, 2, 'received', 'ignored', 1, 'no_workflow', 'oncehook', p_now
        FROM decided WHERE outcome = 'accepted' AND workflow = ''
    ), new_outbox AS (
        INSERT INTO outbox (receipt_id, source, tenant, workflow, traceparent)
        SELECT id, source, tenant, workflow, nullif(traceparent, '')
        FROM decided WHERE outcome = 'accepted' AND workflow <> '' ORDER BY ord
    ), crowded AS MATERIALIZED (
        -- Conflicting copies whose content is not kept yet and finds no room any more.
        SELECT c.ord
        FROM (
            SELECT d.ord, h.held, h.known,
                   dense_rank() OVER (PARTITION BY d.receipt_id, h.known ORDER BY d.compared) AS nth
            FROM decided d
            CROSS JOIN LATERAL (
                SELECT count(*) AS held,
                       coalesce(bool_or(x.recipe = d.stored_recipe AND x.fingerprint_key_id = d.stored_key
                                        AND x.fingerprint = d.compared), false) AS known
                FROM conflicts x WHERE x.receipt_id = d.receipt_id
            ) h
            WHERE d.outcome = 'conflict'
        ) c
        WHERE NOT c.known AND c.held + c.nth > p_conflict_cap
    ), new_conflicts AS (
        -- Of two equal conflicting copies at once, the second waits for the first and then adds nothing.
        INSERT INTO conflicts (receipt_id, recipe, fingerprint_key_id, fingerprint, delivery_id, retention_class,
                               payload_day, source, tenant, principal, credential_version, first_at)
        SELECT receipt_id, stored_recipe, stored_key, compared, id, class, v_day, source, tenant, principal, credential, p_now
        FROM decided WHERE outcome = 'conflict' AND ord NOT IN (SELECT ord FROM crowded)
        ORDER BY receipt_id, compared, ord
        ON CONFLICT DO NOTHING
        RETURNING delivery_id
    ), new_payloads AS (
        INSERT INTO payloads (delivery_id, retention_class, day, data_key_id, body)
        SELECT id, class, v_day, data_key, body FROM decided
        WHERE outcome = 'accepted' OR (outcome = 'conflict' AND id IN (SELECT delivery_id FROM new_conflicts))
    ), new_audit AS (
        INSERT INTO audit (at, kind, outcome, receipt_id, delivery_id, source, tenant, principal, credential_version,
                           peer, flags, recipe, fingerprint_key_id, fingerprint, correlation_id)
        SELECT p_now, 'delivery', outcome, receipt_id, id, source, tenant, principal, credential, peer,
               nullif(string_to_array(nullif(flags, ''), ',') || CASE WHEN unchecked THEN '{unchecked}'::text[] END
                                                                         || CASE WHEN ord IN (SELECT ord FROM crowded) THEN '{not_kept}'::text[] END, '{}'),
               CASE WHEN outcome = 'conflict' THEN stored_recipe WHEN unchecked THEN recipe END,
               CASE WHEN outcome = 'conflict' THEN stored_key WHEN unchecked THEN fingerprint_key END,
               CASE WHEN outcome = 'conflict' THEN compared WHEN unchecked THEN fingerprint END,
               correlation_id
        FROM decided ORDER BY ord
    ), new_counts AS (
        INSERT INTO delivery_counts AS n (receipt_id, duplicates, conflicts, last_at)
        SELECT receipt_id, count(*) FILTER (WHERE outcome = 'duplicate'), count(*) FILTER (WHERE outcome = 'conflict'), p_now
        FROM decided WHERE outcome <> 'accepted'
        GROUP BY receipt_id ORDER BY receipt_id
        ON CONFLICT (receipt_id) DO UPDATE
        SET duplicates = n.duplicates + excluded.duplicates,
            conflicts  = n.conflicts + excluded.conflicts,
            last_at    = greatest(n.last_at, excluded.last_at)
    )
    SELECT d.ord, d.outcome, d.receipt_id, d.correlation_id, d.unchecked FROM decided d;

    -- A key that was deleted between the two statements: nothing stands, and the caller tries again.
    GET DIAGNOSTICS v_answered = ROW_COUNT;
    IF v_answered <> cardinality(p_key) THEN
        RAISE EXCEPTION 'an event key vanished' USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
-- +goose StatementEnd

-- Whether each delivery's own id owns its key. Asked on a new connection after an unknown outcome:
-- yes proves the commit, no proves nothing.
-- +goose StatementBegin
CREATE FUNCTION own_keys_v1(p_key text[], p_id uuid[]) RETURNS TABLE (ord bigint, own boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = oncehook, pg_temp SET enable_seqscan = off
AS $$
    SELECT c.ord, EXISTS (SELECT FROM event_keys k WHERE k.key = c.key AND k.receipt_id = c.id)
    FROM unnest(p_key, p_id) WITH ORDINALITY AS c (key, id, ord)
$$;
-- +goose StatementEnd

-- Those of the keys that exist.
-- +goose StatementBegin
CREATE FUNCTION known_keys_v1(p_key text[]) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = oncehook, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
    SELECT k.key FROM unnest(p_key) AS c (key) JOIN event_keys k ON k.key = c.key
$$;
-- +goose StatementEnd

-- The tenant's live data key, if it has one.
-- +goose StatementBegin
CREATE FUNCTION tenant_key_v1(p_tenant text) RETURNS TABLE (id bigint, tenant text, wrap_key_id bigint, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
    SELECT k.id, k.tenant, k.wrap_key_id, k.wrapped FROM tenant_keys k
    WHERE k.tenant = p_tenant AND k.retired_at IS NULL
    ORDER BY k.generation DESC LIMIT 1
$$;
-- +goose StatementEnd

-- Offers a data key to a tenant that has none, and returns the one that is kept. Processes that
-- offer at the same time all get the same one.
-- +goose StatementBegin
CREATE FUNCTION offer_tenant_key_v1(p_tenant text, p_wrap_key_id bigint, p_wrapped bytea)
RETURNS TABLE (id bigint, tenant text, wrap_key_id bigint, wrapped bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO tenant_keys (tenant, generation, wrap_key_id, wrapped)
    SELECT p_tenant, coalesce(max(k.generation), 0) + 1, p_wrap_key_id, p_wrapped
    FROM tenant_keys k WHERE k.tenant = p_tenant
    HAVING bool_and(k.retired_at IS NOT NULL) IS NOT FALSE
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT k.* FROM tenant_key_v1(p_tenant) k;
END $$;
-- +goose StatementEnd

-- A data key by its id, live or retired, to open what it sealed.
-- +goose StatementBegin
CREATE FUNCTION data_key_v1(p_id bigint) RETURNS TABLE (id bigint, tenant text, wrap_key_id bigint, wrapped bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
    SELECT k.id, k.tenant, k.wrap_key_id, k.wrapped FROM tenant_keys k WHERE k.id = p_id
$$;
-- +goose StatementEnd

-- Keeps a rejected delivery, unless the source has p_cap of them already, and audits it in any
-- case. Returns whether it was kept.
-- +goose StatementBegin
CREATE FUNCTION reject_v1(
    p_now timestamptz, p_expires timestamptz, p_cap bigint,
    p_id uuid, p_source text, p_tenant text, p_principal text, p_credential text, p_peer text,
    p_code text, p_field text, p_data_key bigint, p_body bytea, p_headers bytea
) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp SET enable_seqscan = off
AS $$
DECLARE
    v_kept boolean := (SELECT count(*) FROM (SELECT FROM rejected_deliveries r WHERE r.source = p_source LIMIT p_cap) c) < p_cap;
BEGIN
    IF v_kept THEN
        INSERT INTO rejected_deliveries (id, at, source, tenant, principal, credential_version, peer, code, field,
                                         data_key_id, body, headers, expires_at)
        VALUES (p_id, p_now, p_source, nullif(p_tenant, ''), p_principal, p_credential, p_peer, p_code, nullif(p_field, ''),
                p_data_key, p_body, p_headers, p_expires);
    END IF;
    INSERT INTO audit (at, kind, outcome, delivery_id, source, tenant, principal, credential_version, peer, cause, flags)
    VALUES (p_now, 'delivery', 'rejected', p_id, p_source, nullif(p_tenant, ''), p_principal, p_credential, p_peer, p_code,
            CASE WHEN NOT v_kept THEN '{not_kept}'::text[] END);
    RETURN v_kept;
END $$;
-- +goose StatementEnd

-- Audits a decision about an authenticated delivery of which nothing else is kept.
-- +goose StatementBegin
CREATE FUNCTION record_v1(
    p_now timestamptz, p_outcome text, p_source text, p_tenant text, p_principal text, p_credential text,
    p_peer text, p_cause text, p_correlation uuid
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
    INSERT INTO audit (at, kind, outcome, source, tenant, principal, credential_version, peer, cause, correlation_id)
    VALUES (p_now, 'delivery', p_outcome, p_source, nullif(p_tenant, ''), p_principal, p_credential, p_peer,
            nullif(p_cause, ''), p_correlation)
$$;
-- +goose StatementEnd

-- Adds rows of summed refusals; rows of the same minute add up.
-- +goose StatementBegin
CREATE FUNCTION count_v1(
    p_process uuid, p_minute timestamptz[], p_source text[], p_outcome text[], p_cause text[], p_block text[],
    p_count bigint[], p_first timestamptz[], p_last timestamptz[]
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
    INSERT INTO audit_sums (minute, process, source, outcome, cause, address_block, count, first_at, last_at)
    SELECT c.minute, p_process, c.source, c.outcome, c.cause, c.block, c.count, c.first_at, c.last_at
    FROM unnest(p_minute, p_source, p_outcome, p_cause, p_block, p_count, p_first, p_last)
         AS c (minute, source, outcome, cause, block, count, first_at, last_at)
$$;
-- +goose StatementEnd

-- Evidence is never changed, by whichever role: its end is the drop of a whole partition.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_insert_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_sums_insert_only BEFORE UPDATE OR DELETE ON audit_sums FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_sums_no_truncate BEFORE TRUNCATE ON audit_sums FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
-- Migrations only move forward.
SELECT 1;
