package admin

import (
	"encoding/json"
	"net/url"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/store"
)

func viewPage(page store.EventPage) api.EventPageJSONResponse {
	events := make([]api.EventSummary, 0, len(page.Events))
	for _, e := range page.Events {
		events = append(events, api.EventSummary{
			EventKey: string(e.EventKey), ReceiptId: e.ReceiptID, EventId: e.EventID, Source: e.Source, Tenant: e.Tenant,
			Type: e.Type, State: api.State(e.State), Status: string(e.Status), FirstSeen: e.FirstSeen,
		})
	}
	return api.EventPageJSONResponse{Events: events, NextCursor: page.Next}
}

func viewReceipt(r store.ReceiptView) api.Receipt {
	return api.Receipt{
		EventKey: string(r.EventKey), ReceiptId: r.ReceiptID, Source: r.Source, Tenant: r.Tenant, EventId: r.EventID,
		Type: r.Type, State: api.State(r.State), Status: string(r.Status), Version: r.Version, Deliveries: r.Deliveries,
		FirstSeen: r.FirstSeen, LastSeen: r.LastSeen, CorrelationId: r.CorrelationID, WorkflowId: workflowID(r),
		RunId: r.RunID, RunNo: r.RunNo, Cause: r.Cause, Workflow: r.Workflow, Subject: r.Subject, OccurredAt: r.OccurredAt,
		Sequence: r.Sequence, Unordered: r.OccurredAt == nil && r.Sequence == nil, Conflicts: r.Conflicts,
	}
}

// workflowID is the event key, where there is a workflow at all.
func workflowID(r store.ReceiptView) *string {
	if r.Workflow == nil {
		return nil
	}
	id := string(r.EventKey)
	return &id
}

func (s *server) viewTrace(t store.TraceView) api.Trace {
	view := api.Trace{
		Receipt:     viewReceipt(t.Receipt),
		Decisions:   make([]api.Decision, 0, len(t.Decisions)),
		Transitions: make([]api.Transition, 0, len(t.Transitions)),
		Actions:     make([]api.Action, 0, len(t.Actions)),
		Outbox:      make([]api.OutboxEntry, 0, len(t.Outbox)),
		Truncated:   t.Truncated,
	}
	for _, d := range t.Decisions {
		view.Decisions = append(view.Decisions, api.Decision{
			Outcome: string(d.Outcome), Principal: d.Principal, CredentialVersion: d.CredentialVersion, Tenant: d.Tenant,
			At: d.At, TransactionId: d.TransactionID, Count: d.Count, Cause: d.Cause, Peer: d.Peer, Flags: d.Flags,
		})
	}
	for _, tr := range t.Transitions {
		view.Transitions = append(view.Transitions, api.Transition{
			From: tr.From, To: api.State(tr.To), At: tr.At, Cause: tr.Cause, Actor: tr.Actor, Version: tr.Version,
			RunNo: tr.RunNo, Detail: tr.Detail,
		})
	}
	for _, a := range t.Actions {
		view.Actions = append(view.Actions, viewAction(a))
	}
	for _, o := range t.Outbox {
		view.Outbox = append(view.Outbox, api.OutboxEntry{
			Id: o.ID, Kind: o.Kind, RunNo: o.RunNo, DueAt: o.DueAt, Claims: o.Claims, LastError: o.LastError,
			Alert: o.Alert, DispatchedAt: o.DispatchedAt, RunId: o.RunID, CreatedAt: o.CreatedAt,
		})
	}
	view.TemporalUiUrl = s.runURL(view.Receipt)
	return view
}

func viewAction(a store.ActionView) api.Action {
	return api.Action{
		Name: a.Name, Kind: string(a.Kind), State: string(a.State), IdempotencyKey: a.IdempotencyKey,
		BusinessKey: a.BusinessKey, Attempts: a.Attempts, Result: viewResult(a.Result), LastError: a.LastError,
		Epoch: a.Epoch, RunNo: a.RunNo, Outcome: a.Outcome, Reason: a.Reason, NextAttemptAt: a.NextAttemptAt,
		WaitsFor: a.WaitsFor, DoneBy: a.DoneBy, CreatedAt: a.CreatedAt, ChangedAt: a.ChangedAt,
	}
}

// viewResult shows JSON as it is and anything else as a JSON string.
func viewResult(result []byte) json.RawMessage {
	switch {
	case result == nil:
		return json.RawMessage("null")
	case json.Valid(result):
		return result
	}
	quoted, err := json.Marshal(string(result))
	if err != nil {
		return json.RawMessage("null")
	}
	return quoted
}

// runURL is where the Temporal UI shows the run, or the workflow until the run is known.
func (s *server) runURL(r api.Receipt) *string {
	if s.TemporalUI == "" || r.WorkflowId == nil {
		return nil
	}
	u, err := url.Parse(s.TemporalUI)
	if err != nil {
		return nil
	}
	u = u.JoinPath("namespaces", url.PathEscape(s.Namespace), "workflows", url.PathEscape(*r.WorkflowId))
	if r.RunId != nil {
		u = u.JoinPath(url.PathEscape(*r.RunId), "history")
	}
	link := u.String()
	return &link
}
