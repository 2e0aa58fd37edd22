package app

import (
	"io/fs"
	"slices"

	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/providers"
	"github.com/oncehook/oncehook/workflows"
)

// Parts is what a system is made of.
type Parts struct {
	// Provider makes the adapter of a source.
	Provider func(kind string, source oncehook.Source) (oncehook.Provider, error)
	// Routes says which event starts which workflow.
	Routes oncehook.Routes
	// Workflows registers every workflow of Routes.
	Workflows func(worker.WorkflowRegistry)
	// Actions are the declared side effects, Bindings their functions, which reach
	// other systems through Outside. An action without a function is an error of New.
	Actions  []effect.Declared
	Bindings func(Outside) []effect.Binding
	// Schemas are the business schemas and their migrations.
	Schemas []Schema
}

// Schema is a business schema that migrates with the system.
type Schema struct {
	Name       string
	Migrations fs.FS
}

// Standard returns the parts that oncehook ships.
func Standard() Parts {
	return Parts{
		Provider:  providers.New,
		Routes:    workflows.Catalog(),
		Workflows: workflows.Register,
		Actions:   activities.Declared(),
		Bindings: func(o Outside) []effect.Binding {
			return slices.Concat(logistics.Bindings(), billing.Bindings(o.Client, o.Destination(billing.NoticeDestination)))
		},
		Schemas: []Schema{{Name: logistics.Schema, Migrations: logistics.Migrations}, {Name: billing.Schema, Migrations: billing.Migrations}},
	}
}
