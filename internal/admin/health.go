package admin

import (
	"context"
	"sync"
	"time"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// GetLiveness implements GET /livez.
func (s *server) GetLiveness(context.Context, api.GetLivenessRequestObject) (api.GetLivenessResponseObject, error) {
	return api.GetLiveness200JSONResponse{HealthJSONResponse: api.HealthJSONResponse{Status: api.Ok}}, nil
}

// GetReadiness implements GET /readyz. Anybody may ask, so why it is not ready
// goes to the log only.
func (s *server) GetReadiness(ctx context.Context, _ api.GetReadinessRequestObject) (api.GetReadinessResponseObject, error) {
	if err := s.Ready(ctx); err != nil {
		s.Log.WarnContext(ctx, "not ready", "reason", err.Error())
		return api.GetReadiness503JSONResponse{Status: api.Unavailable}, nil
	}
	status := api.Ok
	if s.database.away(ctx, s.Store.Ping) {
		status = api.Degraded
	}
	return api.GetReadiness200JSONResponse{HealthJSONResponse: api.HealthJSONResponse{Status: status}}, nil
}

const (
	// pingTimeout is less than a balancer's patience: a database that hangs is away.
	pingTimeout = time.Second
	// pingEvery is how often the database is asked at most: anybody may ask us, and
	// operators need the connections.
	pingEvery = time.Second
)

// pulse is whether the database answers, by its last ping.
type pulse struct {
	mu   sync.Mutex
	at   time.Time
	gone bool
}

func (p *pulse) away(ctx context.Context, ping func(context.Context) error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && time.Since(p.at) < pingEvery {
		return p.gone
	}
	// Detached: one caller that goes away decides nothing for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	p.gone = ping(ctx) != nil
	p.at = time.Now()
	return p.gone
}
