package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// ErrUnavailable says that the event could not be recorded now, or that nobody
// knows whether it was. It is answered by 503, never by 2xx: a retry settles it.
var ErrUnavailable = errors.New("the event could not be recorded now")

func unavailable(why string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%w: %s", ErrUnavailable, why)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, why, brief(cause))
}

// Retention classes as they are stored.
const (
	RetentionShort    int16 = 1
	RetentionStandard int16 = 2
	RetentionLong     int16 = 3
)

// RetentionClasses maps the configuration's class names to the stored numbers.
func RetentionClasses() map[string]int16 {
	return map[string]int16{"short": RetentionShort, "standard": RetentionStandard, "long": RetentionLong}
}

// ActorSystem is the actor of transitions that no person and no sender caused.
const ActorSystem = "oncehook"

// acceptMargin lets a unit at the head of the queue learn what its probe found.
const acceptMargin = time.Second

// Candidate is one delivery of one event, offered for acceptance.
type Candidate struct {
	Key oncehook.Key
	// ReceiptID becomes the receipt's id if this is the event's first copy; it
	// is this delivery's own id in any case, and never used twice.
	ReceiptID     uuid.UUID
	CorrelationID uuid.UUID
	Source        string
	// Event has its Tenant filled, and as ID what may be stored.
	Event oncehook.Event
	// Fingerprints are those of keyring.Fingerprints, the one to store first.
	Fingerprints []keyring.Fingerprint
	// Workflow is the workflow type to start; "" ends the receipt as ignored.
	Workflow string
	// Retention is a class name of RetentionClasses.
	Retention         string
	Principal         string
	CredentialVersion string
	Peer              string
	// Traceparent is the W3C trace context to link the run with, or "".
	Traceparent string
}

// AcceptResult is what became of a Candidate.
type AcceptResult struct {
	// Decision is Accepted, Duplicate or Conflict.
	Decision oncehook.Decision
	// ReceiptID and CorrelationID are those of the event's first copy.
	ReceiptID     uuid.UUID
	CorrelationID uuid.UUID
	// Unchecked says that the stored fingerprint could not be compared.
	Unchecked bool
}

// Accept records a unit of candidates, one request's events, in one transaction
// that it may share with other units, and returns after its COMMIT, with a result
// for each candidate in order. Concurrent copies of an event, in whatever process,
// wait for the first one's COMMIT.
//
// Its error is a *oncehook.Refusal for a candidate that cannot be stored as it
// is, else it wraps ErrUnavailable; then nothing is known about the unit. A
// caller that goes away does not undo its unit, nor does the end of Accept's own
// patience: that of one commit with its probe, so that behind batches which hang
// nobody waits for longer than a sender would.
func (s *Ingress) Accept(ctx context.Context, candidates []Candidate) ([]AcceptResult, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	for i := range candidates {
		if err := storableCandidate(&candidates[i]); err != nil {
			return nil, err
		}
	}
	if err := s.gate.check(ctx); err != nil {
		return nil, unavailable("the schema", err)
	}
	u, err := s.seal(ctx, candidates)
	if err != nil {
		return nil, unavailable("encryption", err)
	}
	s.inFlight.add(u)
	if !s.units.add(u) {
		s.inFlight.remove(u)
		return nil, unavailable("the queue is full or closed", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience+probeTimeout+acceptMargin)
	defer cancel()
	select {
	case <-u.done:
		return u.results, u.err
	case <-ctx.Done():
		return nil, unavailable("the commit took too long, or the caller went away", ctx.Err())
	}
}

// seal encrypts the bodies here, on the caller's goroutine, so that neither a
// large body nor a tenant's first key holds up the others.
func (s *Ingress) seal(ctx context.Context, candidates []Candidate) (*unit, error) {
	u := &unit{deliveries: make([]delivery, len(candidates)), done: make(chan struct{})}
	for i := range candidates {
		c := &candidates[i]
		key, id, err := s.dataKey(ctx, c.Event.Tenant)
		if err != nil {
			return nil, err
		}
		sealed, err := key.Seal(c.Event.Body, bodyAAD(c.Event.Tenant, c.ReceiptID))
		if err != nil {
			return nil, err
		}
		u.deliveries[i] = delivery{Candidate: c, dataKeyID: id, sealed: sealed}
		u.bytes += int64(len(sealed)) + deliveryOverhead
	}
	return u, nil
}
