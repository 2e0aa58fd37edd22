package ingress

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/oncehook/oncehook"
)

const (
	// firstRead is the buffer of a body before its first byte. Then it doubles with
	// what has really come, whatever Content-Length promises.
	firstRead = 4 << 10
	// drainTimeout is how long the server takes the rest of a body after the answer,
	// so that the sender reads the answer before the connection's end.
	drainTimeout = time.Second
)

// causeBodyBudget is the cause of a 503 for want of memory.
const causeBodyBudget = "body_budget"

var errBodyBudget = errors.New("the bodies in flight hold the whole body budget")

// bodyBudget bounds the bytes of all bodies in flight.
type bodyBudget struct {
	most int64
	used atomic.Int64
}

// reserve takes n bytes, or none and reports false.
func (b *bodyBudget) reserve(n int64) bool {
	if b.used.Add(n) > b.most {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *bodyBudget) release(n int64) { b.used.Add(-n) }

// readBody reads the whole body within the source's limit, the deadline and the
// budget, which it holds until releaseBody.
func (d *delivery) readBody() ([]byte, *refused) {
	r := d.c.Request()
	// The bare writer: only it can tell the server to close the connection.
	body, err := d.readAll(http.MaxBytesReader(d.c.Response().Writer, r.Body, d.source.BodyLimit), r.ContentLength)
	if err != nil {
		return nil, d.unread(err)
	}
	// The server goes on reading to notice a sender that leaves, and would take the
	// deadline for that.
	if err := d.control().SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, d.unread(err)
	}
	return body, nil
}

// readAll reads to the end. length is what the sender promises, negative when it
// does not; it only makes buffers smaller.
func (d *delivery) readAll(r io.Reader, length int64) ([]byte, error) {
	most := d.source.BodyLimit + 1 // the end is seen in one byte more
	if length >= 0 {
		most = min(most, length+1)
	}
	body := []byte{}
	for {
		if len(body) == cap(body) {
			size := min(max(2*int64(cap(body)), firstRead), max(most, int64(cap(body))+1))
			if !d.bodies.reserve(size - int64(cap(body))) {
				return nil, errBodyBudget
			}
			d.reserved += size - int64(cap(body))
			body = append(make([]byte, 0, size), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// releaseBody gives the budget back: the body is no longer needed.
func (d *delivery) releaseBody() {
	d.bodies.release(d.reserved)
	d.reserved = 0
}

// unread says why a body could not be read whole.
func (d *delivery) unread(err error) *refused {
	var larger *http.MaxBytesError
	switch {
	case errors.As(err, &larger):
		return tooLarge()
	case errors.Is(err, errBodyBudget):
		return &refused{
			decision: oncehook.Unavailable, evidence: inSum, cause: causeBodyBudget, err: err,
			Refusal: oncehook.Refusal{Code: oncehook.CodeUnavailable, Detail: "too many bodies are being received at once; send it again"},
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return unproven(oncehook.CodeRequestTimeout, "the body did not arrive within "+d.Timeouts.Body.String())
	default:
		return unproven(oncehook.CodeMalformedJSON, "the body ended early or its transfer encoding is broken")
	}
}

func tooLarge() *refused {
	return unproven(oncehook.CodeBodyTooLarge, "the body is larger than this source takes")
}

// endSoon shortens the wait for the rest of a body that nobody reads.
func (d *delivery) endSoon() {
	if soon := time.Now().Add(drainTimeout); soon.Before(d.bodyDeadline) {
		_ = d.control().SetReadDeadline(soon)
	}
}
