-- serves-from: 1
-- +goose Up
-- Which invoices are settled. The tenant is part of the key, so that no id reaches another
-- tenant's row. Amounts are whole minor units of their currency.
CREATE TABLE invoices (
    tenant             text COLLATE "C" NOT NULL,
    invoice_id         text COLLATE "C" NOT NULL,
    state              text        NOT NULL CHECK (state = 'settled'),
    customer_id        text,                    -- NULL: the invoice names none
    amount_paid        bigint      NOT NULL CHECK (amount_paid >= 0),
    currency           text        NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    decimals           smallint    NOT NULL CHECK (decimals BETWEEN 0 AND 4),
    livemode           boolean     NOT NULL,    -- false: the provider's test mode, no real money
    -- The observation that last changed the row; an older one is refused.
    occurred_at        timestamptz,             -- NULL: it had no time of its own
    received_at        timestamptz NOT NULL,
    event_key          text COLLATE "C" NOT NULL,
    receipt_id         uuid        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    idempotency_key    text COLLATE "C" NOT NULL,
    version            bigint      NOT NULL DEFAULT 1,
    changed_at         timestamptz NOT NULL,
    PRIMARY KEY (tenant, invoice_id)
);
CREATE INDEX invoices_receipt ON invoices (receipt_id);

-- One accounting entry per invoice, with the event that caused it.
CREATE TABLE entries (
    tenant             text COLLATE "C" NOT NULL,
    invoice_id         text COLLATE "C" NOT NULL,
    invoice_version    bigint      NOT NULL,
    currency           text        NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    decimals           smallint    NOT NULL CHECK (decimals BETWEEN 0 AND 4),
    livemode           boolean     NOT NULL,
    event_key          text COLLATE "C" NOT NULL,
    receipt_id         uuid        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    idempotency_key    text COLLATE "C" NOT NULL UNIQUE,
    posted_at          timestamptz NOT NULL,
    PRIMARY KEY (tenant, invoice_id)
);
CREATE INDEX entries_receipt ON entries (receipt_id);

CREATE TABLE entry_lines (
    tenant     text COLLATE "C" NOT NULL,
    invoice_id text COLLATE "C" NOT NULL,
    line       smallint NOT NULL,
    account    text     NOT NULL,
    side       text     NOT NULL CHECK (side IN ('debit', 'credit')),
    amount     bigint   NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tenant, invoice_id, line),
    FOREIGN KEY (tenant, invoice_id) REFERENCES entries
);

-- Who caused what, by which event and under which credential.
CREATE TABLE audit (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at                 timestamptz NOT NULL,
    action             text        NOT NULL,
    tenant             text COLLATE "C" NOT NULL,
    invoice_id         text COLLATE "C" NOT NULL,
    version            bigint      NOT NULL,
    event_key          text COLLATE "C" NOT NULL,
    receipt_id         uuid        NOT NULL,
    principal          text        NOT NULL,
    credential_version text        NOT NULL,
    idempotency_key    text COLLATE "C" NOT NULL
);
CREATE INDEX audit_invoice ON audit (tenant, invoice_id);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'rows of %.% are added, never changed or removed', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION refuse_change() FROM PUBLIC;
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entry_lines FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The lines of an entry are written by one statement, after which they must balance.
-- +goose StatementBegin
CREATE FUNCTION refuse_imbalance() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM billing.entry_lines l
        WHERE (l.tenant, l.invoice_id) IN (SELECT n.tenant, n.invoice_id FROM added n)
        GROUP BY l.tenant, l.invoice_id
        HAVING sum(CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END) <> 0
    ) THEN
        RAISE EXCEPTION 'the debits and credits of an entry differ' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION refuse_imbalance() FROM PUBLIC;
CREATE TRIGGER balanced AFTER INSERT ON entry_lines REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_imbalance();

-- +goose Down
-- Migrations only move forward.
SELECT 1;
