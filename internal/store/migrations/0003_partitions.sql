-- serves-from: 1
-- +goose Up
-- Makes the partitions of p_days days from p_from on; those that exist stay as they are. A table is
-- made beside its parent and then attached: CREATE TABLE ... PARTITION OF would lock the parent
-- against every reader and writer. Without a partition for its day, a row is refused.
-- +goose StatementBegin
CREATE FUNCTION prepare_partitions_v1(p_from date, p_days integer) RETURNS integer
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
