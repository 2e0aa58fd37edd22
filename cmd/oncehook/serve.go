package main

import (
	"context"

	"github.com/oncehook/oncehook/internal/config"
)

type serveCommand struct {
	Only string `enum:",ingress,admin" default:"" placeholder:"ROLE" help:"Run one listener only: ingress or admin."`
}

// Help is what --help says beside the flags.
func (*serveCommand) Help() string {
	return `A signal (SIGTERM, SIGINT) stops it in order: /readyz fails at once; for ingress.drain of the configuration (0s
unless set) it goes on serving, and its answers end their connections, so that a balancer finds time to notice; then
it takes no more connections, finishes the requests in flight within eight seconds, and exits with 0. Set ingress.drain
to more than the balancer's probes take to notice, such as 5s. A second signal ends it at once.`
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
