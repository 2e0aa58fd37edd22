package effect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/oncehook/oncehook"
)

// Transport wraps base for the calls of remote effects. To each request it adds
// Idempotency-Key and Oncehook-Correlation-Id, and it does BeforeSend immediately
// before it. The request ends before the attempt's time and the key's life do.
// Outside of a remote effect it refuses to send.
func Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base}
}

type transport struct{ base http.RoundTripper }

// RoundTrip sends one request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	s := senderOf(ctx)
	reads := isRead(request.Method)
	left, err := s.permit(ctx, reads)
	if err != nil {
		closeBody(request)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	// A base that does not tell is taken to have sent.
	var dials, connected atomic.Bool
	sent := request.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { dials.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	// Without it net/http would repeat a request by itself, beside every check.
	sent.GetBody = nil
	sent.Header.Set(oncehook.HeaderIdempotencyKey, s.claim.IdempotencyKey)
	sent.Header.Set(oncehook.HeaderCorrelationID, s.claim.Event.CorrelationID.String())
	response, err := t.base.RoundTrip(sent)
	if err != nil {
		cancel()
		if !reads && dials.Load() && !connected.Load() {
			s.unsent()
		}
		return nil, err
	}
	if !reads {
		s.learn(response.StatusCode)
	}
	response.Body = &boundBody{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

// isRead reports whether a request of the method has no effect.
func isRead(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// closeBody does what a RoundTripper owes to a request that it does not send.
func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// boundBody is a body within its request's time.
type boundBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.cancel()
	}
	return n, err
}

func (b *boundBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
