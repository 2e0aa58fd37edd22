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
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// post is a database with an outbox, and a client of the real server.
type post struct {
	*storetest.Store
	t      *testing.T
	client client.Client
	source string
}

func openPost(t *testing.T) *post {
	t.Helper()
	return &post{
		Store: storetest.Open(t, nil), t: t, source: "s" + uuid.NewString()[:8],
		client: dial(t, shared.address(t), client.DefaultNamespace),
	}
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

func (p *post) accept(id string) accepted { return p.acceptFor(id, "Flow") }

// acceptFor accepts an event that starts the workflow of that type.
func (p *post) acceptFor(id, workflow string) accepted {
	p.t.Helper()
	c := p.Accept(p.t, storetest.Event{Source: p.source, ID: id, Workflow: workflow})
	return accepted{key: string(c.Key), receipt: c.ReceiptID}
}

func (p *post) config() dispatch.Config {
	return dispatch.Config{Store: p.Work, Client: p.client, Log: quiet()}
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
	require.NoError(p.t, p.DB.QueryRow(p.t.Context(), `
		SELECT dispatched_at IS NOT NULL, coalesce(run_id, ''), coalesce(last_error, ''), coalesce(alert, ''), claims
		FROM oncehook.outbox WHERE receipt_id = $1 ORDER BY id DESC LIMIT 1`, a.receipt).
		Scan(&r.dispatched, &r.runID, &r.lastError, &r.alert, &r.claims))
	return r
}

func (p *post) state(a accepted) (state, cause string) {
	p.t.Helper()
	require.NoError(p.t, p.DB.QueryRow(p.t.Context(), `SELECT state, cause FROM oncehook.receipts WHERE id = $1`, a.receipt).Scan(&state, &cause))
	return state, cause
}

func (p *post) exec(sql string, args ...any) {
	p.t.Helper()
	_, err := p.DB.Exec(p.t.Context(), sql, args...)
	require.NoError(p.t, err)
}

// forget undoes the mark, as if the process had died before it.
func (p *post) forget(a accepted) {
	p.t.Helper()
	p.exec(`UPDATE oncehook.outbox SET dispatched_at = NULL, run_id = NULL, lease_until = NULL WHERE receipt_id = $1`, a.receipt)
}

func (p *post) soon(condition func() bool, what string) {
	p.t.Helper()
	require.True(p.t, eventually(condition), what)
}

// eventually polls in the test's own goroutine, so that the condition may fail the test.
func eventually(condition func() bool) bool {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-ticker.C {
		if condition() {
			return true
		}
	}
	return false
}

func (p *post) started(a accepted) row {
	p.t.Helper()
	if !eventually(func() bool { return p.row(a).dispatched }) {
		require.Failf(p.t, "the row is not dispatched", "%+v", p.row(a))
	}
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
