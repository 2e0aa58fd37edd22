package admin

import (
	"context"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// The paths that are open without a token.
const (
	pathDocument = "/openapi.json"
	pathLive     = "/livez"
	pathReady    = "/readyz"
	pathMetrics  = "/metrics"
)

// requestTimeout bounds a request, waiting for a connection included.
const requestTimeout = 20 * time.Second

type operatorKey struct{}

// operatorOf returns who asks. Behind authenticate there always is one.
func operatorOf(ctx context.Context) store.Operator {
	operator, _ := ctx.Value(operatorKey{}).(store.Operator)
	return operator
}

// authenticate refuses every request without a valid token, but for the open paths.
func (s *server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		switch request.URL.Path {
		case pathDocument, pathLive, pathReady, pathMetrics:
			return next(c)
		}
		ctx, cancel := context.WithTimeout(request.Context(), requestTimeout)
		defer cancel()
		var operator store.Operator
		var err error
		if strings.HasPrefix(request.URL.Path, linksPath) {
			operator, err = s.linked(ctx, request)
		} else {
			operator, err = s.Store.Authenticate(ctx, bearerToken(request.Header["Authorization"]))
		}
		if err != nil {
			return err
		}
		c.SetRequest(request.WithContext(context.WithValue(ctx, operatorKey{}, operator)))
		return next(c)
	}
}

// bearerToken returns the token of the one Authorization header, or nothing.
func bearerToken(headers []string) oncehook.Secret {
	if len(headers) != 1 {
		return nil
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return oncehook.Secret(strings.TrimSpace(token))
}
