package effect

import (
	"context"
	"sync"

	"go.temporal.io/sdk/interceptor"
)

// Attempts counts the attempts that are under way in a worker. The SDK does not
// wait for local activities whose context it has cancelled; whoever stops the
// worker waits here, until the last one has written down how it ended.
type Attempts struct {
	mu    sync.Mutex
	count int
	// none is closed when the count falls to zero, if somebody waits.
	none chan struct{}
}

// CountIn makes the interceptor count its attempts in a.
func CountIn(a *Attempts) Option { return func(w *workerInterceptor) { w.attempts = a } }

func (a *Attempts) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
}

func (a *Attempts) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
	if a.count == 0 && a.none != nil {
		close(a.none)
		a.none = nil
	}
}

// Wait returns 0 once no attempt is under way, or their number when ctx ends first.
func (a *Attempts) Wait(ctx context.Context) int {
	a.mu.Lock()
	if a.count == 0 {
		a.mu.Unlock()
		return 0
	}
	if a.none == nil {
		a.none = make(chan struct{})
	}
	none := a.none
	a.mu.Unlock()
	select {
	case <-none:
		return 0
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// counted is an attempt that Attempts counts.
type counted struct {
	interceptor.ActivityInboundInterceptorBase
	attempts *Attempts
}

func (c *counted) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	c.attempts.begin()
	defer c.attempts.end()
	return c.Next.ExecuteActivity(ctx, in)
}
