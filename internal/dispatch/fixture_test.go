package dispatch_test

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

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

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// post is a database with an outbox, and a client of the real server.
type post struct {
	t       *testing.T
	url     string
	ingress *store.Ingress
	work    *store.Work
	db      *pgxpool.Pool
	client  client.Client
	source  string
}

func openPost(t *testing.T) *post {
	t.Helper()
	p := &post{t: t, source: "s" + uuid.NewString()[:8]}
	p.url = pgtest.Template(t, "store", func(url string) error {
		return store.Migrate(context.Background(), store.Options{URL: url, Keyring: keys(), Log: quiet()})
	})
	var err error
	p.ingress, err = store.OpenIngress(t.Context(), store.Options{URL: p.url, Keyring: keys(), Log: quiet()})
	require.NoError(t, err)
	t.Cleanup(p.ingress.Close)
	p.work = openWork(t, p.url)
	p.db, err = pgxpool.New(t.Context(), p.url)
	require.NoError(t, err)
	t.Cleanup(p.db.Close)
	p.client = dial(t, shared.address(t), client.DefaultNamespace)
	return p
}

func openWork(t *testing.T, url string) *store.Work {
	t.Helper()
	work, err := store.OpenWork(t.Context(), store.Options{URL: url, Keyring: keys(), Log: quiet()})
	require.NoError(t, err)
	t.Cleanup(work.Close)
	return work
}

// dial does not wait for the server, as a process that starts before it.
func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Namespace: namespace, Logger: log.NewStructuredLogger(quiet()),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(dispatch.RequestIDInterceptor())}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// accepted is an accepted event.
type accepted struct {
	key     string
	receipt uuid.UUID
}

func (p *post) accept(id string, changes ...func(*store.Candidate)) accepted {
	p.t.Helper()
	key, err := keys().Identity().Key(p.source, "north", id, false)
	require.NoError(p.t, err)
	compared := []byte(`{"depot":"depot-7"}`)
	fingerprints, err := keys().Fingerprints(compared)
	require.NoError(p.t, err)
	c := store.Candidate{
		Key: key, ReceiptID: uuid.Must(uuid.NewV7()), CorrelationID: uuid.New(), Source: p.source,
		Event:        oncehook.Event{ID: id, Tenant: "north", Type: "shipment.depot_arrival", Compared: compared, Body: []byte(`{}`)},
		Fingerprints: fingerprints, Workflow: "Flow", Retention: "standard", Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.7",
	}
	for _, change := range changes {
		change(&c)
	}
	_, err = p.ingress.Accept(p.t.Context(), []store.Candidate{c})
	require.NoError(p.t, err)
	return accepted{key: string(key), receipt: c.ReceiptID}
}

func (p *post) config() dispatch.Config {
	return dispatch.Config{Store: p.work, Client: p.client, Log: quiet()}
}

// dispatch runs a dispatcher until the test ends or stop is called.
func (p *post) dispatch(c dispatch.Config) (d *dispatch.Dispatcher, stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	d, done := dispatch.New(c), make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(p.t, <-done)
	})
	p.t.Cleanup(stop)
	return d, stop
}

// row is an outbox row.
type row struct {
	dispatched bool
	runID      string
	lastError  string
	alert      string
	claims     int
}

func (p *post) row(a accepted) row {
	p.t.Helper()
	var r row
	require.NoError(p.t, p.db.QueryRow(p.t.Context(), `
		SELECT dispatched_at IS NOT NULL, coalesce(run_id, ''), coalesce(last_error, ''), coalesce(alert, ''), claims
		FROM oncehook.outbox WHERE receipt_id = $1 ORDER BY id DESC LIMIT 1`, a.receipt).
		Scan(&r.dispatched, &r.runID, &r.lastError, &r.alert, &r.claims))
	return r
}

func (p *post) state(a accepted) (state, cause string) {
	p.t.Helper()
	require.NoError(p.t, p.db.QueryRow(p.t.Context(), `SELECT state, cause FROM oncehook.receipts WHERE id = $1`, a.receipt).Scan(&state, &cause))
	return state, cause
}

func (p *post) exec(sql string, args ...any) {
	p.t.Helper()
	_, err := p.db.Exec(p.t.Context(), sql, args...)
	require.NoError(p.t, err)
}

// forget undoes the mark, as if the process had died before it.
func (p *post) forget(a accepted) {
	p.t.Helper()
	p.exec(`UPDATE oncehook.outbox SET dispatched_at = NULL, run_id = NULL, lease_until = NULL WHERE receipt_id = $1`, a.receipt)
}

func (p *post) soon(condition func() bool, what string) {
	p.t.Helper()
	require.Eventually(p.t, condition, 30*time.Second, 10*time.Millisecond, what)
}

func (p *post) started(a accepted) row {
	p.t.Helper()
	p.soon(func() bool { return p.row(a).dispatched }, "the row is dispatched")
	return p.row(a)
}

// relay is a TCP relay that a test can close and open again, on one port.
type relay struct {
	t      *testing.T
	addr   string
	target string
	mu     sync.Mutex
	listen net.Listener
	conns  []net.Conn
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	r := &relay{t: t, addr: "127.0.0.1:0", target: target}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *relay) open() {
	r.t.Helper()
	listener, err := net.Listen("tcp", r.addr)
	require.NoError(r.t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen, r.addr = listener, listener.Addr().String()
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", r.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, near, far)
			r.mu.Unlock()
			go copyAll(near, far)
			go copyAll(far, near)
		}
	}()
}

// close refuses new connections and cuts those there are.
func (r *relay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.listen.Close()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
}

func copyAll(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func throughRelay(t *testing.T, databaseURL string) (*relay, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	r := newRelay(t, u.Host)
	u.Host = r.addr
	return r, u.String()
}

// pause is how long a test watches that something does not happen.
const pause = 500 * time.Millisecond
