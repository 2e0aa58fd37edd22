package admin

import (
	"context"

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
	if s.Store.Ping(ctx) != nil {
		status = api.Degraded
	}
	return api.GetReadiness200JSONResponse{HealthJSONResponse: api.HealthJSONResponse{Status: status}}, nil
}
