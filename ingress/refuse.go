package ingress

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// evidence says where a refusal is written down before it is answered.
type evidence int

const (
	// inSum counts it in memory: for whoever is not authenticated, and for floods.
	inSum evidence = iota
	// inRow audits it singly.
	inRow
	// withBody audits it singly and keeps the delivery.
	withBody
	// inUnit is committed already, with the unit.
	inUnit
)

// refused is a request that is not accepted, and what is known of it.
type refused struct {
	oncehook.Refusal
	decision oncehook.Decision
	evidence evidence
	// cause is for operators; "" means the code.
	cause      string
	tenant     string
	retryAfter time.Duration
	// err is for the log. It holds no part of the request.
	err error
	// results are those of a unit of several events in which one conflicts.
	results []result
	// receipt is the first copy's, where a copy conflicts with it.
	receipt string
	// correlation replaces the delivery's own id in the answer.
	correlation string
	// notKept says that the source's rejected deliveries are at their cap: of this
	// one the audit row alone remains.
	notKept bool
	// reply is a literal answer: then nothing is refused.
	reply *oncehook.Reply
}

// unproven refuses a request whose sender is not known.
func unproven(code oncehook.Code, detail string) *refused {
	return &refused{decision: oncehook.Unauthenticated, evidence: inSum, Refusal: oncehook.Refusal{Code: code, Detail: detail}}
}

// rejected refuses an authentic request that is no event we know.
func rejected(r *oncehook.Refusal, tenant string) *refused {
	return &refused{decision: oncehook.Rejected, evidence: withBody, Refusal: *r, tenant: tenant}
}

func unavailable(err error) *refused {
	return &refused{
		decision: oncehook.Unavailable, evidence: inSum, err: err,
		Refusal: oncehook.Refusal{Code: oncehook.CodeUnavailable, Detail: "whether the event is recorded is not certain; send it again"},
	}
}

// internal refuses a request that met a bug. The error may hold anything.
func internal(err error) *refused {
	return &refused{
		decision: oncehook.Unavailable, evidence: inSum, err: fmt.Errorf("unexpected %T", err),
		Refusal: oncehook.Refusal{Code: oncehook.CodeInternal, Detail: "the log says more under this correlation_id"},
	}
}

// refuse writes the evidence and then answers. Without evidence there is no
// answer but 503: a retry finds the same refusal.
func (d *delivery) refuse(r *refused) error {
	if r.reply != nil {
		return d.write(*r.reply)
	}
	if r.cause == "" {
		r.cause = string(r.Code)
	}
	if err := d.record(r); err != nil {
		r = unavailable(err)
		r.cause = string(r.Code)
		d.Store.Count(d.sourceName(), r.decision, r.cause, d.peer)
	}
	d.Metrics.Delivery(d.c.Request().Context(), d.sourceName(), string(r.decision))
	d.traceDecision(r.decision, d.correlationOf(r))
	d.refusals.line(d.c.Request().Context(), r, d.logAttrs(r))
	return d.answerRefusal(r)
}

// record writes the evidence of a refusal, whether or not the sender still waits.
func (d *delivery) record(r *refused) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.c.Request().Context()), d.Timeouts.Evidence)
	defer cancel()
	switch r.evidence {
	case inSum:
		d.Store.Count(d.sourceName(), r.decision, r.cause, d.peer)
		return nil
	case inRow:
		return d.Store.Record(ctx, store.DecisionRecord{
			Decision: r.decision, Source: d.source.Name, Tenant: r.tenant, Principal: d.proof.Principal,
			CredentialVersion: d.proof.CredentialVersion, Peer: d.peer.String(), Cause: r.cause, CorrelationID: d.id,
		})
	case withBody:
		kept, err := d.Store.Reject(ctx, store.Rejection{
			ID: d.id, Source: d.source.Name, Tenant: r.tenant, Principal: d.proof.Principal,
			CredentialVersion: d.proof.CredentialVersion, Peer: d.peer.String(), Refusal: r.Refusal,
			Body: d.request.Body, Header: d.request.Header,
		})
		if r.notKept = err == nil && !kept; r.notKept {
			d.Metrics.RejectedNotKept(ctx, d.source.Name)
		}
		return err
	default:
		return nil
	}
}

// sourceName is the configured source's name: never what a stranger wrote in a path.
func (d *delivery) sourceName() string {
	if d.source == nil {
		return ""
	}
	return d.source.Name
}

func (d *delivery) logAttrs(r *refused) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("source", d.sourceName()), slog.String("outcome", string(r.decision)), slog.String("code", string(r.Code)), slog.String("cause", r.cause),
		slog.String("peer", d.peer.String()), slog.String("correlation_id", d.correlationOf(r)),
	}
	if d.proof.Principal != "" {
		attrs = append(attrs, slog.String("principal", d.proof.Principal), slog.String("credential_version", d.proof.CredentialVersion))
	}
	if r.Field != "" {
		attrs = append(attrs, slog.String("field", r.Field))
	}
	if r.notKept {
		attrs = append(attrs, slog.Bool("kept", false))
	}
	if r.err != nil {
		attrs = append(attrs, slog.String("error", r.err.Error()))
	}
	return attrs
}

func (d *delivery) correlationOf(r *refused) string {
	if r.correlation != "" {
		return r.correlation
	}
	if d.id == uuid.Nil {
		return ""
	}
	return d.id.String()
}

// Bounds of Retry-After, in seconds.
const (
	retrySpread = 5
	retryMost   = 3600
)

// retryAfterSeconds is when a retry makes sense. Where nobody knows, senders are
// spread by the random end of their deliveries' ids, so that they do not all come
// back at once.
func (r *refused) retryAfterSeconds(id uuid.UUID) int {
	switch {
	case r.retryAfter >= retryMost*time.Second:
		return retryMost
	case r.retryAfter > 0:
		return int((r.retryAfter + time.Second - 1) / time.Second)
	}
	return 1 + int(id[len(id)-1])%retrySpread
}
