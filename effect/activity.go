package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

type activityInbound struct {
	interceptor.ActivityInboundInterceptorBase
	*workerInterceptor
}

// ExecuteActivity is one attempt: claim ▶ run ▶ record.
func (a *activityInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	name := info.ActivityType.Name
	if name == oncehook.ActionFinish {
		return nil, a.finish(ctx, in.Args)
	}
	action, ok := a.registry.actions[name]
	if !ok {
		result, err := a.safely(ctx, name, in)
		if err != nil {
			return nil, classify(err, backoffOf(info, time.Time{}), false).asTemporal()
		}
		return result, nil
	}
	request, call, err := claimRequest(ctx, action.declaration, info, a.data)
	if errors.Is(err, errEnvelope) {
		return nil, classify(err, backoffOf(info, time.Time{}), false).asTemporal()
	}
	if err != nil {
		return nil, permanent(err)
	}
	ctx = a.event(ctx, name, call.Ref)
	deadline := call.deadline(time.Now())
	claim, err := a.claim(ctx, request)
	if err != nil {
		return nil, a.unclaimed(ctx, name, classifyClaim(err, backoffOf(info, deadline), call))
	}
	if claim.Outcome != nil {
		return a.over(ctx, action.declaration, *claim.Outcome)
	}
	result, answered, err := a.run(ctx, action.declaration, claim, in)
	if interrupted(ctx, err) {
		return nil, a.handBack(ctx, claim, answered)
	}
	if err != nil {
		spent := call.MaxAttempts > 0 && claim.RunAttempts >= call.MaxAttempts
		f := classify(err, backoffOf(info, deadline), spent)
		f.answered, f.text = answered, payloadFree(cut(f.text), claim.Event.Body)
		if f.waitsFor != "" && !call.WaitUntil.IsZero() {
			return nil, a.parked(ctx, claim, f, call)
		}
		return nil, a.failed(ctx, claim, f)
	}
	a.attempted(ctx, name, string(oncehook.ActionDone))
	return result, nil
}

func claimRequest(ctx context.Context, d Declaration, info activity.Info, data converter.DataConverter) (store.ClaimRequest, envelope, error) {
	call, err := envelopeOf(ctx, data)
	if err != nil {
		return store.ClaimRequest{}, call, fmt.Errorf("action %s: %w", d.Name, err)
	}
	receiptID, err := uuid.Parse(call.Ref.ReceiptID)
	if err != nil {
		return store.ClaimRequest{}, call, fmt.Errorf("action %s: receipt id %q: %w", d.Name, call.Ref.ReceiptID, err)
	}
	return store.ClaimRequest{
		ActionID: store.ActionID{ReceiptID: receiptID, Name: d.Name, Epoch: max(call.Epoch, 1)},
		RunNo:    call.Ref.RunNo, Kind: d.Kind, BusinessKey: call.BusinessKey,
		Lease: info.StartToCloseTimeout, MaxAttempts: call.MaxAttempts, WaitUntil: call.WaitUntil,
	}, call, nil
}

// run performs the effect as its kind asks and returns its result. answered says
// that nothing which this attempt sent can have had an effect.
func (a *activityInbound) run(ctx context.Context, d Declaration, claim store.Claim, in *interceptor.ExecuteActivityInput) (result any, answered bool, err error) {
	if d.Kind == oncehook.KindLocal {
		result, err = a.runLocal(ctx, d, claim, in)
		return result, true, err
	}
	return a.runRemote(ctx, d, claim, in)
}

// runLocal performs the effect in its transaction and returns its result.
func (a *activityInbound) runLocal(ctx context.Context, d Declaration, claim store.Claim, in *interceptor.ExecuteActivityInput) (any, error) {
	var result any
	err := a.work.RunLocal(ctx, claim, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		own := &attemptTx{tx: tx}
		defer own.end()
		ctx = context.WithValue(ctx, attemptKey{}, attempt{claim: claim, at: a.work.Now()})
		var err error
		if result, err = a.safely(context.WithValue(ctx, txKey{}, own), d.Name, in); err != nil {
			return nil, err
		}
		return encodeResult(d, result)
	})
	return result, err
}

// over answers for an action that has ended before.
func (a *activityInbound) over(ctx context.Context, d Declaration, o store.ActionOutcome) (any, error) {
	a.attempted(ctx, d.Name, "repeated")
	if f := outcomeFailure(o); f != nil {
		return nil, f.asTemporal()
	}
	out := reflect.New(d.Out)
	if len(o.Result) > 0 {
		if err := json.Unmarshal(o.Result, out.Interface()); err != nil {
			return nil, permanent(fmt.Errorf("%w of %s cannot be decoded: %w", errResult, d.Name, err))
		}
	}
	return out.Elem().Interface(), nil
}

// recordTimeout bounds the recording of a failed attempt, whose own context may
// be over.
const recordTimeout = 5 * time.Second

// failed records a failed attempt and returns what Temporal is told.
func (a *activityInbound) failed(ctx context.Context, claim store.Claim, f failure) error {
	if f.errType == oncehook.FailureIgnored || f.errType == oncehook.FailureSuperseded {
		a.attempted(ctx, claim.Name, f.errType)
		return f.asTemporal() // recorded with the effect
	}
	if f.unclaimed {
		return a.unclaimed(ctx, claim.Name, f)
	}
	a.attempted(ctx, claim.Name, f.errType)
	if f.recorded {
		return f.asTemporal()
	}
	record := store.Failure{Error: cut(f.text), Word: f.word, Answered: f.answered}
	if !f.final {
		record.NextAttemptAt = a.work.Now().Add(f.delay)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := a.work.FailAction(ctx, claim, record); err != nil {
		a.log.WarnContext(ctx, "a failed attempt is not recorded", "action", claim.Name, "receipt_id", claim.ReceiptID.String(), "error", err.Error())
	}
	return f.asTemporal()
}

func (a *activityInbound) unclaimed(ctx context.Context, name string, f failure) error {
	a.attempted(ctx, name, f.errType)
	a.log.InfoContext(ctx, "an attempt did not run", "action", name, "reason", f.errType, "error", cut(f.text))
	return f.asTemporal()
}

// panicError is a recovered panic of an activity.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely runs the function. A panic becomes an error; its stack goes to the log.
func (a *activityInbound) safely(ctx context.Context, name string, in *interceptor.ExecuteActivityInput) (result any, err error) {
	defer func() {
		if value := recover(); value != nil {
			a.log.ErrorContext(ctx, "an action panicked", "action", name, "stack", string(debug.Stack()))
			result, err = nil, &panicError{value}
		}
	}()
	return a.Next.ExecuteActivity(ctx, in)
}

// encodeResult makes the stored form of a result. A test environment hands over
// results that are encoded already.
func encodeResult(d Declaration, result any) ([]byte, error) {
	if payloads, ok := result.(*commonpb.Payloads); ok {
		out := reflect.New(d.Out)
		if err := converter.GetDefaultDataConverter().FromPayloads(payloads, out.Interface()); err != nil {
			return nil, fmt.Errorf("%w of %s cannot be decoded: %w", errResult, d.Name, err)
		}
		result = out.Interface()
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("%w of %s cannot be encoded: %w", errResult, d.Name, err)
	}
	return encoded, nil
}
