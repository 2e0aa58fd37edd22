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
}

func (e envelope) attach(ctx workflow.Context) error {
	header := interceptor.WorkflowHeader(ctx)
	if header == nil {
		return errors.New("the call has no header")
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(e)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	header[oncehook.TemporalHeader] = payload
	return nil
}

func envelopeOf(ctx context.Context) (envelope, error) {
	return decodeEnvelope(interceptor.Header(ctx)[oncehook.TemporalHeader])
}

func decodeEnvelope(payload *commonpb.Payload) (envelope, error) {
	var e envelope
	if payload == nil {
		return e, errors.New("the call does not come from a workflow that takes an oncehook.Ref")
	}
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &e); err != nil {
		return e, fmt.Errorf("decode the call: %w", err)
	}
	return e, nil
}
