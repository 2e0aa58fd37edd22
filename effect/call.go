package effect

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// CallOption says something about one call of an action.
type CallOption func(*call)

type call struct {
	businessKey string
	summary     string
	wait        time.Duration
}

// BusinessKey names the business fact that the effect settles, such as an
// invoice number. Of two events for one fact only the first has the effect; the
// other's action is already done by it.
func BusinessKey(key string) CallOption { return func(c *call) { c.businessKey = key } }

// Summary is the line that the Temporal UI shows for the action. It is part of
// the history: nothing personal belongs in it.
func Summary(line string) CallOption { return func(c *call) { c.summary = line } }

type callKey struct{}

// WithCall returns a context whose calls of actions have the options, for
// workflow.ExecuteActivity. Do takes options itself.
func WithCall(ctx workflow.Context, options ...CallOption) workflow.Context {
	if len(options) == 0 {
		return ctx
	}
	c := callOf(ctx)
	for _, option := range options {
		option(&c)
	}
	return workflow.WithValue(ctx, callKey{}, c)
}

func callOf(ctx workflow.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}
