package ingress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/ingress"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
	"github.com/oncehook/oncehook/providers"
)

const (
	token      = "token-of-logistics"
	otherToken = "token-of-somebody-else"
	arrival    = "shipment.depot_arrival"
)

// keys returns the keyring of the databases that database makes.
var keys = sync.OnceValue(func() *keyring.Keyring { //nolint:gochecknoglobals // one installation per test binary
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

func database(t testing.TB) string {
	t.Helper()
	return pgtest.Template(t, "ingress", func(url string) error {
		o := store.Options{URL: url, Keyring: keys(), Log: slog.New(slog.DiscardHandler)}
		if err := store.Migrate(context.Background(), o); err != nil {
			return err
		}
		return storetest.MakeRoles(context.Background(), o)
	})
}

// system is an ingress over real HTTP and a real database.
type system struct {
	t     testing.TB
	url   string
	store *store.Ingress
	db    *pgxpool.Pool
	log   *logBuffer
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// setup is what a test may change before its system starts.
type setup struct {
	ingress.Config
	databaseURL string
}

func sourceOf(t testing.TB, name string, required ...string) ingress.Source {
	t.Helper()
	subject := ""
	if len(required) > 0 {
		subject = required[0]
	}
	p, err := providers.New("bearer", oncehook.Source{
		Name: name,
		Principals: []oncehook.Principal{
			{Name: "sender", Tenants: []string{"north", "sandbox"}, Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret(token)}}},
			{Name: "other", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{{Version: "9", Secret: oncehook.Secret(otherToken)}}},
		},
		Fields: oncehook.Fields{Required: required, Subject: subject},
	})
	require.NoError(t, err)
	return ingress.Source{Name: name, Kind: "bearer", Provider: p, Types: []string{arrival, "shipment.weighed"}, BodyLimit: 64 << 10, Retention: "standard"}
}

// start runs a system with the sources logistics (as in the contract's example)
// and "any thing" (no required fields, every type, a default tenant).
func start(t testing.TB, changes ...func(*setup)) *system {
	t.Helper()
	anything := sourceOf(t, "any thing")
	anything.Types, anything.DefaultTenant = []string{ingress.AllTypes}, "north"
	log := &logBuffer{}
	s := &setup{databaseURL: database(t), Config: ingress.Config{
		Keyring: keys(), Sources: []ingress.Source{sourceOf(t, "logistics", "shipment_id", "depot_id"), anything},
		Routes: oncehook.Routes{{Provider: "bearer", Type: arrival, Workflow: "ShipmentDepotArrival"}},
		Log:    slog.New(slog.NewJSONHandler(log, nil)),
	}}
	db, err := pgxpool.New(t.Context(), s.databaseURL)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	for _, change := range changes {
		change(s)
	}
	if s.Store == nil {
		s.Store, err = store.OpenIngress(t.Context(), store.Options{URL: storetest.As(store.DatabaseIngress, s.databaseURL), Keyring: keys(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(s.Store.Close)
	}
	handler, err := ingress.New(s.Config)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	guard := ingress.HeaderGuard{OnAnswer: func(peer net.Addr, code oncehook.Code) {
		s.Store.Count("", oncehook.Unauthenticated, string(code), netip.MustParseAddrPort(peer.String()).Addr())
	}}
	guard.Attach(server.Config)
	server.Listener = guard.Listen(server.Listener)
	server.Config.MaxHeaderBytes = 64 << 10
	server.Start()
	t.Cleanup(server.Close)
	return &system{t: t, url: server.URL, store: s.Store, db: db, log: log}
}

// answer is what a sender sees.
type answer struct {
	status int
	header http.Header
	body   string
	fields map[string]any
}

func (a answer) text(field string) string {
	s, _ := a.fields[field].(string)
	return s
}

// request changes a request before it is sent.
type request func(*http.Request)

func header(name string, values ...string) request {
	return func(r *http.Request) { r.Header[name] = values }
}

func bearerOf(token string) request { return header("Authorization", "Bearer "+token) }

func method(m string) request { return func(r *http.Request) { r.Method = m } }

// post sends a body to a source, as its sender unless changed.
func (s *system) post(source, body string, changes ...request) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/hooks/"+source, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for _, change := range changes {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	a := answer{status: response.StatusCode, header: response.Header, body: string(text)}
	_ = json.Unmarshal(text, &a.fields)
	return a
}

// event is a sound body; changes are pairs of passages to replace.
func event(id string, changes ...string) string {
	body := `{"id":"` + id + `","tenant":"north","type":"shipment.depot_arrival","shipment_id":"shipment-1","depot_id":"depot-1","occurred_at":"2026-11-30T10:00:00Z"}`
	return strings.NewReplacer(changes...).Replace(body)
}

func (s *system) number(query string, args ...any) int {
	s.t.Helper()
	var n int
	require.NoError(s.t, s.db.QueryRow(context.Background(), query, args...).Scan(&n), query)
	return n
}

// refusedWith checks a problem document and returns it.
func (s *system) refusedWith(a answer, status int, code oncehook.Code) answer {
	s.t.Helper()
	require.Equal(s.t, status, a.status, a.body)
	require.Equal(s.t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(s.t, string(code), a.text("code"), a.body)
	require.Equal(s.t, code.Title(), a.text("title"))
	require.EqualValues(s.t, status, a.fields["status"])
	require.Equal(s.t, code.Retryable(), a.fields["retryable"])
	require.NotEmpty(s.t, a.text("detail"))
	require.Len(s.t, a.text("correlation_id"), 36)
	s.protected(a)
	return a
}

func (s *system) protected(a answer) {
	s.t.Helper()
	require.Equal(s.t, "nosniff", a.header.Get("X-Content-Type-Options"))
	require.Equal(s.t, "no-store", a.header.Get("Cache-Control"))
}

// accepted checks the success body and returns it.
func (s *system) acceptedAs(a answer, decision oncehook.Decision) answer {
	s.t.Helper()
	status := map[oncehook.Decision]int{oncehook.Accepted: http.StatusAccepted, oncehook.Duplicate: http.StatusOK}[decision]
	require.Equal(s.t, status, a.status, a.body)
	require.Equal(s.t, "application/json", a.header.Get("Content-Type"))
	require.Len(s.t, a.fields, 4, a.body)
	require.Equal(s.t, string(decision), a.text("status"))
	for _, field := range []string{"event_key", "receipt_id", "correlation_id"} {
		require.NotEmpty(s.t, a.text(field), a.body)
	}
	s.protected(a)
	return a
}

// counted waits until the sums show a refusal.
func (s *system) counted(source string, decision oncehook.Decision, cause string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.number(`SELECT coalesce(sum(count), 0) FROM oncehook.audit_sums WHERE source = $1 AND outcome = $2 AND cause = $3`, source, string(decision), cause) > 0
	}, 20*time.Second, 20*time.Millisecond, "%s %s %s", source, decision, cause)
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
