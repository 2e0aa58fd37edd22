package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// DatabaseRole is what a process is towards PostgreSQL. The role's name there is
// the installation's prefix and this word.
type DatabaseRole string

// The roles of processes.
const (
	DatabaseIngress DatabaseRole = "ingress"
	DatabaseWork    DatabaseRole = "work"
	DatabaseAdmin   DatabaseRole = "admin"
)

// DatabaseRoles lists the roles.
func DatabaseRoles() []DatabaseRole {
	return []DatabaseRole{DatabaseIngress, DatabaseWork, DatabaseAdmin}
}

// The kinds of objects that privileges are about, in the words of GRANT.
const (
	kindSchema   = "SCHEMA"
	kindTable    = "TABLE"
	kindSequence = "SEQUENCE"
	kindFunction = "FUNCTION"
)

// schemaObject is a schema or something in it.
type schemaObject struct {
	kind string
	name string
	// ref is how SQL names it.
	ref string
	// part says that it is a partition: access goes through its parent.
	part bool
}

// privilege is one right on one object, or on one of its columns.
type privilege struct {
	kind, ref, column, word string
}

// whole is the same right on the whole object.
func (p privilege) whole() privilege {
	p.column = ""
	return p
}

type privileges map[privilege]bool

// grantForm is "SELECT" or "UPDATE (a, b)".
var grantForm = regexp.MustCompile(`^([A-Z]+)(?: \(([a-z0-9_, ]+)\))?$`)

func (p privileges) add(o schemaObject, grants []string) error {
	for _, grant := range grants {
		m := grantForm.FindStringSubmatch(grant)
		if m == nil {
			return fmt.Errorf("%q is not a privilege", grant)
		}
		for _, column := range strings.Split(m[2], ",") {
			p[privilege{o.kind, o.ref, strings.TrimSpace(column), m[1]}] = true
		}
	}
	return nil
}

// wanted is what the role is to have on the schema's objects.
func wanted(role DatabaseRole, schema string, objects []schemaObject) (privileges, error) {
	want := privileges{}
	for _, o := range objects {
		if o.part {
			continue
		}
		var grants []string
		switch {
		case schema != ownSchema && role == DatabaseWork:
			grants = businessGrants(o)
		case schema != ownSchema:
		case o.kind == kindSchema:
			grants = []string{"USAGE"}
		case o.kind == kindTable:
			grants = grantsOf(tableGrants(), o.name, role)
		case o.kind == kindFunction:
			grants = grantsOf(functionGrants(), o.name, role)
		}
		if err := want.add(o, grants); err != nil {
			return nil, err
		}
	}
	return want, nil
}

func grantsOf(table []objectGrants, name string, role DatabaseRole) []string {
	for _, g := range table {
		if g.name == name {
			return g.to(role)
		}
	}
	return nil
}

// difference returns what to take back, and then what to give, so that held
// becomes want. Taking a right on a whole table takes that on its columns too.
func difference(want, held privileges) (surplus, missing privileges) {
	surplus, missing = privileges{}, maps.Clone(want)
	for p := range held {
		if !want[p] {
			surplus[p] = true
		}
	}
	for p := range held {
		if want[p] && (p.column == "" || !surplus[p.whole()]) {
			delete(missing, p)
		}
	}
	return surplus, missing
}

// statements writes the privileges as SQL, one statement for each object.
func (p privileges) statements(verb, preposition, role string) []string {
	type target struct{ kind, ref string }
	words := map[target][]string{}
	for _, one := range slices.SortedFunc(maps.Keys(p), comparePrivileges) {
		at := target{one.kind, one.ref}
		switch {
		case one.column == "":
			words[at] = append(words[at], one.word)
		case !p[one.whole()]:
			words[at] = appendColumn(words[at], one.word, pgx.Identifier{one.column}.Sanitize())
		}
	}
	list := make([]string, 0, len(words))
	for at, what := range words {
		list = append(list, fmt.Sprintf("%s %s ON %s %s %s %s", verb, strings.Join(what, ", "), at.kind, at.ref, preposition, role))
	}
	slices.Sort(list)
	return list
}

func comparePrivileges(a, b privilege) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.ref, b.ref), cmp.Compare(a.word, b.word), cmp.Compare(a.column, b.column))
}

// appendColumn adds a column to the last word, if that is its own, else begins one.
func appendColumn(words []string, word, column string) []string {
	if n := len(words) - 1; n >= 0 && strings.HasPrefix(words[n], word+" (") {
		words[n] = strings.TrimSuffix(words[n], ")") + ", " + column + ")"
		return words
	}
	return append(words, word+" ("+column+")")
}

// listObjects lists the schema and its tables, views, sequences and functions.
const listObjects = `
SELECT 'SCHEMA', n.nspname, quote_ident(n.nspname), false FROM pg_namespace n WHERE n.nspname = $1
UNION ALL
SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.relname, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relispartition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
UNION ALL
SELECT 'FUNCTION', p.proname, quote_ident(n.nspname) || '.' || quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')', false
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = $1 AND p.prokind IN ('f', 'w')`

func readObjects(ctx context.Context, q querier, schema string) ([]schemaObject, error) {
	rows, err := q.Query(ctx, listObjects, schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (o schemaObject, err error) {
		err = row.Scan(&o.kind, &o.name, &o.ref, &o.part)
		return o, err
	})
}

// listHeld lists what was granted to the role itself on the schema's objects.
const listHeld = `
SELECT 'SCHEMA', quote_ident(n.nspname), '', a.privilege_type
FROM pg_namespace n, aclexplode(n.nspacl) a
WHERE n.nspname = $1 AND a.grantee = to_regrole($2)
UNION ALL
SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, quote_ident(n.nspname) || '.' || quote_ident(c.relname), '', a.privilege_type
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND a.grantee = to_regrole($2)
UNION ALL
SELECT 'TABLE', quote_ident(n.nspname) || '.' || quote_ident(c.relname), t.attname, a.privilege_type
FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(t.attacl) a
WHERE n.nspname = $1 AND NOT t.attisdropped AND a.grantee = to_regrole($2)
UNION ALL
SELECT 'FUNCTION', quote_ident(n.nspname) || '.' || quote_ident(p.proname) || '(' || pg_get_function_identity_arguments(p.oid) || ')', '', a.privilege_type
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(p.proacl) a
WHERE n.nspname = $1 AND p.prokind IN ('f', 'w') AND a.grantee = to_regrole($2)`

// readHeld returns nothing for a role that does not exist.
func readHeld(ctx context.Context, q querier, schema, role string) (privileges, error) {
	rows, err := q.Query(ctx, listHeld, schema, role)
	if err != nil {
		return nil, err
	}
	held := privileges{}
	var p privilege
	_, err = pgx.ForEachRow(rows, []any{&p.kind, &p.ref, &p.column, &p.word}, func() error {
		held[p] = true
		return nil
	})
	return held, err
}

// planGrants returns the statements after which the role has what it needs in the
// schema and nothing else.
func planGrants(ctx context.Context, q querier, schema string, role DatabaseRole, name string) ([]string, error) {
	objects, err := readObjects(ctx, q, schema)
	if err != nil {
		return nil, fmt.Errorf("list what is in schema %s: %w", schema, err)
	}
	want, err := wanted(role, schema, objects)
	if err != nil {
		return nil, err
	}
	quoted := pgx.Identifier{name}.Sanitize()
	held, err := readHeld(ctx, q, schema, quoted)
	if err != nil {
		return nil, fmt.Errorf("read the privileges of %s: %w", name, err)
	}
	surplus, missing := difference(want, held)
	return append(surplus.statements("REVOKE", "FROM", quoted), missing.statements("GRANT", "TO", quoted)...), nil
}
