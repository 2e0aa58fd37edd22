// Package storetest opens the store's roles on a real database of the test's
// own, and puts events into it by the way that deliveries take.
package storetest

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// keys is one installation per test binary: its databases are copies of one template.
var keys = sync.OnceValue(func() *keyring.Keyring { //nolint:gochecknoglobals // see above
	identity, keyset, err := keyring.Generate()
	if err != nil {
		panic(err)
	}
	k, err := keyring.Load(identity, keyset)
	if err != nil {
		panic(err)
	}
	return k
})

// Options opens a role on one of this package's databases.
func Options(url string) store.Options {
	return store.Options{URL: url, Keyring: keys(), Log: slog.New(slog.DiscardHandler)}
}

// Store is a database with its roles, which close when the test ends.
type Store struct {
	URL     string
	Ingress *store.Ingress
	Work    *store.Work
	// DB is the test's own way to look and to interfere.
	DB *pgxpool.Pool
}

// Open makes a migrated database, with the business schemas that are given by
// name, and opens each role as PostgreSQL's role of that name: what a statement
// was not granted fails here. The test's package must call pgtest.Run.
func Open(t testing.TB, schemas map[string]fs.FS) *Store {
	t.Helper()
	s := &Store{URL: pgtest.Template(t, "storetest", func(url string) error {
		if err := store.Migrate(context.Background(), Options(url)); err != nil {
			return err
		}
		for name, files := range schemas {
			if err := store.MigrateBusiness(context.Background(), Options(url), name, files); err != nil {
				return err
			}
		}
		return MakeRoles(context.Background(), Options(url), slices.Collect(maps.Keys(schemas))...)
	})}
	var err error
	s.Ingress, err = store.OpenIngress(t.Context(), Options(As(store.DatabaseIngress, s.URL)))
	require.NoError(t, err)
	t.Cleanup(s.Ingress.Close)
	s.Work = OpenWork(t, s.URL)
	s.DB, err = pgxpool.New(t.Context(), s.URL)
	require.NoError(t, err)
	t.Cleanup(s.DB.Close)
	return s
}

// OpenWork opens another worker's store on a database of Open, whoever the URL names.
func OpenWork(t testing.TB, url string) *store.Work {
	t.Helper()
	work, err := store.OpenWork(t.Context(), Options(As(store.DatabaseWork, url)))
	require.NoError(t, err)
	t.Cleanup(work.Close)
	return work
}

// Event is an event to accept. Empty fields get values.
type Event struct {
	Source, Tenant, ID, Type string
	// Workflow defaults to "Flow".
	Workflow   string
	Body       string
	OccurredAt time.Time
}

// Accept accepts the event, sent by the principal "sender" under credential version "1".
func (s *Store) Accept(t testing.TB, e Event) store.Candidate {
	t.Helper()
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&e.Source, "logistics")
	fill(&e.Tenant, "north")
	fill(&e.Type, "shipment.depot_arrival")
	fill(&e.Workflow, "Flow")
	fill(&e.Body, `{"id":"`+e.ID+`"}`)
	key, err := keys().Identity().Key(e.Source, e.Tenant, e.ID, false)
	require.NoError(t, err)
	fingerprints, err := keys().Fingerprints([]byte(`{}`))
	require.NoError(t, err)
	c := store.Candidate{
		Key: key, ReceiptID: uuid.Must(uuid.NewV7()), CorrelationID: uuid.New(), Source: e.Source,
		Event: oncehook.Event{
			ID: e.ID, Tenant: e.Tenant, Type: e.Type, OccurredAt: e.OccurredAt, Compared: []byte(`{}`), Body: []byte(e.Body),
		},
		Fingerprints: fingerprints, Workflow: e.Workflow, Retention: "standard",
		Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.7",
	}
	results, err := s.Ingress.Accept(t.Context(), []store.Candidate{c})
	require.NoError(t, err)
	require.Equal(t, oncehook.Accepted, results[0].Decision)
	return c
}

// Queue accepts the event and claims its start, as the dispatcher does before
// it calls Temporal.
func (s *Store) Queue(t testing.TB, e Event) oncehook.Ref {
	t.Helper()
	accepted := s.Accept(t, e)
	starts, err := s.Work.ClaimStarts(t.Context(), store.ClaimLimits{Batch: 1, PerSource: 1, InFlight: 1000, Lease: time.Minute})
	require.NoError(t, err)
	require.Len(t, starts, 1)
	require.Equal(t, accepted.ReceiptID.String(), starts[0].Ref.ReceiptID)
	require.NoError(t, s.Work.MarkStarted(t.Context(), starts[0].OutboxID, "run"))
	return starts[0].Ref
}

// Count runs a query that returns one number.
func (s *Store) Count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.DB.QueryRow(t.Context(), query, args...).Scan(&n), query)
	return n
}

// End returns the receipt's state, its cause, and the detail of its last transition.
func (s *Store) End(t testing.TB, receiptID string) (state oncehook.State, cause, detail string) {
	t.Helper()
	require.NoError(t, s.DB.QueryRow(t.Context(), `
		SELECT r.state, r.cause, coalesce(h.detail, '') FROM oncehook.receipts r
		JOIN oncehook.receipt_history h ON h.receipt_id = r.id AND h.version = r.version WHERE r.id = $1`, receiptID).Scan(&state, &cause, &detail))
	return state, cause, detail
}
