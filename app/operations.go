package app

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// operations is the listener for those who run the process: /livez, /readyz and
// /metrics, for a process without the admin listener.
type operations struct {
	*listening
	done chan struct{}
}

// openOperations listens where the configuration says, and nowhere without it.
// ready says why the process is not ready, or nil.
func (a *App) openOperations(ctx context.Context, ready func(context.Context) error) (*operations, error) {
	addr := a.settings.Telemetry.Addr
	if addr == "" {
		return nil, nil //nolint:nilnil // nothing to listen for; its methods work on nil
	}
	var logged atomic.Value
	logged.Store("")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := ready(r.Context())
		if err == nil {
			logged.Store("")
			answer(w, http.StatusOK, "ok")
			return
		}
		if logged.Swap(err.Error()) != err.Error() {
			a.log.WarnContext(r.Context(), "the process is not ready", "error", err.Error())
		}
		answer(w, http.StatusServiceUnavailable, "not ready")
	})
	mux.Handle("GET /metrics", a.metrics.Handler())
	l, err := listen(ctx, addr, mux, nil)
	if err != nil {
		return nil, err
	}
	o := &operations{listening: l, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		if err := l.server.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.ErrorContext(ctx, "the operations listener failed", "error", err.Error())
		}
	}()
	a.log.InfoContext(ctx, "operations listens", "url", l.url())
	return o, nil
}

// close ends the listener. Until then a process that stops says so at /readyz.
func (o *operations) close() {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if o.server.Shutdown(ctx) != nil {
		_ = o.server.Close()
	}
	<-o.done
}

// Reasons why a worker is not ready.
var (
	errNotRunning = errors.New("the worker does not run yet")
	errNoTemporal = errors.New("temporal does not answer")
)

// temporalCheckTimeout bounds what /readyz asks of Temporal.
const temporalCheckTimeout = 2 * time.Second

// workerState is what /readyz of a worker knows.
type workerState struct {
	stopping atomic.Bool
	// temporal asks the connected server how it is; nil before the worker runs.
	temporal atomic.Pointer[func(context.Context) error]
}

// ready fails before the worker runs, during its stop, while the schema is
// unusable and while Temporal does not answer.
func (s *workerState) ready(schema func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if s.stopping.Load() {
			return errStopping
		}
		if err := unusable(schema(ctx)); err != nil {
			return err
		}
		ask := s.temporal.Load()
		if ask == nil {
			return errNotRunning
		}
		ctx, cancel := context.WithTimeout(ctx, temporalCheckTimeout)
		defer cancel()
		if (*ask)(ctx) != nil {
			return errNoTemporal
		}
		return nil
	}
}
