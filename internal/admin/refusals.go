package admin

import (
	"context"
	"time"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	// refusalsSince is how far back counts of refusals go unless asked otherwise,
	// refusalsMost how far at most.
	refusalsSince = 24 * time.Hour
	refusalsMost  = 31 * 24 * time.Hour
	// refusalGroups bounds an answer.
	refusalGroups = 500
)

// ListRejected implements GET /api/v1/rejected.
func (s *server) ListRejected(ctx context.Context, request api.ListRejectedRequestObject) (api.ListRejectedResponseObject, error) {
	p := request.Params
	filter := store.RejectedFilter{Source: value(p.Source), Code: value(p.Code)}
	for name, text := range map[string]string{"source": filter.Source, "code": filter.Code} {
		if err := checkText(name, text); err != nil {
			return nil, err
		}
	}
	if p.Since != nil {
		filter.Since = *p.Since
	}
	page, err := pageOf(p.Cursor, p.Limit)
	if err != nil {
		return nil, err
	}
	rejected, err := s.Store.RejectedList(ctx, operatorOf(ctx).Scope, filter, page)
	if err != nil {
		return nil, err
	}
	view := api.ListRejected200JSONResponse{Rejected: make([]api.RejectedDelivery, 0, len(rejected.Rejected)), NextCursor: rejected.Next}
	for _, r := range rejected.Rejected {
		view.Rejected = append(view.Rejected, viewRejected(r))
	}
	return view, nil
}

// GetRejected implements GET /api/v1/rejected/{id}.
func (s *server) GetRejected(ctx context.Context, request api.GetRejectedRequestObject) (api.GetRejectedResponseObject, error) {
	rejected, err := s.Store.Rejected(ctx, operatorOf(ctx).Scope, request.Id)
	if err != nil {
		return nil, err
	}
	return api.GetRejected200JSONResponse(viewRejected(rejected)), nil
}

func viewRejected(r store.RejectedView) api.RejectedDelivery {
	return api.RejectedDelivery{
		Id: r.ID, CorrelationId: r.ID, At: r.At, Source: r.Source, Tenant: r.Tenant, Principal: r.Principal,
		CredentialVersion: r.CredentialVersion, Peer: r.Peer, Code: string(r.Code), Field: r.Field,
		ExpiresAt: r.ExpiresAt, ResubmittedAt: r.ResubmittedAt, ResubmittedAs: r.ResubmittedAs,
	}
}

// ListRefusals implements GET /api/v1/refusals.
func (s *server) ListRefusals(ctx context.Context, request api.ListRefusalsRequestObject) (api.ListRefusalsResponseObject, error) {
	scope := operatorOf(ctx).Scope
	if !scope.SeesEveryTenant() {
		return nil, &forbidden{"counts of refusals are for operators of every tenant: whose they are is not known"}
	}
	source := value(request.Params.Source)
	if err := checkText("source", source); err != nil {
		return nil, err
	}
	now := s.Now()
	since := now.Add(-refusalsSince)
	if request.Params.Since != nil {
		since = *request.Params.Since
	}
	// A minute's grace for who asks for exactly as much.
	if since.Before(now.Add(-refusalsMost - time.Minute)) {
		return nil, &invalid{"since: must be at most 31 days ago"}
	}
	groups, more, err := s.Store.Refusals(ctx, scope, source, since, refusalGroups)
	if err != nil {
		return nil, err
	}
	view := api.ListRefusals200JSONResponse{Since: since.UTC(), Refusals: make([]api.RefusalCount, 0, len(groups)), Truncated: more}
	for _, g := range groups {
		view.Refusals = append(view.Refusals, api.RefusalCount{
			Source: g.Source, Outcome: string(g.Outcome), Cause: g.Cause, AddressBlock: g.AddressBlock,
			Count: g.Count, FirstAt: g.FirstAt, LastAt: g.LastAt,
		})
	}
	return view, nil
}
