package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	defaultLimit = 50
	maxLimit     = 500
)

// ListEvents implements GET /api/v1/events.
func (s *server) ListEvents(ctx context.Context, request api.ListEventsRequestObject) (api.ListEventsResponseObject, error) {
	p := request.Params
	filter := store.EventFilter{Source: value(p.Source), Tenant: value(p.Tenant), Type: value(p.Type)}
	for name, text := range map[string]string{"source": filter.Source, "tenant": filter.Tenant, "type": filter.Type} {
		if err := checkText(name, text); err != nil {
			return nil, err
		}
	}
	if p.State != nil {
		if !p.State.Valid() {
			return nil, &invalid{"state: no such state"}
		}
		filter.State = oncehook.State(*p.State)
	}
	page, err := pageOf(p.Cursor, p.Limit)
	if err != nil {
		return nil, err
	}
	events, err := s.Store.Events(ctx, operatorOf(ctx).Scope, filter, page)
	if err != nil {
		return nil, err
	}
	return api.ListEvents200JSONResponse{EventPageJSONResponse: viewPage(events)}, nil
}

// LookupEvents implements GET /api/v1/lookup.
func (s *server) LookupEvents(ctx context.Context, request api.LookupEventsRequestObject) (api.LookupEventsResponseObject, error) {
	q := request.Params.Q
	if q == "" || len(q) > oncehook.MaxEventID {
		return nil, &invalid{"q: must have 1 to 1000 bytes"}
	}
	page, err := pageOf(request.Params.Cursor, request.Params.Limit)
	if err != nil {
		return nil, err
	}
	events, err := s.Store.Lookup(ctx, operatorOf(ctx).Scope, q, s.Sources, page)
	if err != nil {
		return nil, err
	}
	found := viewPage(events)
	view := api.LookupEvents200JSONResponse{Events: found.Events, NextCursor: found.NextCursor, Rejected: []api.RejectedDelivery{}}
	if id, ok := store.ParseID(q); ok {
		rejected, err := s.Store.Rejected(ctx, operatorOf(ctx).Scope, id)
		switch {
		case err == nil:
			view.Rejected = append(view.Rejected, viewRejected(rejected))
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return view, nil
}

// GetEvent implements GET /api/v1/events/{receipt_id}.
func (s *server) GetEvent(ctx context.Context, request api.GetEventRequestObject) (api.GetEventResponseObject, error) {
	receipt, err := s.Store.Receipt(ctx, operatorOf(ctx).Scope, request.ReceiptId)
	if err != nil {
		return nil, err
	}
	return api.GetEvent200JSONResponse(viewReceipt(receipt)), nil
}

// GetTrace implements GET /api/v1/events/{receipt_id}/trace.
func (s *server) GetTrace(ctx context.Context, request api.GetTraceRequestObject) (api.GetTraceResponseObject, error) {
	trace, err := s.Store.Trace(ctx, operatorOf(ctx).Scope, request.ReceiptId)
	if err != nil {
		return nil, err
	}
	return api.GetTrace200JSONResponse(s.viewTrace(trace)), nil
}

func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// checkText refuses what PostgreSQL's text cannot hold, so what no event can have.
func checkText(name, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return &invalid{name + ": is not valid text"}
	}
	return nil
}

func pageOf(cursor *string, limit *int) (store.Page, error) {
	page := store.Page{Cursor: value(cursor), Size: defaultLimit}
	if limit != nil {
		page.Size = *limit
	}
	if page.Size < 1 || page.Size > maxLimit {
		return store.Page{}, &invalid{fmt.Sprintf("limit: must be 1 to %d", maxLimit)}
	}
	return page, nil
}
