package main

import (
	"context"
	"fmt"
	"time"
)

// historyCodecCommand lets an operator's browser decrypt what the Temporal UI shows.
type historyCodecCommand struct{}

// Run prints the endpoint, and nothing else on standard output.
func (c *historyCodecCommand) Run(ctx context.Context, p *program) error {
	admin, err := p.adminClient()
	if err != nil {
		return err
	}
	r, err := admin.api.MakeCodecLinkWithResponse(ctx)
	if err != nil {
		return admin.unreachable(err)
	}
	link, err := answer(admin, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, admin.url+link.Endpoint)
	fmt.Fprintf(p.stderr, "Enter it as the codec endpoint in the Temporal UI (the glasses at the top). It decrypts in your name until %s: treat it like a password.\n",
		link.ExpiresAt.UTC().Format(time.RFC3339))
	return nil
}
