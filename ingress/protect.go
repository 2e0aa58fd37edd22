package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
)

// protect sets the headers of every answer and turns a panic into an error.
func (s *server) protect(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		header := c.Response().Header()
		header.Set(echo.HeaderXContentTypeOptions, "nosniff")
		header.Set(echo.HeaderCacheControl, "no-store")
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				err = &panicked{kind: fmt.Sprintf("%T", p), stack: string(debug.Stack())}
			}
		}()
		return next(c)
	}
}

// panicked is a recovered panic. Its value may hold a part of a body, so that
// only its type and the stack are kept.
type panicked struct{ kind, stack string }

func (p *panicked) Error() string { return "panic with a " + p.kind }

// fallback answers what no stage did.
func (s *server) fallback(err error, c echo.Context) {
	id, _ := uuid.NewRandom()
	d := &delivery{server: s, c: c, peer: s.peerOf(c.Request()), id: id}
	refusal := internal(err)
	if routed, ok := errors.AsType[*echo.HTTPError](err); ok && routed.Code < http.StatusInternalServerError {
		refusal = unproven(oncehook.CodeSourceUnknown, "webhooks are received at "+oncehook.HookPath+"{source}")
	}
	if p, ok := errors.AsType[*panicked](err); ok {
		s.Log.ErrorContext(c.Request().Context(), "a request panicked", "correlation_id", id.String(), "kind", p.kind, "stack", p.stack)
	}
	if c.Response().Committed {
		return
	}
	// Its errors are those of record, and sums have none.
	_ = d.refuse(refusal)
}

func sinceSeconds(t time.Time) float64 { return time.Since(t).Seconds() }
