package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/admin/page"
)

type rejectedCommand struct {
	List rejectedListCommand `cmd:"" help:"List rejected deliveries, the newest first."`
	Show rejectedShowCommand `cmd:"" help:"Show one rejected delivery."`
}

type rejectedListCommand struct {
	output

	Source string `placeholder:"NAME" help:"Only to this source."`
	Code   string `placeholder:"CODE" help:"Only with this code, such as field_missing."`
	Since  string `placeholder:"WHEN" help:"Only from then on: a time ago, such as 24h, or an RFC 3339 time."`
	Limit  int    `default:"50" help:"At most so many, up to 500."`
	Cursor string `placeholder:"CURSOR" help:"Go on where an earlier list ended."`
}

// Run lists rejected deliveries.
func (c *rejectedListCommand) Run(ctx context.Context, p *program) error {
	since, err := sinceWhen(c.Since, time.Now())
	if err != nil {
		return err
	}
	client, err := p.adminClient()
	if err != nil {
		return err
	}
	r, err := client.api.ListRejectedWithResponse(ctx, &api.ListRejectedParams{
		Source: given(c.Source), Code: given(c.Code), Since: since, Cursor: given(c.Cursor), Limit: &c.Limit,
	})
	if err != nil {
		return client.unreachable(err)
	}
	rejected, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	return c.write(p.stdout, rejected, func() error {
		if err := page.RejectedList(p.stdout, rejected.Rejected); err != nil {
			return err
		}
		if rejected.NextCursor != "" {
			fmt.Fprintf(p.stderr, "there are more: --cursor %s\n", rejected.NextCursor)
		}
		return nil
	})
}

// sinceWhen reads a time, or how long ago it was; "" is nil.
func sinceWhen(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // not given
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		since := now.Add(-ago)
		return &since, nil
	}
	since, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, usagef("--since %q is neither a time ago, such as 24h, nor an RFC 3339 time", text)
	}
	return &since, nil
}

type rejectedShowCommand struct {
	output

	ID string `arg:"" help:"The delivery's id, which is the correlation id that its sender was answered."`
}

// Run shows one rejected delivery.
func (c *rejectedShowCommand) Run(ctx context.Context, p *program) error {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return usagef("%q is no id of a rejected delivery: oncehook rejected list shows them", c.ID)
	}
	client, err := p.adminClient()
	if err != nil {
		return err
	}
	r, err := client.api.GetRejectedWithResponse(ctx, id)
	if err != nil {
		return client.unreachable(err)
	}
	rejected, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	return c.write(p.stdout, rejected, func() error { return page.Rejected(p.stdout, *rejected) })
}
