package ingress

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// accept reads the events of an authenticated request and commits them as one unit.
func (d *delivery) accept() *refused {
	items, err := d.source.Provider.Events(d.request, d.proof)
	if err != nil {
		return d.unreadable(err)
	}
	if len(items) == 0 {
		return d.succeed(nil)
	}
	for n := range items {
		if items[n].Refusal != nil {
			return rejected(items[n].Refusal, "")
		}
	}
	if refusal := d.authorize(items); refusal != nil {
		return refusal
	}
	unit, refusal := d.candidates(items)
	if refusal != nil {
		return refusal
	}
	if refusal := d.limitRate(unit); refusal != nil {
		return refusal
	}
	var results []store.AcceptResult
	// Also after a panic: an admitted key must not stay so.
	defer func() { d.limits.settle(d.source, unit, results, d.Now()) }()
	if results, err = d.Store.Accept(d.c.Request().Context(), unit); err != nil {
		return d.notAccepted(err)
	}
	return d.answerResults(unit, results)
}

// unreadable refuses a request whose events the adapter could not read.
func (d *delivery) unreadable(err error) *refused {
	if refusal, ok := errors.AsType[*oncehook.Refusal](err); ok {
		return rejected(refusal, "")
	}
	// Whatever else it is may repeat the body: only its type is told.
	return internal(err)
}

// authorize completes each event's tenant and refuses one for which the
// principal may not speak.
func (d *delivery) authorize(items []oncehook.Item) *refused {
	for n := range items {
		e := &items[n].Event
		if e.Tenant == "" {
			e.Tenant = d.source.DefaultTenant
		}
		if e.Tenant == "" {
			return rejected(&oncehook.Refusal{
				Code: oncehook.CodeTenantMissing, Field: "tenant",
				Detail: "the event names no tenant and the source has no default tenant",
			}, "")
		}
		if !d.proof.MaySpeakFor(e.Tenant) {
			return &refused{
				decision: oncehook.TenantForbidden, evidence: inRow, tenant: e.Tenant,
				Refusal: oncehook.Refusal{Code: oncehook.CodeTenantForbidden, Field: "tenant", Detail: "the credential does not speak for the event's tenant"},
			}
		}
	}
	return nil
}

// candidates turns authorized events into what the store accepts.
func (d *delivery) candidates(items []oncehook.Item) ([]store.Candidate, *refused) {
	unit := make([]store.Candidate, 0, len(items))
	for n := range items {
		e := items[n].Event
		if !d.source.recognizes(e.Type) {
			return nil, rejected(&oncehook.Refusal{
				Code: oncehook.CodeTypeUnrecognized, Field: "type",
				Detail: "the field type names no event type of this source",
			}, e.Tenant)
		}
		key, err := d.Keyring.Identity().Key(d.source.Name, e.Tenant, e.ID, d.source.PersonalIDs)
		if refusal, ok := errors.AsType[*oncehook.Refusal](err); ok {
			return nil, rejected(refusal, e.Tenant)
		}
		if d.source.PersonalIDs {
			e.ID = key.ID()
		}
		candidate, err := d.candidate(key, e)
		if err != nil {
			return nil, unavailable(err)
		}
		unit = append(unit, candidate)
	}
	return unit, nil
}

func (d *delivery) candidate(key oncehook.Key, e oncehook.Event) (store.Candidate, error) {
	fingerprints, err := d.Keyring.Fingerprints(e.Compared)
	if err != nil {
		return store.Candidate{}, err
	}
	receipt, err := uuid.NewV7()
	if err != nil {
		return store.Candidate{}, err
	}
	correlation, err := uuid.NewV7()
	if err != nil {
		return store.Candidate{}, err
	}
	workflow, _ := d.Routes.Workflow(d.source.Kind, d.source.Name, e.Type)
	return store.Candidate{
		Key: key, ReceiptID: receipt, CorrelationID: correlation, Source: d.source.Name, Event: e,
		Fingerprints: fingerprints, Workflow: workflow, Retention: d.source.Retention,
		Principal: d.proof.Principal, CredentialVersion: d.proof.CredentialVersion, Peer: d.peer.String(),
		Traceparent: d.traceparent(),
	}, nil
}

// limitRate admits a unit, or refuses it for the rate of new events per source and
// tenant. It never refuses a known key, nor one in flight: known ones are asked for
// only once the limit is reached.
func (d *delivery) limitRate(unit []store.Candidate) *refused {
	known := map[oncehook.Key]bool{}
	free := func(key oncehook.Key) bool { return known[key] || d.Store.InFlight(key) }
	for {
		over := d.limits.admit(d.source, unit, free, d.Now())
		if over == nil {
			return nil
		}
		answers, err := d.Store.Known(d.c.Request().Context(), over.keys)
		if err != nil {
			return unavailable(err)
		}
		if !slices.Contains(answers, true) {
			return rateLimited(over.tenant, over.wait)
		}
		// Without these the rest may fit.
		for n, key := range over.keys {
			known[key] = known[key] || answers[n]
		}
	}
}

func rateLimited(tenant string, wait time.Duration) *refused {
	return &refused{
		decision: oncehook.RateLimited, evidence: inSum, tenant: tenant, retryAfter: wait,
		Refusal: oncehook.Refusal{Code: oncehook.CodeRateLimited, Detail: "new events of this source and tenant come faster than its limit"},
	}
}

// notAccepted refuses a unit that the store did not commit, or may not have.
func (d *delivery) notAccepted(err error) *refused {
	if refusal, ok := errors.AsType[*oncehook.Refusal](err); ok {
		return rejected(refusal, "")
	}
	return unavailable(err)
}
