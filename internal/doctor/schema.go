package doctor

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

const migrateUp = "run oncehook migrate up"

// BusinessSchema is a schema of effects' own tables.
type BusinessSchema struct {
	Name       string
	Migrations fs.FS
}

// Schema examines, as one login, whether this binary can work with the schema, and
// as the owner also the business schemas. identity is nil where the identity key
// could not be loaded.
func Schema(l Login, identity *oncehook.Identity, business []BusinessSchema) Check {
	return Check{"schema", func(ctx context.Context, r *Report) {
		if l.Options.URL == "" {
			return
		}
		e, ok := l.connect(ctx, r)
		if !ok {
			return
		}
		defer e.Close()
		if exists, err := e.SchemaExists(ctx); err == nil && !exists {
			r.Block(migrateUp, "%s: the schema is missing", l.Role)
			return
		}
		schemaAs(ctx, l, e, identity, r)
		for _, b := range business {
			businessSchema(ctx, e, b, r)
		}
	}}
}

func schemaAs(ctx context.Context, l Login, e *store.Examination, identity *oncehook.Identity, r *Report) {
	err := e.Schema(ctx, identity)
	var unusable *store.SchemaError
	switch {
	case err == nil:
		r.OK("%s: the schema is this binary's, and this installation's", l.Role)
	case !errors.As(err, &unusable):
		r.Block("see the server's log", "%s: %v", l.Role, err)
	case unusable.Fault == store.SchemaForeign:
		r.Block("name this installation's identity key, or its database", "%s: %s", l.Role, unusable.Reason)
	case unusable.Fault == store.SchemaChanged:
		r.Block("run the binary whose migrations were applied; they are never edited", "%s: %s", l.Role, unusable.Reason)
	case unusable.Fault == store.SchemaTooNew:
		r.Block("run a newer oncehook", "%s: %s", l.Role, unusable.Reason)
	case lacksGrant(unusable):
		r.Block(grantRemedy, "%s: %s", l.Role, unusable.Reason)
	default:
		r.Block(migrateUp, "%s: %s", l.Role, strings.TrimSuffix(unusable.Reason, ": run migrate up"))
	}
}

func lacksGrant(e *store.SchemaError) bool { return strings.Contains(e.Reason, "grant") }

func businessSchema(ctx context.Context, e *store.Examination, b BusinessSchema, r *Report) {
	missing, err := e.BusinessSchema(ctx, b.Name, b.Migrations)
	switch {
	case err != nil:
		r.Warn("let database.migrate be the schema's owner", "schema %s: %v", b.Name, err)
	case len(missing) > 0:
		r.Block(migrateUp, "schema %s lacks %s", b.Name, join(missing))
	default:
		r.OK("schema %s has its migrations", b.Name)
	}
}
