package dispatch

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// notes of a signal that no run takes any more.
const noteClosed = "the run is closed or unknown: there is nothing to wake"

// signal sends one claimed wake-up and records what came of it. A wake-up that
// is sent twice is one: Temporal recognizes the request, and a run that wakes for
// nothing waits on.
func (d *Dispatcher) signal(ctx context.Context, s store.Signal) {
	ctx = telemetry.WithEvent(ctx, telemetry.Event{CorrelationID: s.CorrelationID, ReceiptID: s.ReceiptID})
	if err := d.trySignal(ctx, s); err != nil {
		d.Log.WarnContext(ctx, "a wake-up is not recorded", "outbox_id", s.OutboxID, "receipt_id", s.ReceiptID, "error", err.Error())
	}
}

func (d *Dispatcher) trySignal(ctx context.Context, s store.Signal) error {
	sendCtx, cancel := context.WithTimeout(ctx, d.StartTimeout)
	defer cancel()
	// To the workflow ID's latest run: a run that was reset goes on under another run ID.
	err := d.Client.SignalWorkflow(withRequestID(sendCtx, rowID(s.ReceiptID, s.OutboxID)), s.EventKey, "", oncehook.SignalWake, s.Argument)
	note := ""
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		note, err = noteClosed, nil
	}
	recordCtx, cancelRecord := context.WithTimeout(ctx, storeTime)
	defer cancelRecord()
	if err == nil {
		d.recovered(ctx)
		return d.Store.MarkSignalled(recordCtx, s.OutboxID, note)
	}
	switch v := judge(err); v {
	case verdictRefused:
		d.Log.ErrorContext(ctx, "temporal refuses a wake-up", "receipt_id", s.ReceiptID, "error", err.Error())
		return d.Store.MarkSignalled(recordCtx, s.OutboxID, "temporal refuses: "+err.Error())
	case verdictConfiguration:
		if d.outage.set(v) {
			d.Log.ErrorContext(ctx, alertConfiguration, "error", err.Error())
		}
		return d.Store.RetryStart(recordCtx, s.OutboxID, fullJitter(retryMost), err.Error(), alertConfiguration)
	case verdictAway, verdictTaken:
		if d.outage.set(verdictAway) {
			d.Log.WarnContext(ctx, "temporal does not answer; the outbox waits", "error", err.Error())
		}
	}
	return d.Store.RetryStart(recordCtx, s.OutboxID, delay(s.Claims), err.Error(), "")
}
