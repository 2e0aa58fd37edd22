package main

import (
	"context"

	"github.com/oncehook/oncehook/internal/config"
)

type workCommand struct{}

// Run dispatches and works until a signal ends it.
func (c *workCommand) Run(ctx context.Context, p *program) error {
	a, err := p.open(config.RoleWork)
	if err != nil {
		return err
	}
	return a.Work(ctx, nil)
}
