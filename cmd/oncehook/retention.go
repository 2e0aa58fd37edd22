package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/oncehook/oncehook/internal/config"
)

type migrateRetentionCommand struct {
	output
	Apply bool `help:"Delete. Without it, only show what would be deleted."`
}

// Run shows what is past its retention, and deletes it when asked to.
func (c *migrateRetentionCommand) Run(ctx context.Context, p *program) error {
	a, err := p.open(config.RoleMigrate)
	if err != nil {
		return err
	}
	lines, err := a.Retain(ctx, c.Apply)
	if err != nil {
		return err
	}
	type row struct {
		What       string `json:"what"`
		Keep       string `json:"keep"`
		Partitions int    `json:"partitions"`
		Rows       int64  `json:"rows"`
		Bytes      int64  `json:"bytes"`
		Oldest     string `json:"oldest"`
		Newest     string `json:"newest"`
		Kept       int64  `json:"kept_unresolved"`
	}
	date := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.DateOnly)
	}
	rows := make([]row, 0, len(lines))
	for _, l := range lines {
		r := row{What: l.What, Partitions: l.Partitions, Rows: l.Rows, Bytes: l.Bytes, Oldest: date(l.Oldest), Newest: date(l.Newest), Kept: l.Kept}
		if l.Keep > 0 {
			r.Keep = strconv.Itoa(int(l.Keep/(24*time.Hour))) + "d"
		}
		rows = append(rows, r)
	}
	return c.write(p.stdout, map[string]any{"applied": c.Apply, "retention": rows}, func() error {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.Partitions == 0 && r.Rows == 0 && r.Kept == 0 })
		due := slices.ContainsFunc(rows, func(r row) bool { return r.Partitions > 0 || r.Rows > 0 })
		if !due {
			fmt.Fprintln(p.stdout, "nothing is due")
		}
		if len(rows) == 0 {
			return nil
		}
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "WHAT\tKEEP\tDAYS\tROWS\tBYTES\tOLDEST\tNEWEST\tKEPT: UNRESOLVED")
		for _, r := range rows {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%d\n", r.What, r.Keep, r.Partitions, r.Rows, r.Bytes, r.Oldest, r.Newest, r.Kept)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if due && !c.Apply {
			fmt.Fprintln(p.stdout, "nothing is deleted: run it with --apply to delete this")
		}
		return nil
	})
}
