package app

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/oncehook/oncehook/internal/store"
)

var errStopping = errors.New("shutting down")

// readyFunc fails during shutdown and while the schema is unusable. PostgreSQL
// being away is not a failure: handshakes, 401 and 503 are still answered here,
// and another process could do no better.
func (s *Server) readyFunc(schema func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if s.stopping.Load() {
			return errStopping
		}
		return unusable(schema(ctx))
	}
}

// unusable is the reason why the schema cannot be used. PostgreSQL being away is none.
func unusable(err error) error {
	var reason *store.SchemaError
	if errors.As(err, &reason) {
		return reason
	}
	return nil
}

// withHealth adds /livez and /readyz to the ingress, for balancers that see only
// it. Strangers see it too: why it is not ready goes to the log only, once per
// change. Every other request goes on untouched: a ServeMux would redirect some paths.
func (s *Server) withHealth(next http.Handler, ready func(context.Context) error) http.Handler {
	var logged atomic.Value
	logged.Store("")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case asked && r.URL.Path == "/livez":
			answer(w, http.StatusOK, "ok")
		case asked && r.URL.Path == "/readyz":
			err := ready(r.Context())
			if err == nil {
				logged.Store("")
				answer(w, http.StatusOK, "ok")
				return
			}
			if logged.Swap(err.Error()) != err.Error() {
				s.app.log.WarnContext(r.Context(), "the ingress is not ready", "error", err.Error())
			}
			answer(w, http.StatusServiceUnavailable, "not ready")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
