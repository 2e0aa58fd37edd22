package store_test

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a store and PostgreSQL and cuts connections on demand.
type proxy struct {
	listener net.Listener
	target   string
	// loseAnswer and loseRequest each cut the next connection that carries one,
	// instead of passing it on; away refuses connections; hung keeps them and
	// passes nothing.
	loseAnswer, loseRequest, away, hung atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// throughProxy returns the URL with the proxy in the server's place.
func throughProxy(t *testing.T, databaseURL string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: u.Host, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() { _ = listener.Close(); p.cutAll() })
	go p.serve()
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.away.Load() {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		go p.pass(server, client, &p.loseRequest)
		go p.pass(client, server, &p.loseAnswer)
	}
}

func (p *proxy) pass(to, from net.Conn, lose *atomic.Bool) {
	defer p.cut(to, from)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if p.hung.Load() {
				continue
			}
			if lose.CompareAndSwap(true, false) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) cut(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) cutAll() {
	p.mu.Lock()
	var all []net.Conn
	for c := range p.conns {
		all = append(all, c)
	}
	p.mu.Unlock()
	p.cut(all...)
}
