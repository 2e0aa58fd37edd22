package main

import (
	"context"
	"fmt"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/admin/page"
)

type eventsCommand struct {
	List eventsListCommand `cmd:"" help:"List events, the newest first."`
	Show eventsShowCommand `cmd:"" help:"Show one event."`
}

type eventsListCommand struct {
	output

	Source string `placeholder:"NAME" help:"Only of this source."`
	Tenant string `placeholder:"NAME" help:"Only of this tenant."`
	Type   string `placeholder:"TYPE" help:"Only of this event type."`
	State  string `enum:",received,queued,processing,succeeded,ignored,dead_lettered" default:"" placeholder:"STATE" help:"Only in this state."`
	Limit  int    `default:"50" help:"At most so many, up to 500."`
	Cursor string `placeholder:"CURSOR" help:"Go on where an earlier list ended."`
}

// Run lists events.
func (c *eventsListCommand) Run(ctx context.Context, p *program) error {
	client, err := p.adminClient()
	if err != nil {
		return err
	}
	params := &api.ListEventsParams{
		Source: given(c.Source), Tenant: given(c.Tenant), Type: given(c.Type), Cursor: given(c.Cursor), Limit: &c.Limit,
	}
	if c.State != "" {
		state := api.State(c.State)
		params.State = &state
	}
	r, err := client.api.ListEventsWithResponse(ctx, params)
	if err != nil {
		return client.unreachable(err)
	}
	events, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	if len(events.Events) == 0 && c.Source != "" {
		if err := client.knowsSource(c.Source); err != nil {
			return err
		}
	}
	return c.write(p.stdout, events, func() error {
		if err := page.Events(p.stdout, events.Events); err != nil {
			return err
		}
		if events.NextCursor != "" {
			fmt.Fprintf(p.stderr, "there are more: --cursor %s\n", events.NextCursor)
		}
		return nil
	})
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

type eventsShowCommand struct {
	output

	Event string `arg:"" help:"An event id, an event key, a receipt id or a correlation id."`
}

// Run shows one event's receipt.
func (c *eventsShowCommand) Run(ctx context.Context, p *program) error {
	client, id, err := p.event(ctx, c.Event)
	if err != nil {
		return err
	}
	r, err := client.api.GetEventWithResponse(ctx, id)
	if err != nil {
		return client.unreachable(err)
	}
	receipt, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	return c.write(p.stdout, receipt, func() error { return page.Receipt(p.stdout, *receipt) })
}
