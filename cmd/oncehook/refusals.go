package main

import (
	"context"
	"fmt"
	"time"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/admin/page"
)

type refusalsCommand struct {
	List refusalsListCommand `cmd:"" help:"Count them by source, outcome, cause and network, the latest first."`
}

type refusalsListCommand struct {
	output

	Source string `placeholder:"NAME" help:"Only by this source."`
	Since  string `default:"24h" placeholder:"WHEN" help:"From then on, at most 31 days: a time ago, such as 24h, or an RFC 3339 time."`
}

// Run lists counts of refusals.
func (c *refusalsListCommand) Run(ctx context.Context, p *program) error {
	since, err := sinceWhen(c.Since, time.Now())
	if err != nil {
		return err
	}
	client, err := p.adminClient()
	if err != nil {
		return err
	}
	r, err := client.api.ListRefusalsWithResponse(ctx, &api.ListRefusalsParams{Source: given(c.Source), Since: since})
	if err != nil {
		return client.unreachable(err)
	}
	counts, err := answer(client, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	return c.write(p.stdout, counts, func() error {
		if err := page.Refusals(p.stdout, counts.Refusals); err != nil {
			return err
		}
		if counts.Truncated {
			fmt.Fprintln(p.stderr, "there are more, whose last refusal is older: name a --source")
		}
		return nil
	})
}
