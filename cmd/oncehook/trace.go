package main

import (
	"context"

	"github.com/oncehook/oncehook/internal/admin/page"
)

type traceCommand struct {
	output

	Event string `arg:"" help:"An event id, an event key, a receipt id or a correlation id."`
}

// Run shows the whole chain of an event.
func (c *traceCommand) Run(ctx context.Context, p *program) error {
	client, id, err := p.event(ctx, c.Event)
	if err != nil {
		return err
	}
	r, err := client.api.GetTraceWithResponse(ctx, id)
	if err != nil {
		return client.unreachable(err)
	}
	trace, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	return c.write(p.stdout, trace, func() error { return page.Trace(p.stdout, *trace) })
}
