package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/doctor"
)

type doctorCommand struct {
	output
}

// Run examines the installation; a blocker makes it fail.
func (c *doctorCommand) Run(ctx context.Context, p *program) error {
	path, err := p.configPath()
	if err != nil {
		return err
	}
	found := []doctor.Finding{}
	if settings, err := p.loadServed(); err != nil {
		found = append(found, app.ExamineUnloaded(ctx, err)...)
	} else {
		found = append(found, app.Examine(ctx, app.Config{Settings: settings})...)
	}
	blockers, warnings := doctor.Count(found, doctor.Blocker), doctor.Count(found, doctor.Warning)
	report := map[string]any{"configuration": path, "findings": found, "blockers": blockers, "warnings": warnings}
	err = c.write(p.stdout, report, func() error {
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		for _, f := range found {
			text := f.Text
			if f.Remedy != "" {
				text += " — " + f.Remedy
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", f.Level, f.Area, text)
		}
		return table.Flush()
	})
	if err != nil {
		return err
	}
	if blockers > 0 {
		return fmt.Errorf("%s found, and %s: each line says what to do", counted(blockers, "blocker"), counted(warnings, "warning"))
	}
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
