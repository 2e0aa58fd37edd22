package ingress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// HeaderDeadline makes a server answer a request whose header does not arrive
// in time with 408, where net/http alone closes the connection without a word.
//
// Wrap the listener with Listen, and set ConnContext, ConnState and Handler of the
// server with Attach. OnTimeout is called for each such request.
type HeaderDeadline struct {
	OnTimeout func(peer net.Addr)
}

type headerConnKey struct{}

// headerConn knows whether a request's header is being read: once its first byte
// has come, and not while the server still takes the rest of an answered one's body.
type headerConn struct {
	net.Conn
	onTimeout func(net.Addr)

	mu       sync.Mutex
	handling bool
	partial  bool
}

type headerListener struct {
	net.Listener
	onTimeout func(net.Addr)
}

// Listen wraps the server's listener.
func (d HeaderDeadline) Listen(l net.Listener) net.Listener {
	return headerListener{Listener: l, onTimeout: d.OnTimeout}
}

// Attach sets the server's ConnContext and wraps its handler.
func (d HeaderDeadline) Attach(s *http.Server) {
	next := s.Handler
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, headerConnKey{}, c)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(headerConnKey{}).(*headerConn); ok {
			c.setHandling(true)
		}
		next.ServeHTTP(w, r)
	})
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*headerConn); ok && state == http.StateIdle {
			c.setHandling(false)
		}
	}
}

func (l headerListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &headerConn{Conn: c, onTimeout: l.onTimeout}, nil
}

func (c *headerConn) setHandling(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handling, c.partial = yes, false
}

func (c *headerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !c.handling {
		c.partial = true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.partial && !c.handling {
		c.partial = false
		c.answer()
	}
	return n, err
}

// CloseWrite lets the server end a connection without cutting off its last answer.
func (c *headerConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// answer writes a whole response by hand: the server has given the request up.
func (c *headerConn) answer() {
	id, err := uuid.NewRandom()
	if err != nil {
		return
	}
	code := oncehook.CodeRequestTimeout
	reply := document(code.Status(), mediaProblem, problem{
		Code: code, Title: code.Title(), Status: code.Status(), Detail: "the request's header did not arrive in time",
		Retryable: code.Retryable(), CorrelationID: id.String(),
	})
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		reply.Status, http.StatusText(reply.Status), mediaProblem, len(reply.Body), reply.Body)
	if c.onTimeout != nil {
		c.onTimeout(c.RemoteAddr())
	}
}
