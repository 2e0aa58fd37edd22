package main

import (
	"context"

	"github.com/oncehook/oncehook/internal/config"
)

type serveCommand struct {
	Only string `enum:",ingress,admin" default:"" placeholder:"ROLE" help:"Run one listener only: ingress or admin."`
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(ctx context.Context, p *program) error {
	roles := []string{config.RoleIngress, config.RoleAdmin}
	if c.Only != "" {
		roles = []string{c.Only}
	}
	a, err := p.open(roles...)
	if err != nil {
		return err
	}
	return a.Serve(ctx, c.Only)
}
