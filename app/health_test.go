package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStrangersAreNotToldWhyTheIngressIsNotReady(t *testing.T) {
	var log bytes.Buffer
	s := &Server{app: &App{log: slog.New(slog.NewTextHandler(&log, nil))}}
	reason := errors.New("the schema has version 7 and needs 9")
	handler := s.withHealth(http.NotFoundHandler(), func(context.Context) error { return reason })
	probe := func() *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		return answer
	}
	for range 3 {
		answer := probe()
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Equal(t, "not ready\n", answer.Body.String())
	}
	require.Equal(t, 1, strings.Count(log.String(), reason.Error()), "probes do not flood the log")

	failure := reason
	reason = nil
	require.Equal(t, http.StatusOK, probe().Code)
	reason = failure
	require.Equal(t, http.StatusServiceUnavailable, probe().Code)
	require.Equal(t, 2, strings.Count(log.String(), failure.Error()))
}
