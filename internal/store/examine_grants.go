package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// GrantFacts compares what a login may do with what its role declares.
type GrantFacts struct {
	// Owner says that it owns tables of the schema, and may do everything with them.
	Owner bool
	// Missing and Surplus are privileges, such as "UPDATE (state) ON TABLE oncehook.receipts".
	Missing, Surplus []string
}

// listEffective lists what the login may do with the schema's objects, however it
// came to it.
const listEffective = `
SELECT 'SCHEMA', quote_ident(n.nspname), '', w
FROM pg_namespace n, unnest('{USAGE,CREATE}'::text[]) w
WHERE n.nspname = $1 AND has_schema_privilege(n.oid, w)
UNION ALL
SELECT 'TABLE', quote_ident(n.nspname) || '.' || quote_ident(c.relname), '', w
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) w
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND has_table_privilege(c.oid, w)
UNION ALL
SELECT 'TABLE', quote_ident(n.nspname) || '.' || quote_ident(c.relname), t.attname, w
FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace, unnest('{SELECT,INSERT,UPDATE}'::text[]) w
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND t.attnum > 0 AND NOT t.attisdropped
	AND has_column_privilege(c.oid, t.attnum, w)
UNION ALL
SELECT 'SEQUENCE', quote_ident(n.nspname) || '.' || quote_ident(c.relname), '', 'USAGE'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE') ELSE false END
UNION ALL
SELECT 'FUNCTION', quote_ident(n.nspname) || '.' || quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')', '', 'EXECUTE'
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = $1 AND p.prokind IN ('f', 'w') AND has_function_privilege(p.oid, 'EXECUTE')`

// Grants compares what this login may do with what the role declares, on the schema
// oncehook and, of a business schema, what is missing.
func (e *Examination) Grants(ctx context.Context, role DatabaseRole, business []string) (GrantFacts, error) {
	var f GrantFacts
	err := e.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('oncehook') AND pg_has_role(current_user, relowner, 'USAGE'))`).Scan(&f.Owner)
	if err != nil {
		return GrantFacts{}, fmt.Errorf("ask who owns the tables: %w", brief(err))
	}
	for _, schema := range append([]string{ownSchema}, business...) {
		missing, surplus, err := e.grantsIn(ctx, role, schema)
		if err != nil {
			return GrantFacts{}, fmt.Errorf("compare the privileges in schema %s: %w", schema, brief(err))
		}
		f.Missing = append(f.Missing, missing.list()...)
		if schema == ownSchema {
			f.Surplus = surplus.list()
		}
	}
	return f, nil
}

func (e *Examination) grantsIn(ctx context.Context, role DatabaseRole, schema string) (missing, surplus privileges, err error) {
	objects, err := readObjects(ctx, e.pool, schema)
	if err != nil {
		return nil, nil, err
	}
	want, err := wanted(role, schema, objects)
	if err != nil {
		return nil, nil, err
	}
	rows, err := e.pool.Query(ctx, listEffective, schema)
	if err != nil {
		return nil, nil, err
	}
	may := privileges{}
	var p privilege
	if _, err := pgx.ForEachRow(rows, []any{&p.kind, &p.ref, &p.column, &p.word}, func() error {
		may[p] = true
		return nil
	}); err != nil {
		return nil, nil, err
	}
	missing, surplus = privileges{}, privileges{}
	for p := range want {
		if !may[p] && !may[p.whole()] {
			missing[p] = true
		}
	}
	for p := range may {
		if !want[p] && !want[p.whole()] && p.kind != kindSequence {
			surplus[p] = true
		}
	}
	return missing, surplus, nil
}

// list writes the privileges for people, one line for each object.
func (p privileges) list() []string {
	lines := p.statements("", "", "")
	for n := range lines {
		lines[n] = strings.TrimSpace(lines[n])
	}
	slices.Sort(lines)
	return lines
}
