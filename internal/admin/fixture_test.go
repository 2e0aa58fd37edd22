package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

var keys = sync.OnceValue(func() *keyring.Keyring {
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

func options(url string) store.Options {
	return store.Options{URL: url, Keyring: keys(), Log: slog.New(slog.DiscardHandler)}
}

func database(t testing.TB) string {
	t.Helper()
	return pgtest.Template(t, "admin", func(url string) error {
		if err := store.Migrate(context.Background(), options(url)); err != nil {
			return err
		}
		return storetest.MakeRoles(context.Background(), options(url))
	})
}

const uiURL = "http://temporal.test/ui"

// running is an admin API over a database.
type running struct {
	url   string
	token oncehook.Secret
	store *store.Admin
}

func serve(t testing.TB, database string, change ...func(*admin.Config)) running {
	t.Helper()
	s, err := store.OpenAdmin(t.Context(), options(storetest.As(store.DatabaseAdmin, database)))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	token, err := store.NewOperatorToken()
	require.NoError(t, err)
	c := admin.Config{
		Store: s, TemporalUI: uiURL, Log: slog.New(slog.DiscardHandler),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metric 1\n") }),
		Sources: []store.LookupSource{{Name: "people", Personal: true}},
	}
	for _, change := range change {
		change(&c)
	}
	server := httptest.NewServer(admin.New(c))
	t.Cleanup(server.Close)
	return running{url: server.URL, token: token, store: s}
}

// serveMigrated is serve over a new database that knows the token.
func serveMigrated(t testing.TB, change ...func(*admin.Config)) (running, string) {
	t.Helper()
	url := database(t)
	r := serve(t, url, change...)
	require.NoError(t, r.store.EnsureAdmin(t.Context(), "admin", r.token))
	return r, url
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r running) do(t testing.TB, method, target string, authorization ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+target, nil)
	require.NoError(t, err)
	request.Header["Authorization"] = authorization
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, body}
}

func (r running) get(t testing.TB, target string) reply {
	t.Helper()
	return r.do(t, http.MethodGet, target, "Bearer "+string(r.token))
}

// problem checks the form of a problem document and returns its fields.
func (r reply) problem(t testing.TB, status int, code oncehook.Code) map[string]any {
	t.Helper()
	require.Equal(t, status, r.status, "%s", r.body)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	p := r.object(t)
	require.Equal(t, string(code), p["code"])
	require.EqualValues(t, status, p["status"])
	for _, name := range []string{"title", "detail", "retryable", "correlation_id"} {
		require.Contains(t, p, name)
		require.NotNil(t, p[name])
	}
	return p
}

func (r reply) object(t testing.TB) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(r.body, &fields), "%s", r.body)
	return fields
}

// accept puts one event of the source and tenant into the database.
func accept(t testing.TB, url, source, tenant, id string) store.Candidate {
	t.Helper()
	in, err := store.OpenIngress(t.Context(), options(storetest.As(store.DatabaseIngress, url)))
	require.NoError(t, err)
	defer in.Close()
	key, err := keys().Identity().Key(source, tenant, id, false)
	require.NoError(t, err)
	prints, err := keys().Fingerprints([]byte(`{}`))
	require.NoError(t, err)
	c := store.Candidate{
		Key: key, ReceiptID: uuid.Must(uuid.NewV7()), CorrelationID: uuid.New(), Source: source,
		Event:        oncehook.Event{ID: id, Tenant: tenant, Type: "shipment.depot_arrival", OccurredAt: time.Now(), Body: []byte(`{}`)},
		Fingerprints: prints, Workflow: "ShipmentDepotArrival", Retention: "standard", Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.1",
	}
	results, err := in.Accept(t.Context(), []store.Candidate{c})
	require.NoError(t, err)
	require.Equal(t, oncehook.Accepted, results[0].Decision)
	return c
}
