package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAcknowledgedRefusalIsShownWithItsReasonAndFails(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := &sendReport{stdout: &out, live: true}
	r.add(sent{status: http.StatusOK, body: []byte(`{"status":"rejected","code":"field_missing","detail":"the field id is missing","correlation_id":"c"}`)})
	require.Contains(t, out.String(), "200  rejected")
	require.Contains(t, out.String(), "code=field_missing")
	require.Contains(t, out.String(), "the field id is missing")
	require.Error(t, r.err())
}

func TestEqualAnswersHaveOneLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := &sendReport{stdout: &out, live: true, grouped: true}
	for range 4 {
		r.add(sent{status: http.StatusOK, body: []byte(`{"status":"duplicate"}`)})
		r.add(sent{status: http.StatusAccepted, body: []byte(`{"status":"accepted"}`)})
	}
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	require.NoError(t, r.summary())
	require.Contains(t, out.String(), "4 accepted, 4 duplicate")
}
