package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// keys returns the keyring of the databases that database makes.
var keys = sync.OnceValue(func() *keyring.Keyring {
	k, err := newKeyring()
	if err != nil {
		panic(err)
	}
	return k
})

func newKeyring() (*keyring.Keyring, error) {
	identity, keyset, err := keyring.Generate()
	if err != nil {
		return nil, err
	}
	return keyring.Load(identity, keyset)
}

func options(url string) store.Options {
	return store.Options{URL: url, Keyring: keys(), Log: slog.New(slog.DiscardHandler)}
}

// database returns the URL of a migrated database of the test's own. What opens a
// store on it does so as the role's own login: every test here is one of its
// privileges.
func database(t testing.TB) string {
	t.Helper()
	url := pgtest.Template(t, "store", func(url string) error {
		if err := store.Migrate(context.Background(), options(url)); err != nil {
			return err
		}
		return storetest.MakeRoles(context.Background(), options(url))
	})
	withRoles.Store(pgtest.DatabaseName(t, url), true)
	return url
}

// withRoles holds the names of the databases that database made.
var withRoles sync.Map

// as makes the superuser of such a database the role's login.
func as(t testing.TB, role store.DatabaseRole, o store.Options) store.Options {
	t.Helper()
	u, err := url.Parse(o.URL)
	require.NoError(t, err)
	if _, ok := withRoles.Load(strings.TrimPrefix(u.Path, "/")); ok && u.User.Username() == "postgres" {
		o.URL = storetest.As(role, o.URL)
	}
	return o
}

func openIngress(t testing.TB, o store.Options) *store.Ingress {
	t.Helper()
	s, err := store.OpenIngress(t.Context(), as(t, store.DatabaseIngress, o))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// connect returns connections of the test's own, to look and to interfere.
func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func number(t testing.TB, db *pgxpool.Pool, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, db.QueryRow(t.Context(), query, args...).Scan(&n), query)
	return n
}

// change alters a candidate.
type change func(*store.Candidate)

// content makes the event's compared content differ by its word.
func content(word string) change {
	return func(c *store.Candidate) {
		c.Event.Compared = []byte(`{"depot":"` + word + `"}`)
		c.Event.Body = []byte(`{"id":"` + c.Event.ID + `","depot":"` + word + `"}`)
		c.Fingerprints = fingerprints(keys(), c.Event.Compared)
	}
}

func fingerprints(k *keyring.Keyring, compared []byte) []keyring.Fingerprint {
	list, err := k.Fingerprints(compared)
	if err != nil {
		panic(err)
	}
	return list
}

func withoutWorkflow(c *store.Candidate) { c.Workflow = "" }

// copyOf makes one delivery of the event with that id.
func copyOf(id string, changes ...change) store.Candidate {
	key, err := keys().Identity().Key("logistics", "north", id, false)
	if err != nil {
		panic(err)
	}
	c := store.Candidate{
		Key: key, ReceiptID: uuid.Must(uuid.NewV7()), CorrelationID: uuid.New(), Source: "logistics",
		Event: oncehook.Event{
			ID: id, Tenant: "north", Type: "shipment.depot_arrival", Subject: "shipment-1",
			OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		},
		Workflow: "ShipmentDepotArrival", Retention: "standard",
		Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.7",
	}
	content("depot-7")(&c)
	for _, change := range changes {
		change(&c)
	}
	return c
}

func accept(t testing.TB, s *store.Ingress, unit ...store.Candidate) []store.AcceptResult {
	t.Helper()
	results, err := s.Accept(t.Context(), unit)
	require.NoError(t, err)
	require.Len(t, results, len(unit))
	return results
}

func decisions(results []store.AcceptResult) []oncehook.Decision {
	list := make([]oncehook.Decision, len(results))
	for i := range results {
		list[i] = results[i].Decision
	}
	return list
}

// answers collects what concurrent calls of Accept returned.
type answers struct {
	wg                                                sync.WaitGroup
	accepted, duplicate, conflict, unavailable, other atomic.Int64
	arrived                                           atomic.Int64
}

func (a *answers) offer(s *store.Ingress, unit ...store.Candidate) {
	a.wg.Go(func() {
		results, err := s.Accept(context.Background(), unit)
		a.arrived.Add(1)
		if err != nil {
			a.unavailable.Add(1)
			return
		}
		for _, r := range results {
			switch r.Decision {
			case oncehook.Accepted:
				a.accepted.Add(1)
			case oncehook.Duplicate:
				a.duplicate.Add(1)
			case oncehook.Conflict:
				a.conflict.Add(1)
			default:
				a.other.Add(1)
			}
		}
	})
}

func (a *answers) String() string {
	return fmt.Sprintf("accepted %d, duplicate %d, conflict %d, unavailable %d, other %d",
		a.accepted.Load(), a.duplicate.Load(), a.conflict.Load(), a.unavailable.Load(), a.other.Load())
}

// soon waits for a condition that comes true without further ado.
func soon(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, what)
}

// begin opens a transaction of the test's own, rolled back at the latest when the test ends.
func begin(t testing.TB, db *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}
