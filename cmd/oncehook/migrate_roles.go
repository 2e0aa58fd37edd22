package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/store"
)

type migrateRolesCommand struct {
	Prefix   string `default:"oncehook_" placeholder:"PREFIX" help:"How the roles' names begin (default oncehook_)."`
	PrintSQL bool   `name:"print-sql" help:"Print the SQL that is still to run, and run none."`
}

// Run makes the roles. Where this login may not, it prints the SQL and fails.
func (c *migrateRolesCommand) Run(ctx context.Context, p *program) error {
	a, err := p.open(config.RoleMigrate)
	if err != nil {
		return err
	}
	report, err := a.MakeRoles(ctx, c.Prefix, c.PrintSQL)
	switch {
	case errors.Is(err, store.ErrMayNotCreateRoles):
		printSQL(p.stdout, creations(report.Statements))
		return fmt.Errorf("%w (it lacks CREATEROLE): have the SQL above run by a login that may, then run this again to grant what the roles need", err)
	case err != nil:
		return err
	case c.PrintSQL:
		printSQL(p.stdout, report.Statements)
		return nil
	}
	c.tell(p.stdout, report)
	return nil
}

// creations are the statements that make roles; granting needs no CREATEROLE.
func creations(statements []string) []string {
	var list []string
	for _, s := range statements {
		if strings.HasPrefix(s, "CREATE ROLE") {
			list = append(list, s)
		}
	}
	return list
}

func printSQL(w io.Writer, statements []string) {
	if len(statements) == 0 {
		fmt.Fprintln(w, "-- nothing is to do")
		return
	}
	for _, s := range statements {
		fmt.Fprintln(w, s+";")
	}
}

func (c *migrateRolesCommand) tell(w io.Writer, r store.RolesReport) {
	if len(r.Made) > 0 {
		fmt.Fprintln(w, "made", strings.Join(r.Made, ", "))
	}
	if len(r.Found) > 0 {
		fmt.Fprintln(w, "found", strings.Join(r.Found, ", "))
	}
	fmt.Fprintln(w, "they have what this version needs and nothing else; migrate up keeps it so")
	if len(r.Former) > 0 {
		former := strings.Join(r.Former, ", ")
		fmt.Fprintf(w, "the roles of the earlier prefix keep what they had; once no process uses them: DROP OWNED BY %s; DROP ROLE %s;\n", former, former)
	}
	if len(r.Made) == 0 {
		return
	}
	fmt.Fprintf(w, `next:
  1. The roles may log in and have no password. Say how they prove themselves: in psql \password %[1]singress and so on,
     or a certificate or your cloud's identity by pg_hba.conf. Where pg_hba.conf says trust, anybody is them already.
  2. Give each process the DSN of its role: database.ingress, database.work, database.admin, and to database.migrate the
     schema's owner. A process of one role needs no other's.
  3. oncehook doctor
`, c.Prefix)
}
