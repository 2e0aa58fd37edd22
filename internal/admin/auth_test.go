package admin_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestWithoutAValidTokenNothingIsTold(t *testing.T) {
	t.Parallel()
	r, url := serveMigrated(t)
	event := accept(t, url, "logistics", "north", "event-1")
	unknown, err := store.NewOperatorToken()
	require.NoError(t, err)
	credentials := map[string][]string{
		"none":           nil,
		"empty":          {""},
		"scheme alone":   {"Bearer"},
		"no scheme":      {string(r.token)},
		"another scheme": {"Basic " + string(r.token)},
		"unknown":        {"Bearer " + string(unknown)},
		"prefix of it":   {"Bearer " + string(r.token[:len(r.token)-1])},
		"longer":         {"Bearer " + string(r.token) + "x"},
		"two headers":    {"Bearer " + string(r.token), "Bearer " + string(r.token)},
		"odd bytes":      {"Bearer oh_\xff\xfe'; DROP TABLE operators; --0123456789"},
	}
	var first map[string]any
	for _, target := range []string{
		"/api/v1/events", "/api/v1/events/" + event.ReceiptID.String(), "/api/v1/events/nonsense/trace", "/api/v1/lookup?q=event-1",
		"/", "/api", "/api/v2/events", "/metrics/", "/livez/x", "//livez", "/openapi.json%2f", "/../metrics", "/%00",
	} {
		for name, credential := range credentials {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
				answer := r.do(t, method, target, credential...)
				p := answer.problem(t, http.StatusUnauthorized, oncehook.CodeUnauthenticated)
				require.Equal(t, `Bearer realm="oncehook admin"`, answer.header.Get("WWW-Authenticate"))
				delete(p, "correlation_id")
				if first == nil {
					first = p
				}
				require.Equal(t, first, p, "%s %s with %s is answered like any other", method, target, name)
			}
		}
	}
}

func TestTheOpenPathsNeedNoToken(t *testing.T) {
	t.Parallel()
	r, _ := serveMigrated(t)
	for target, want := range map[string]string{"/livez": `{"status":"ok"}`, "/readyz": `{"status":"ok"}`, "/metrics": "metric 1"} {
		answer := r.do(t, http.MethodGet, target)
		require.Equal(t, http.StatusOK, answer.status, target)
		require.Contains(t, string(answer.body), want)
	}
}

func TestWithATokenWhatDoesNotExistIsSaidSo(t *testing.T) {
	t.Parallel()
	r, _ := serveMigrated(t)
	for _, target := range []string{"/", "/api/v1", "/api/v1/events/", "/api/v2/events", "/console"} {
		r.get(t, target).problem(t, http.StatusNotFound, oncehook.CodeNotFound)
	}
	for _, target := range []string{"/api/v1/events", "/api/v1/lookup", "/livez"} {
		answer := r.do(t, http.MethodPost, target, "Bearer "+string(r.token))
		answer.problem(t, http.StatusMethodNotAllowed, oncehook.CodeMethodNotAllowed)
		require.Contains(t, answer.header.Get("Allow"), "GET")
	}
	require.Equal(t, http.StatusOK, r.do(t, http.MethodGet, "/api/v1/events", "bearer   "+string(r.token)).status, "the scheme's case is free")
}
