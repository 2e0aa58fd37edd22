// Package logistics keeps where shipments are. Its tables are in the schema
// logistics of the same PostgreSQL, so its effects are Local.
package logistics

import (
	"embed"

	"github.com/oncehook/oncehook/effect"
)

// Schema is the name of the business schema.
const Schema = "logistics"

// Migrations holds the schema's migrations.
//
//go:embed *.sql
var Migrations embed.FS

// Bindings returns the functions of this area's actions.
func Bindings() []effect.Binding {
	return []effect.Binding{
		RecordArrival.Bind(recordArrival),
	}
}
