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
	taken, refusal := d.limitRate(unit)
	if refusal != nil {
		return refusal
	}
	results, err := d.Store.Accept(d.c.Request().Context(), unit)
	if err != nil {
		return d.notAccepted(err)
	}
	d.giveBack(taken, unit, results)
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
	correlation, err := uuid.NewRandom()
	if err != nil {
		return store.Candidate{}, err
	}
	workflow, _ := d.Routes.Workflow(d.source.Kind, d.source.Name, e.Type)
	return store.Candidate{
		Key: key, ReceiptID: receipt, CorrelationID: correlation, Source: d.source.Name, Event: e,
		Fingerprints: fingerprints, Workflow: workflow, Retention: d.source.Retention,
		Principal: d.proof.Principal, CredentialVersion: d.proof.CredentialVersion, Peer: d.peer.String(),
	}, nil
}

// limitRate bounds new events per source and tenant, and returns how many tokens
// it took of each tenant. It never refuses a known key: those are asked for only
// once the limit is reached.
func (d *delivery) limitRate(unit []store.Candidate) (map[string]int, *refused) {
	fresh := map[string][]oncehook.Key{}
	for n := range unit {
		if !d.Store.InFlight(unit[n].Key) {
			fresh[unit[n].Event.Tenant] = append(fresh[unit[n].Event.Tenant], unit[n].Key)
		}
	}
	taken := map[string]int{}
	now := d.Now()
	for tenant, keys := range fresh {
		wait := d.limits.take(d.source, tenant, len(keys), now)
		if wait == 0 {
			taken[tenant] = len(keys)
			continue
		}
		known, err := d.Store.Known(d.c.Request().Context(), keys)
		if err == nil && !slices.Contains(known, false) {
			continue
		}
		d.giveBack(taken, nil, nil)
		if err != nil {
			return nil, unavailable(err)
		}
		return nil, rateLimited(tenant, wait)
	}
	return taken, nil
}

// giveBack returns the tokens of copies: a sender that repeats itself must not
// use up the rate of new events.
func (d *delivery) giveBack(taken map[string]int, unit []store.Candidate, results []store.AcceptResult) {
	for n := range results {
		if tenant := unit[n].Event.Tenant; taken[tenant] > 0 && results[n].Decision == oncehook.Accepted {
			taken[tenant]--
		}
	}
	now := d.Now()
	for tenant, n := range taken {
		d.limits.give(d.source, tenant, n, now)
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
