package store

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// Rejection is an authentic delivery that is no event we know.
type Rejection struct {
	// ID is the delivery's own id, made by the caller.
	ID                                                 uuid.UUID
	Source, Tenant, Principal, CredentialVersion, Peer string
	Refusal                                            oncehook.Refusal
	Body                                               []byte
	// Header is what the adapter reads beside the body. Headers that hold a
	// credential or a cookie are not kept.
	Header http.Header
}

const (
	// RejectedCap is how many rejected deliveries a source may have kept at a
	// time; of those beyond it only the audit row remains.
	RejectedCap = 10_000
	// RejectedRetention is how long a rejected delivery can be submitted again.
	RejectedRetention = 7 * 24 * time.Hour
	// ConflictCap is how many differing contents of one event are kept beside the
	// first; of those beyond it only the decision and its audit row remain.
	ConflictCap = 100
	// FlagNotKept marks the audit row of a delivery beyond its cap.
	FlagNotKept = "not_kept"

	// evidenceText bounds free text in evidence, in bytes.
	evidenceText    = 256
	evidenceTimeout = 4 * time.Second
)

// Reject keeps a rejected delivery, encrypted, and its audit row, in one
// transaction. It reserves no event key. Beyond RejectedCap it writes the audit row
// alone, and kept is false. Its error wraps ErrUnavailable.
func (s *Ingress) Reject(ctx context.Context, r Rejection) (kept bool, err error) {
	if err := s.gate.check(ctx); err != nil {
		return false, unavailable("the schema", err)
	}
	key, keyID, err := s.dataKey(ctx, "")
	if err != nil {
		return false, unavailable("encryption", err)
	}
	body, err := key.Seal(r.Body, rejectedAAD(r.ID, "body"))
	if err != nil {
		return false, unavailable("encryption", err)
	}
	headers, err := key.Seal(keptHeaders(r.Header), rejectedAAD(r.ID, "headers"))
	if err != nil {
		return false, unavailable("encryption", err)
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	now := s.now()
	err = s.pool.QueryRow(ctx, `SELECT oncehook.reject_v1($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)`,
		now, now.Add(RejectedRetention), RejectedCap, r.ID,
		plain(r.Source, evidenceText), plain(r.Tenant, evidenceText), plain(r.Principal, evidenceText),
		plain(r.CredentialVersion, evidenceText), plain(r.Peer, evidenceText),
		string(r.Refusal.Code), plain(r.Refusal.Field, evidenceText), keyID, body, headers).Scan(&kept)
	if err != nil {
		return false, unavailable("keep a rejected delivery", err)
	}
	return kept, nil
}

// detached is a context for evidence, which is written although its sender goes away.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), evidenceTimeout)
}

// rejectedAAD binds a sealed part of a rejected delivery, which no tenant's key
// protects, to its row.
func rejectedAAD(id uuid.UUID, part string) string {
	return "rejected_deliveries||" + id.String() + "|" + part
}

// keptHeaders returns the headers in HTTP's own form, which keeps any bytes.
func keptHeaders(header http.Header) []byte {
	var b bytes.Buffer
	// Writing to a buffer does not fail.
	_ = header.WriteSubset(&b, map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true})
	return b.Bytes()
}

// DecisionRecord is a decision about an authenticated delivery of which nothing
// but the evidence is kept.
type DecisionRecord struct {
	Decision                                                  oncehook.Decision
	Source, Tenant, Principal, CredentialVersion, Peer, Cause string
	CorrelationID                                             uuid.UUID
}

// Record writes one audit row. Its error wraps ErrUnavailable.
func (s *Ingress) Record(ctx context.Context, d DecisionRecord) error {
	if err := s.gate.check(ctx); err != nil {
		return unavailable("the schema", err)
	}
	var correlation *uuid.UUID
	if d.CorrelationID != uuid.Nil {
		correlation = &d.CorrelationID
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	_, err := s.pool.Exec(ctx, `SELECT oncehook.record_v1($1,$2,$3,$4,$5,$6,$7,$8,$9)`,
		s.now(), string(d.Decision), plain(d.Source, evidenceText), plain(d.Tenant, evidenceText),
		plain(d.Principal, evidenceText), plain(d.CredentialVersion, evidenceText), plain(d.Peer, evidenceText),
		plain(d.Cause, evidenceText), correlation)
	if err != nil {
		return unavailable("audit a decision", err)
	}
	return nil
}
