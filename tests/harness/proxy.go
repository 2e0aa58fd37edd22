package harness

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy is a TCP relay to PostgreSQL that can hold back what the server says,
// which is how a commit whose answer never arrives is made.
type Proxy struct {
	listener net.Listener
	target   string

	mu   sync.Mutex
	open *sync.Cond
	held bool
	made int
}

// NewProxy relays to the host of a DSN.
func NewProxy(t *testing.T, dsn string) *Proxy {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: listener, target: u.Host}
	p.open = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		_ = listener.Close()
		p.Pass()
	})
	go p.accept()
	return p
}

// Addr is host:port of the relay.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// HoldAnswers keeps back everything that the server says from now on.
func (p *Proxy) HoldAnswers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// Pass lets what was held back go on.
func (p *Proxy) Pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	p.open.Broadcast()
}

// Connections counts those that were made to the relay.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.made++
		p.mu.Unlock()
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		go func() {
			_, _ = io.Copy(gate{proxy: p, to: client}, server)
			_ = client.Close()
		}()
	}
}

type gate struct {
	proxy *Proxy
	to    io.Writer
}

func (g gate) Write(b []byte) (int, error) {
	g.proxy.mu.Lock()
	for g.proxy.held {
		g.proxy.open.Wait()
	}
	g.proxy.mu.Unlock()
	return g.to.Write(b)
}
