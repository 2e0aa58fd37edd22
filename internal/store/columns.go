package store

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// columns are the parallel arrays that accept_v1 takes. Their memory is reused
// from one call to the next, what they point to is not kept.
type columns struct {
	keys                                        []string
	ids, correlations                           []pgtype.UUID
	recipes                                     []string
	fingerprintKeys                             []int64
	fingerprints                                [][]byte
	altOrds                                     []int32
	altRecipes                                  []string
	altFingerprintKeys                          []int64
	altFingerprints                             [][]byte
	sources, tenants, eventIDs, types, subjects []string
	occurred                                    []pgtype.Timestamptz
	sequences, workflows, traceparents          []string
	classes                                     []int16
	dataKeys                                    []int64
	bodies                                      [][]byte
	principals, credentials, peers, flags       []string
}

func (c *columns) reset() {
	for _, texts := range []*[]string{
		&c.keys, &c.recipes, &c.altRecipes, &c.sources, &c.tenants, &c.eventIDs, &c.types, &c.subjects,
		&c.sequences, &c.workflows, &c.traceparents, &c.principals, &c.credentials, &c.peers, &c.flags,
	} {
		clear(*texts)
		*texts = (*texts)[:0]
	}
	for _, blobs := range []*[][]byte{&c.fingerprints, &c.altFingerprints, &c.bodies} {
		clear(*blobs)
		*blobs = (*blobs)[:0]
	}
	c.ids, c.correlations, c.occurred = c.ids[:0], c.correlations[:0], c.occurred[:0]
	c.fingerprintKeys, c.altFingerprintKeys, c.dataKeys = c.fingerprintKeys[:0], c.altFingerprintKeys[:0], c.dataKeys[:0]
	c.altOrds, c.classes = c.altOrds[:0], c.classes[:0]
}

func (c *columns) add(d *delivery, classes map[string]int16) {
	c.keys = append(c.keys, string(d.Key))
	c.ids = append(c.ids, pgtype.UUID{Bytes: d.ReceiptID, Valid: true})
	c.correlations = append(c.correlations, pgtype.UUID{Bytes: d.CorrelationID, Valid: true})
	for i, f := range d.Fingerprints {
		if i == 0 {
			c.recipes = append(c.recipes, f.Recipe)
			c.fingerprintKeys = append(c.fingerprintKeys, int64(f.KeyID))
			c.fingerprints = append(c.fingerprints, f.Value)
			continue
		}
		c.altOrds = append(c.altOrds, int32(len(c.keys))) //nolint:gosec // a batch is bounded
		c.altRecipes = append(c.altRecipes, f.Recipe)
		c.altFingerprintKeys = append(c.altFingerprintKeys, int64(f.KeyID))
		c.altFingerprints = append(c.altFingerprints, f.Value)
	}
	c.sources = append(c.sources, d.Source)
	c.tenants = append(c.tenants, d.Event.Tenant)
	c.eventIDs = append(c.eventIDs, d.Event.ID)
	c.types = append(c.types, d.Event.Type)
	c.subjects = append(c.subjects, d.Event.Subject)
	c.occurred = append(c.occurred, pgtype.Timestamptz{Time: d.Event.OccurredAt, Valid: !d.Event.OccurredAt.IsZero()})
	c.sequences = append(c.sequences, d.Event.Sequence)
	c.workflows = append(c.workflows, d.Workflow)
	c.traceparents = append(c.traceparents, d.Traceparent)
	c.classes = append(c.classes, classes[d.Retention])
	c.dataKeys = append(c.dataKeys, d.dataKeyID)
	c.bodies = append(c.bodies, d.sealed)
	c.principals = append(c.principals, d.Principal)
	c.credentials = append(c.credentials, d.CredentialVersion)
	c.peers = append(c.peers, d.Peer)
	c.flags = append(c.flags, strings.Join(d.Event.Flags, ","))
}

const acceptStatement = `SELECT ord, outcome, receipt_id, correlation_id, unchecked FROM oncehook.accept_v1(` +
	`$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28)`

func (c *columns) arguments(now time.Time) []any {
	return []any{
		now, ConflictCap, c.keys, c.ids, c.correlations, c.recipes, c.fingerprintKeys, c.fingerprints,
		c.altOrds, c.altRecipes, c.altFingerprintKeys, c.altFingerprints,
		c.sources, c.tenants, c.eventIDs, c.types, c.subjects, c.occurred, c.sequences, c.workflows, c.traceparents,
		c.classes, c.dataKeys, c.bodies, c.principals, c.credentials, c.peers, c.flags,
	}
}
