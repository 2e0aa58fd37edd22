package ingress_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// gateway stands before PostgreSQL; closed, it refuses and cuts connections.
type gateway struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	open  bool
	conns []net.Conn
}

func newGateway(t *testing.T, databaseURL string) (*gateway, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gateway{listener: listener, target: u.Host}
	t.Cleanup(func() { _ = listener.Close(); g.set(false) })
	go g.serve()
	u.Host = listener.Addr().String()
	return g, u.String()
}

func (g *gateway) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
	if !open {
		for _, c := range g.conns {
			_ = c.Close()
		}
		g.conns = nil
	}
}

func (g *gateway) serve() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		server, err := net.Dial("tcp", g.target)
		if !g.open || err != nil {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
		} else {
			g.conns = append(g.conns, client, server)
			go pipe(client, server)
			go pipe(server, client)
		}
		g.mu.Unlock()
	}
}

func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

func TestWithoutPostgreSQLForgeriesAre401AndTheRest503(t *testing.T) {
	t.Parallel()
	var g *gateway
	acknowledging := public(t, "stripe", whsec, "invoice.paid")
	s := start(t, func(s *setup) {
		s.Sources = append(s.Sources, acknowledging)
		var away string
		g, away = newGateway(t, storetest.As(store.DatabaseIngress, s.databaseURL))
		var err error
		s.Store, err = store.OpenIngress(t.Context(), store.Options{URL: away, Keyring: keys(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(s.Store.Close)
		s.Sources[1].Rate, s.Sources[1].Burst = 0.001, 1
	})
	check := func(stage string) {
		began := time.Now()
		s.refusedWith(s.post("logistics", event("e1"), bearerOf("forged-forged-forged")), http.StatusUnauthorized, oncehook.CodeUnauthenticated)
		s.refusedWith(s.post("nobody", event("e1")), http.StatusNotFound, oncehook.CodeSourceUnknown)
		s.refusedWith(s.post("logistics", event("e1"), header("Content-Type", "x/y")), http.StatusUnsupportedMediaType, oncehook.CodeContentTypeUnsupported)
		require.Less(t, time.Since(began), time.Second, "%s: these need no database", stage)
		for name, a := range map[string]answer{
			"a new event":                         s.post("logistics", event("e1")),
			"a known event":                       s.post("logistics", event("known")),
			"a rejected one":                      s.post("logistics", "{"),
			"a forbidden tenant":                  s.post("logistics", event("e1", "north", "south")),
			"a limited one":                       s.post("any%20thing", event("e1")),
			"a limited one more":                  s.post("any%20thing", event("e2")),
			"what would be acknowledged":          s.signed(acknowledging, "", "", "no JSON"),
			"what would be acknowledged unlisted": s.signed(acknowledging, "", "", `{"object":"event","id":"evt_1","type":"other"}`),
		} {
			s.refusedWith(a, http.StatusServiceUnavailable, oncehook.CodeUnavailable)
			seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
			require.NoError(t, err, name)
			require.Positive(t, seconds)
		}
	}
	check("away from the start")
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))

	g.set(true)
	require.Eventually(t, func() bool { return s.post("logistics", event("known")).status < 300 }, 30*time.Second, 50*time.Millisecond)
	s.counted("logistics", oncehook.Unauthenticated, "wrong_secret")

	g.set(false)
	check("gone on the way")
	g.set(true)
	var a answer
	require.Eventually(t, func() bool { a = s.post("logistics", event("e1")); return a.status < 300 }, 30*time.Second, 50*time.Millisecond, "a retry settles it")
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.receipts WHERE event_id = 'e1'`))
	s.acceptedAs(s.post("logistics", event("known")), oncehook.Duplicate)
	s.counted("logistics", oncehook.Unavailable, "unavailable")
}
