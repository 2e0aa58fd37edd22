package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/store"
)

// invalid is a parameter that cannot be used.
type invalid struct{ detail string }

func (e *invalid) Error() string { return e.detail }

// problem answers every error as a problem document. It is echo's error handler.
func (s *server) problem(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := describe(err)
	p.CorrelationId = newCorrelationID()
	switch p.Status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		s.Log.ErrorContext(c.Request().Context(), "admin request failed", "method", c.Request().Method,
			"path", c.Path(), "correlation_id", p.CorrelationId, "error", err.Error())
	}
	header := c.Response().Header()
	switch p.Status {
	case http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, `Bearer realm="oncehook admin"`)
	case http.StatusServiceUnavailable:
		header.Set(echo.HeaderRetryAfter, "1")
	}
	body, err := json.Marshal(p)
	if err != nil {
		s.Log.ErrorContext(c.Request().Context(), "a problem could not be encoded", "error", err.Error())
		return
	}
	if c.Request().Method == http.MethodHead {
		body = nil
	}
	if err := c.Blob(p.Status, "application/problem+json", body); err != nil {
		s.Log.DebugContext(c.Request().Context(), "a problem could not be sent", "error", err.Error())
	}
}

// describe turns an error into what the caller may know of it.
func describe(err error) api.Problem {
	var bad *invalid
	var routed *echo.HTTPError
	var denied *forbidden
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return problemOf(oncehook.CodeBodyTooLarge, "send fewer payloads at once")
	case errors.As(err, &denied):
		return problemOf(oncehook.CodeForbidden, denied.detail)
	case errors.Is(err, store.ErrUnauthenticated):
		return problemOf(oncehook.CodeUnauthenticated, "send an operator's token: Authorization: Bearer oh_…")
	case errors.Is(err, store.ErrNotFound):
		return problemOf(oncehook.CodeNotFound, "there is no such thing, or you may not see it")
	case errors.Is(err, store.ErrCursor):
		return problemOf(oncehook.CodeFieldInvalid, "cursor: "+store.ErrCursor.Error())
	case errors.As(err, &bad):
		return problemOf(oncehook.CodeFieldInvalid, bad.detail)
	case errors.Is(err, store.ErrAway), errors.Is(err, context.DeadlineExceeded):
		p := problemOf(oncehook.CodeUnavailable, "the database does not answer, or its schema is not migrated; try again")
		p.Title = "The answer cannot be read now"
		return p
	case errors.As(err, &routed):
		return describeRouted(routed)
	default:
		return problemOf(oncehook.CodeInternal, "the log says more under this correlation_id")
	}
}

// describeRouted describes what the router or the generated parameter parsing refused.
func describeRouted(err *echo.HTTPError) api.Problem {
	switch err.Code {
	case http.StatusNotFound:
		return problemOf(oncehook.CodeNotFound, "there is no such path; /openapi.json lists them")
	case http.StatusMethodNotAllowed:
		return problemOf(oncehook.CodeMethodNotAllowed, "this path has other methods; /openapi.json lists them")
	case http.StatusUnsupportedMediaType:
		return problemOf(oncehook.CodeContentTypeUnsupported, "send application/json")
	case http.StatusBadRequest:
		detail, _ := err.Message.(string)
		return problemOf(oncehook.CodeFieldInvalid, detail)
	default:
		return problemOf(oncehook.CodeInternal, "the log says more under this correlation_id")
	}
}

func problemOf(code oncehook.Code, detail string) api.Problem {
	return api.Problem{Code: string(code), Title: code.Title(), Status: code.Status(), Detail: detail, Retryable: code.Retryable()}
}

func newCorrelationID() string {
	id, err := uuid.NewRandom()
	if err != nil {
		return uuid.Nil.String()
	}
	return id.String()
}
