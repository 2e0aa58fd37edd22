package store

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// ErrUnavailable says that the event could not be recorded now, or that nobody
// knows whether it was. It is answered by 503, never by 2xx: a retry settles it.
var ErrUnavailable = errors.New("the event could not be recorded now")

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

// Candidate is one delivery of one event, offered for acceptance.
type Candidate struct {
	Key oncehook.Key
	// ReceiptID becomes the receipt's id if this is the event's first copy; it
	// is this delivery's own id in any case.
	ReceiptID     uuid.UUID
	CorrelationID uuid.UUID
	Source        string
	// Event has its Tenant filled, and as ID what may be stored.
	Event        oncehook.Event
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
// that it may share with other units, and returns after its COMMIT.
func (s *Ingress) Accept(_ context.Context, _ []Candidate) ([]AcceptResult, error) {
	return nil, ErrUnavailable
}
