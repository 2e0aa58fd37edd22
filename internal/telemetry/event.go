// Package telemetry is what logs and traces have in common: which event a line or
// a span belongs to, and what neither may ever hold.
//
// It knows nothing of Temporal, so that the ingress can use it.
package telemetry

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Event names the event that is being worked on. Each part may be "".
type Event struct {
	CorrelationID string
	ReceiptID     string
}

type eventKey struct{}

// WithEvent returns a context whose log lines name the event.
func WithEvent(ctx context.Context, e Event) context.Context {
	return context.WithValue(ctx, eventKey{}, e)
}

// EventOf returns the context's event.
func EventOf(ctx context.Context) Event {
	e, _ := ctx.Value(eventKey{}).(Event)
	return e
}

// Age is how long ago the receipt was made, which its id (UUIDv7) says to the
// millisecond; false for another text.
func Age(receiptID string) (time.Duration, bool) {
	id, err := uuid.Parse(receiptID)
	if err != nil || id.Version() != 7 {
		return 0, false
	}
	return max(0, time.Since(time.Unix(id.Time().UnixTime()))), true
}
