package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// envelope is what an attempt needs beside its input. It is in histories and
// may only grow.
type envelope struct {
	Ref         oncehook.Ref `json:"ref"`
	Epoch       int          `json:"epoch"`
	BusinessKey string       `json:"business_key,omitempty"`
	// MaxAttempts is counted by the action ledger, which a crash of the worker
	// does not reset.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Deadline ends the action's whole budget of time.
	Deadline time.Time `json:"deadline"`
	// WaitUntil is when the run gives up waiting for what an attempt finds missing.
	// It is zero in runs that do not know how to wait.
	WaitUntil time.Time `json:"wait_until,omitzero"`
}

// deadline returns the end of the budget for an attempt that begins at that time,
// or zero when it is over: then an outage kept the attempts from beginning, and
// their number alone bounds what follows.
func (e envelope) deadline(began time.Time) time.Time {
	if began.Before(e.Deadline) {
		return e.Deadline
	}
	return time.Time{}
}

// errEnvelope says that the call's envelope does not open: another process may
// have the key.
var errEnvelope = errors.New("the call does not open")

// attach puts the envelope into the call's header, which Temporal keeps: encoded,
// since the business key is in it.
func (e envelope) attach(ctx workflow.Context, data converter.DataConverter) error {
	header := interceptor.WorkflowHeader(ctx)
	if header == nil {
		return errors.New("the call has no header")
	}
	payload, err := data.ToPayload(e)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	header[oncehook.TemporalHeader] = payload
	return nil
}

func envelopeOf(ctx context.Context, data converter.DataConverter) (envelope, error) {
	return decodeEnvelope(interceptor.Header(ctx)[oncehook.TemporalHeader], data)
}

func decodeEnvelope(payload *commonpb.Payload, data converter.DataConverter) (envelope, error) {
	var e envelope
	if payload == nil {
		return e, errors.New("the call does not come from a workflow that takes an oncehook.Ref")
	}
	if err := data.FromPayload(payload, &e); err != nil {
		return e, fmt.Errorf("%w: %w", errEnvelope, err)
	}
	return e, nil
}
