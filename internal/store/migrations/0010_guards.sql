-- serves-from: 1
-- +goose Up
-- What a role that was taken over must not do with the rights that it has.

-- Evidence is written by whoever may have done what it tells: of deliveries by the ingress's functions,
-- which are their owner's, of operators by the admin's process, of effects and the system by the work's.
-- The owner of the tables is not held to it, as one that plays every role may not be.
ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_read ON audit FOR SELECT USING (true);
-- The trigger refuses these, and says so.
CREATE POLICY audit_update ON audit FOR UPDATE USING (true);
CREATE POLICY audit_delete ON audit FOR DELETE USING (true);
CREATE POLICY audit_write ON audit FOR INSERT WITH CHECK (
    CASE kind
        WHEN 'operator' THEN has_column_privilege('operators'::regclass, 'role', 'UPDATE')
        WHEN 'action'   THEN has_column_privilege('receipts'::regclass, 'state', 'UPDATE')
        WHEN 'system'   THEN has_column_privilege('receipts'::regclass, 'state', 'UPDATE')
        ELSE false
    END
);

-- The arrows of the state machine mean PostgreSQL's own operators, whatever the writer's search_path says.
ALTER FUNCTION check_receipt_transition() SET search_path = pg_catalog, pg_temp;

-- As before, but for days near the database's own only. Partitions are known by their names: those of a day
-- before Christ would stand where this era's belong, and without those every delivery is refused.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION prepare_partitions_v1(p_from date, p_days integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = oncehook, pg_temp
AS $$
DECLARE
    v_made  integer := 0;
    v_day   date;
    v_class smallint;
    v_parent text;
    v_leaf   text;
BEGIN
    IF p_days NOT BETWEEN 0 AND 400 THEN
        RAISE EXCEPTION 'a number of days from 0 to 400' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_from NOT BETWEEN current_date - 800 AND current_date + 800 THEN
        RAISE EXCEPTION 'a day within 800 of the database''s' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Of processes that prepare at the same time, one makes and the others find.
    PERFORM pg_advisory_xact_lock(hashtextextended('oncehook.prepare_partitions', 0));
    FOR v_class IN 1..3 LOOP
        v_parent := format('payloads_c%s', v_class);
        IF to_regclass(v_parent) IS NULL THEN
            EXECUTE format('CREATE TABLE %I (LIKE payloads INCLUDING STORAGE) PARTITION BY RANGE (day)', v_parent);
            EXECUTE format('ALTER TABLE payloads ATTACH PARTITION %I FOR VALUES IN (%s)', v_parent, v_class);
        END IF;
    END LOOP;
    FOR v_day IN SELECT p_from + n FROM generate_series(0, p_days - 1) n LOOP
        FOR v_class IN 1..3 LOOP
            v_parent := format('payloads_c%s', v_class);
            v_leaf := format('%s_%s', v_parent, to_char(v_day, 'YYYYMMDD'));
            IF to_regclass(v_leaf) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE payloads INCLUDING STORAGE)', v_leaf);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                               v_parent, v_leaf, v_day, v_day + 1);
                v_made := v_made + 1;
            END IF;
        END LOOP;
        FOREACH v_parent IN ARRAY ARRAY['audit', 'audit_sums'] LOOP
            v_leaf := format('%s_%s', v_parent, to_char(v_day, 'YYYYMMDD'));
            IF to_regclass(v_leaf) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS)', v_leaf, v_parent);
                -- The parent's row trigger comes with the attachment, this one does not.
                EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                               v_parent || '_no_truncate', v_leaf);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_parent, v_leaf,
                               v_day::timestamp AT TIME ZONE 'UTC', (v_day + 1)::timestamp AT TIME ZONE 'UTC');
                v_made := v_made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN v_made;
END $$;
-- +goose StatementEnd

-- +goose Down
-- Migrations only move forward.
SELECT 1;
