package harness

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Balancer is a TCP balancer as it stands before several ingresses: it follows
// their /readyz and gives new connections to ready ones, in turn. A connection
// stays where it is until one side ends it. It forgives nothing: a connection that
// it cannot place is refused.
type Balancer struct {
	listener net.Listener
	ctx      context.Context

	mu      sync.Mutex
	ready   map[string]bool // by URL
	order   []string
	turn    int
	refused int
}

// probeEvery is how often a balancer asks /readyz.
const probeEvery = 50 * time.Millisecond

// NewBalancer listens until the test ends.
func NewBalancer(t *testing.T) *Balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
	})
	b := &Balancer{listener: listener, ctx: ctx, ready: map[string]bool{}}
	go b.accept()
	return b
}

// URL is where senders connect.
func (b *Balancer) URL() string { return "http://" + b.listener.Addr().String() }

// Add begins to follow a backend.
func (b *Balancer) Add(url string) {
	b.mu.Lock()
	b.ready[url] = false
	b.order = append(b.order, url)
	b.mu.Unlock()
	go b.follow(url)
}

// Remove forgets a backend.
func (b *Balancer) Remove(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ready, url)
	for n, known := range b.order {
		if known == url {
			b.order = append(b.order[:n:n], b.order[n+1:]...)
			return
		}
	}
}

// Ready reports whether a backend gets new connections.
func (b *Balancer) Ready(url string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[url]
}

// Refused counts the connections that found no backend.
func (b *Balancer) Refused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

func (b *Balancer) follow(url string) {
	probe := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-ticker.C:
		}
		ready := false
		if request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url+"/readyz", nil); err == nil {
			if answer, err := probe.Do(request); err == nil {
				ready = answer.StatusCode == http.StatusOK
				_ = answer.Body.Close()
			}
		}
		b.mu.Lock()
		_, known := b.ready[url]
		if known {
			b.ready[url] = ready
		}
		b.mu.Unlock()
		if !known {
			return
		}
	}
}

// next picks a ready backend.
func (b *Balancer) next() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.order {
		b.turn++
		if url := b.order[b.turn%len(b.order)]; b.ready[url] {
			return url, true
		}
	}
	return "", false
}

func (b *Balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.relay(client)
	}
}

func (b *Balancer) relay(client net.Conn) {
	defer func() { _ = client.Close() }()
	var server net.Conn
	url, ok := b.next()
	if ok {
		var err error
		server, err = (&net.Dialer{Timeout: time.Second}).DialContext(b.ctx, "tcp", strings.TrimPrefix(url, "http://"))
		ok = err == nil
	}
	if !ok {
		b.mu.Lock()
		b.refused++
		b.mu.Unlock()
		return
	}
	defer func() { _ = server.Close() }()
	defer context.AfterFunc(b.ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client) })
	both.Go(func() { pass(client, server) })
	both.Wait()
}

// pass copies one direction and passes its end on.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
