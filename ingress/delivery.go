package ingress

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
)

// delivery is one HTTP request on its way to an answer.
type delivery struct {
	*server
	c       echo.Context
	source  *Source
	peer    netip.Addr
	request oncehook.Request
	proof   oncehook.Proof
	// id identifies this delivery where no event's correlation id does.
	id uuid.UUID
	// bodyDeadline is when the whole body must have arrived.
	bodyDeadline time.Time
	// whole is when the last byte had arrived; zero before.
	whole time.Time
	// reserved is what the body holds of the budget.
	reserved int64
}

// serve takes a request through the stages; the first one that refuses answers.
func (s *server) serve(c echo.Context) error {
	// Its time makes it cheap to index and says where in a log to look.
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	d := &delivery{server: s, c: c, peer: s.peerOf(c.Request()), id: id, bodyDeadline: time.Now().Add(s.Timeouts.Body)}
	defer d.releaseBody()
	defer d.beginSpan()()
	// From here on, since the server also waits for a body that nobody reads. A
	// writer without deadlines, as in handler tests, goes without.
	_ = d.control().SetReadDeadline(d.bodyDeadline)
	for _, stage := range []func() *refused{d.find, d.handshake, d.checkHeader, d.verifyHeader, d.receive, d.authenticate, d.accept} {
		if refusal := stage(); refusal != nil {
			return d.refuse(refusal)
		}
		if c.Response().Committed {
			return nil
		}
	}
	return errors.New("no stage answered")
}

// control steers the connection. It takes the bare writer, which the server knows.
func (d *delivery) control() *http.ResponseController {
	return http.NewResponseController(d.c.Response().Writer)
}

// find looks up the source that the path names.
func (d *delivery) find() *refused {
	escaped, ok := strings.CutPrefix(d.c.Request().URL.EscapedPath(), oncehook.HookPath)
	if ok {
		if name, err := url.PathUnescape(escaped); err == nil && !strings.Contains(escaped, "/") {
			d.source = d.sources[name]
		}
	}
	if d.source == nil {
		return unproven(oncehook.CodeSourceUnknown, "webhooks are received at "+oncehook.HookPath+"{source} of a configured source")
	}
	return nil
}

// handshake answers a provider's handshake, and refuses every method but POST.
func (d *delivery) handshake() *refused {
	r := d.c.Request()
	d.request = oncehook.Request{Method: r.Method, URL: d.publicURL(r), Header: r.Header, Peer: d.peer, Received: d.Now()}
	if challenger, ok := d.source.Provider.(oncehook.Challenger); ok {
		if reply, ok := challenger.Challenge(d.request); ok {
			return d.reply(reply)
		}
	}
	if r.Method != http.MethodPost {
		d.c.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
		return unproven(oncehook.CodeMethodNotAllowed, "send webhooks by POST")
	}
	return nil
}

// receive reads the body, once.
func (d *delivery) receive() *refused {
	body, refusal := d.readBody()
	if refusal != nil {
		return refusal
	}
	d.request.Body = body
	d.whole = time.Now()
	d.request.Received = d.Now()
	return nil
}

// causeProvider is the cause of a failed verification that names none.
const causeProvider oncehook.Cause = "provider_error"

// authenticate proves who sent the request. It touches nothing but memory.
func (d *delivery) authenticate() *refused {
	proof, err := d.source.Provider.Verify(d.request)
	if err == nil && proof.Principal != "" {
		d.proof = proof
		return nil
	}
	return d.unauthenticated(err)
}

// verifyHeader refuses a sender whose header alone proves it wrong, so that no byte
// of a stranger's body is read. What checkHeader says is known by then: 404, 405,
// 415, and 413 by Content-Length are told to anyone.
func (d *delivery) verifyHeader() *refused {
	p, ok := d.source.Provider.(oncehook.HeaderVerifier)
	if !ok {
		return nil
	}
	if err := p.VerifyHeader(d.request); err != nil {
		return d.unauthenticated(err)
	}
	return nil
}

func (d *delivery) unauthenticated(err error) *refused {
	cause := causeProvider
	if authErr, ok := errors.AsType[*oncehook.AuthError](err); ok {
		cause = authErr.Cause
	}
	if p, ok := d.source.Provider.(interface{ AuthScheme() string }); ok {
		d.c.Response().Header().Set(echo.HeaderWWWAuthenticate, p.AuthScheme())
	}
	refusal := unproven(oncehook.CodeUnauthenticated, "the credential is missing or wrong")
	refusal.cause = string(cause)
	return refusal
}
