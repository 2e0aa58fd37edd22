package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// HeaderGuard makes a server answer with problem documents where net/http answers
// below the handler: a request whose header does not arrive in time with 408, where
// net/http alone closes the connection without a word, and one that is no HTTP it
// can read, where it writes plain text.
//
// Wrap the listener with Listen, and set ConnContext, ConnState and Handler of the
// server with Attach. OnAnswer is called for each such answer; it may be nil.
type HeaderGuard struct {
	OnAnswer func(peer net.Addr, code oncehook.Code)
}

type headerConnKey struct{}

// headerConn knows whether a request's header is being read: once its first byte
// has come, and not while the server still takes the rest of an answered one's body.
type headerConn struct {
	net.Conn
	onAnswer func(net.Addr, oncehook.Code)

	mu       sync.Mutex
	handling bool
	partial  bool
}

type headerListener struct {
	net.Listener
	onAnswer func(net.Addr, oncehook.Code)
}

// Listen wraps the server's listener.
func (g HeaderGuard) Listen(l net.Listener) net.Listener {
	return headerListener{Listener: l, onAnswer: g.OnAnswer}
}

// Attach sets the server's ConnContext and wraps its handler.
func (g HeaderGuard) Attach(s *http.Server) {
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
	return &headerConn{Conn: c, onAnswer: l.onAnswer}, nil
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
		c.answer(oncehook.CodeRequestTimeout, "the request's header did not arrive in time")
	}
	return n, err
}

// Write passes a handler's answers on. All that the server writes outside of one is
// an answer of its own.
func (c *headerConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	handling := c.handling
	c.mu.Unlock()
	if code, detail := ownAnswer(p); !handling && code != "" {
		c.setHandling(true) // what still comes of the request is no header
		c.answer(code, detail)
		c.linger()
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// CloseWrite lets the server end a connection without cutting off its last answer.
func (c *headerConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// answer writes a whole response by hand: the server has given the request up.
func (c *headerConn) answer(code oncehook.Code, detail string) {
	id, err := uuid.NewRandom()
	if err != nil {
		return
	}
	reply := document(code.Status(), mediaProblem, problem{
		Code: code, Title: code.Title(), Status: code.Status(), Detail: detail,
		Retryable: code.Retryable(), CorrelationID: id.String(),
	})
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		reply.Status, http.StatusText(reply.Status), mediaProblem, len(reply.Body), reply.Body)
	if c.onAnswer != nil {
		c.onAnswer(c.RemoteAddr(), code)
	}
}

// Bounds of what is taken after an answer, so that closing does not cut it off.
const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

func (c *headerConn) linger() {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
}
