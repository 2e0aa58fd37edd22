package effect

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// What an action gets where the engineer set nothing.
const (
	// DefaultStartToClose bounds one attempt. It is also how soon a dead worker is noticed.
	DefaultStartToClose = 30 * time.Second
	// DefaultBudget bounds all attempts together.
	DefaultBudget = time.Hour
	// outage is how much longer an action may take of which no attempt begins: while
	// workers or PostgreSQL are away, nothing is tried and nothing is given up.
	outage = 72 * time.Hour
	// DefaultMaxAttempts bounds the attempts that began.
	DefaultMaxAttempts = 10

	defaultInitialInterval = time.Second
	defaultMaximumInterval = time.Minute
	defaultCoefficient     = 2.0
)

// defaultPolicy has no MaximumAttempts of its own: the action ledger counts, so
// that an outage of PostgreSQL, in which nothing begins, spends no attempt.
func defaultPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: defaultInitialInterval, BackoffCoefficient: defaultCoefficient, MaximumInterval: defaultMaximumInterval,
	}
}

// calling is how one action is called.
type calling struct {
	startToClose time.Duration
	// budget ends the retries of failed attempts, limit all waiting for the action.
	budget, limit time.Duration
	policy        *temporal.RetryPolicy
	// maxAttempts is for the ledger. The policy of an action has no maximum of its
	// own: Temporal would count what a stopping worker hands back.
	maxAttempts int
	summary     string
}

// fill completes what the engineer set.
func (c calling) fill(summary string) calling {
	if c.startToClose == 0 {
		c.startToClose = DefaultStartToClose
		if c.budget > 0 {
			c.startToClose = min(c.startToClose, c.budget)
		}
	}
	c.limit = c.budget // the engineer's own bound is one in any case
	if c.budget == 0 {
		c.budget = max(DefaultBudget, c.startToClose)
		c.limit = c.budget + outage
	}
	c.maxAttempts = DefaultMaxAttempts
	if c.policy == nil {
		c.policy = defaultPolicy()
	} else if c.policy.MaximumAttempts > 0 {
		c.maxAttempts = int(c.policy.MaximumAttempts)
		unlimited := *c.policy
		unlimited.MaximumAttempts = 0
		c.policy = &unlimited
	}
	if c.summary == "" {
		c.summary = summary
	}
	return c
}

// asRegular returns the context and the calling of a regular activity.
func asRegular(ctx workflow.Context, summary string) (workflow.Context, calling) {
	options := workflow.GetActivityOptions(ctx)
	c := calling{
		startToClose: options.StartToCloseTimeout, budget: options.ScheduleToCloseTimeout,
		policy: options.RetryPolicy, summary: options.Summary,
	}.fill(summary)
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = c.startToClose, c.limit
	options.RetryPolicy, options.Summary = c.policy, c.summary
	return workflow.WithActivityOptions(ctx, options), c
}

// asLocal returns the context and the calling of a local activity. Options for
// regular activities count where there are none for local ones.
func asLocal(ctx workflow.Context, summary string) (workflow.Context, calling) {
	options, regular := workflow.GetLocalActivityOptions(ctx), workflow.GetActivityOptions(ctx)
	c := calling{
		startToClose: options.StartToCloseTimeout, budget: options.ScheduleToCloseTimeout,
		policy: options.RetryPolicy, summary: options.Summary,
	}
	if c.startToClose == 0 && c.budget == 0 {
		c = calling{
			startToClose: regular.StartToCloseTimeout, budget: regular.ScheduleToCloseTimeout,
			policy: regular.RetryPolicy, summary: regular.Summary,
		}
	}
	c = c.fill(summary)
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = c.startToClose, c.limit
	options.RetryPolicy, options.Summary = c.policy, c.summary
	return workflow.WithLocalActivityOptions(ctx, options), c
}

// summaryOf is the line of an action in the Temporal UI. The event key holds no
// personal id.
func summaryOf(ctx workflow.Context, d Declaration, ref oncehook.Ref) string {
	if line := callOf(ctx).summary; line != "" {
		return line
	}
	return d.Name + " (" + string(d.Kind) + "), once for " + ref.EventKey
}
