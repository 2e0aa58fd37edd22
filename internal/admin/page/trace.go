package page

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// Trace writes the whole chain of an event: who delivered it and what was
// decided, its way to Temporal, its run, its side effects, and its states.
func Trace(w io.Writer, t api.Trace) error {
	p := &tracePrinter{printer: printer{w: w}, start: t.Receipt.FirstSeen}
	p.receipt(t.Receipt)
	p.decisions(t)
	p.transitions(t.Transitions)
	p.outbox(t)
	p.workflow(t)
	p.actions(t.Actions)
	return p.err
}

type tracePrinter struct {
	printer
	start time.Time // of the event: durations count from here
}

// at is a time and how long after the start, in a column.
func (p *tracePrinter) at(t time.Time) string {
	return fmt.Sprintf("%-12s %8s", clock(t, p.start), since(p.start, t))
}

// more writes a continuation line under the text beside a time.
func (p *tracePrinter) more(format string, args ...any) {
	p.line("  %21s  %s", "", fmt.Sprintf(format, args...))
}

func (p *tracePrinter) decisions(t api.Trace) {
	p.heading("Decisions")
	for _, d := range t.Decisions {
		times := ""
		if d.Count != 1 {
			times = fmt.Sprintf(" x%d", d.Count)
		}
		p.line("  %s  %-10s principal %s, credential %s, tenant %s", p.at(d.At), Clean(d.Outcome)+times,
			orDash(d.Principal), orDash(d.CredentialVersion), orDash(d.Tenant))
		detail := []string{"transaction " + Clean(d.TransactionId)}
		if d.Peer != nil {
			detail = append(detail, "from "+Clean(*d.Peer))
		}
		if d.Cause != nil {
			detail = append(detail, "cause "+Clean(*d.Cause))
		}
		for _, flag := range d.Flags {
			detail = append(detail, Clean(flag))
		}
		p.more("%-10s %s", "", strings.Join(detail, ", "))
	}
	if t.Truncated {
		p.more("and more, not shown")
	}
}

func (p *tracePrinter) transitions(transitions []api.Transition) {
	p.heading("States")
	for n, tr := range transitions {
		stayed := ""
		if n+1 < len(transitions) {
			stayed = "for " + span(transitions[n+1].At.Sub(tr.At))
		}
		p.line("  %s  %-13s %-12s %s, by %s", p.at(tr.At), tr.To, stayed, Clean(tr.Cause), Clean(tr.Actor))
		if tr.RunNo > 1 {
			p.more("run %d", tr.RunNo)
		}
		if tr.Detail != nil && *tr.Detail != "" {
			p.more("%s", Clean(*tr.Detail))
		}
	}
}

func (p *tracePrinter) outbox(t api.Trace) {
	if len(t.Outbox) == 0 {
		p.heading("Outbox")
		p.line("  nothing to start: the catalog has no workflow for this event")
		return
	}
	p.heading("Outbox")
	for _, o := range t.Outbox {
		state := "waits, due " + clock(o.DueAt, p.start)
		if o.DispatchedAt != nil {
			state = "dispatched " + clock(*o.DispatchedAt, p.start) + " (" + since(o.CreatedAt, *o.DispatchedAt) + ")"
		}
		p.line("  %s  %-10s run %d, %s, %s", p.at(o.CreatedAt), Clean(o.Kind), o.RunNo, counted(o.Claims, "claim"), state)
		if o.Alert != nil {
			p.more("needs a person: %s", Clean(*o.Alert))
		}
		if o.LastError != nil {
			p.more("last error: %s", Clean(*o.LastError))
		}
	}
}

func (p *tracePrinter) workflow(t api.Trace) {
	r := t.Receipt
	if r.WorkflowId == nil {
		return
	}
	p.heading("Workflow")
	p.field("type", "%s", orDash(r.Workflow))
	p.field("workflow id", "%s", Clean(*r.WorkflowId))
	p.field("run", "%s (run %d)", orDash(r.RunId), r.RunNo)
	if t.TemporalUiUrl != nil {
		p.field("in Temporal", "%s", Clean(*t.TemporalUiUrl))
	}
}

func (p *tracePrinter) actions(actions []api.Action) {
	p.heading("Actions")
	if len(actions) == 0 {
		p.line("  none yet")
	}
	for _, a := range actions {
		p.line("  %s  %s, %s: %s after %s (%s)", p.at(a.CreatedAt), Clean(a.Name), Clean(a.Kind), Clean(a.State),
			counted(a.Attempts, "attempt"), span(a.ChangedAt.Sub(a.CreatedAt)))
		if a.Epoch > 1 {
			p.more("epoch %d", a.Epoch)
		}
		p.more("idempotency key  %s", Clean(a.IdempotencyKey))
		if a.BusinessKey != nil {
			p.more("business key     %s", Clean(*a.BusinessKey))
		}
		if a.DoneBy != nil {
			p.more("done by          receipt %s", *a.DoneBy)
		}
		if a.Outcome != nil && *a.Outcome != "ok" {
			p.more("outcome          %s", Clean(*a.Outcome))
		}
		if a.Reason != nil {
			p.more("reason           %s", Clean(*a.Reason))
		}
		if string(a.Result) != "null" && len(a.Result) > 0 {
			p.more("result           %s", Clean(string(a.Result)))
		}
		if a.LastError != nil {
			p.more("last error       %s", Clean(*a.LastError))
		}
		if a.NextAttemptAt != nil {
			p.more("next attempt     %s", clock(*a.NextAttemptAt, p.start))
		}
		if a.WaitsFor != nil {
			p.more("waits for        %s", Clean(*a.WaitsFor))
		}
	}
}
