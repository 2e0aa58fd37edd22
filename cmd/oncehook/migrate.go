package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/oncehook/oncehook/internal/config"
)

type migrateCommand struct {
	Up     migrateUpCommand     `cmd:"" help:"Apply what is missing, prepare partitions, make the first admin."`
	Status migrateStatusCommand `cmd:"" help:"List the migrations; exit 1 while some are missing."`

	Retention migrateRetentionCommand `cmd:"" help:"Show what is past its retention; delete it with --apply."`
	Roles     migrateRolesCommand     `cmd:"" help:"Make a database role for each process role, and give it what it needs."`
}

type migrateUpCommand struct{}

// Run migrates. It may be run again, and by two processes at once.
func (c *migrateUpCommand) Run(ctx context.Context, p *program) error {
	a, err := p.open(config.RoleMigrate)
	if err != nil {
		return err
	}
	if err := a.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, "the schema is up to date")
	return nil
}

type migrateStatusCommand struct {
	output
}

// Run lists the migrations that this binary knows.
func (c *migrateStatusCommand) Run(ctx context.Context, p *program) error {
	a, err := p.open(config.RoleMigrate)
	if err != nil {
		return err
	}
	states, err := a.MigrationStatus(ctx)
	if err != nil {
		return err
	}
	type row struct {
		Version   int64  `json:"version"`
		Name      string `json:"name"`
		Applied   bool   `json:"applied"`
		AppliedAt string `json:"applied_at"`
	}
	rows, missing := []row{}, 0
	for _, s := range states {
		r := row{Version: s.Version, Name: s.Name, Applied: s.Applied}
		if s.Applied {
			r.AppliedAt = s.AppliedAt.UTC().Format("2006-01-02T15:04:05Z")
		} else {
			missing++
		}
		rows = append(rows, r)
	}
	err = c.write(p.stdout, map[string]any{"migrations": rows}, func() error {
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "VERSION\tNAME\tAPPLIED (UTC)")
		for _, r := range rows {
			at := r.AppliedAt
			if !r.Applied {
				at = "missing"
			}
			fmt.Fprintf(table, "%d\t%s\t%s\n", r.Version, r.Name, at)
		}
		return table.Flush()
	})
	if err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d migrations are missing: run `oncehook migrate up`", missing, len(rows))
	}
	return nil
}
