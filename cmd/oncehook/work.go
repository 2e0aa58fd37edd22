package main

import (
	"context"
	"fmt"
	"time"

	"github.com/oncehook/oncehook/internal/config"
)

type workCommand struct {
	Drain        bool          `help:"End once nothing is left that could be done now."`
	DrainTimeout time.Duration `placeholder:"TIME" help:"Give up draining after this time, such as 90s. Defaults to 10m."`
}

const drainTimeout = 10 * time.Minute

// Help is what --help says beside the flags.
func (*workCommand) Help() string {
	return `A signal (SIGTERM, SIGINT) stops the worker in order, within eight seconds: it takes nothing new, lets running
attempts end, and hands what does not end to another worker without counting it as an attempt. A second signal
ends it at once; attempts that it cuts off count.

With --drain it takes what is due and exits with 0 when the outbox has nothing due and no run could go on now.
Runs that wait for a signal, a timer or a retry due in more than five seconds are counted, not waited for, and so
are outbox rows that come due later. It exits with 1, and says what was left, when the time is over, when a signal
came first, or when all that is left is outbox rows that need a person. Stop the ingress before, or new events keep
it going. Other workers may run beside it.`
}

// Run dispatches and works until a signal ends it, or until it has drained.
func (c *workCommand) Run(ctx context.Context, p *program) error {
	switch {
	case c.DrainTimeout < 0:
		return usagef("--drain-timeout must be more than 0")
	case c.DrainTimeout != 0 && !c.Drain:
		return usagef("--drain-timeout has no meaning without --drain")
	case c.DrainTimeout == 0:
		c.DrainTimeout = drainTimeout
	}
	a, err := p.open(config.RoleWork)
	if err != nil {
		return err
	}
	if !c.Drain {
		return a.Work(ctx, nil)
	}
	left, err := a.Drain(ctx, c.DrainTimeout)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, "drained:", left)
	return nil
}
