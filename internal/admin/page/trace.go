package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// Trace writes the whole chain of an event: who delivered it and what was
// decided, its way to Temporal, its run, its side effects, and its states.
func Trace(w io.Writer, t api.Trace) error {
	p := &tracePrinter{printer: printer{w: w}, start: t.Receipt.FirstSeen, layout: ofDay}
	if spansDays(t) {
		p.layout = time.DateTime
	}
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
	start  time.Time // of the event: durations count from here
	layout string    // of times
}

// spansDays reports whether the time of day alone would mislead.
func spansDays(t api.Trace) bool {
	times := []time.Time{t.Receipt.LastSeen}
	for _, d := range t.Decisions {
		times = append(times, d.At)
	}
	for _, tr := range t.Transitions {
		times = append(times, tr.At)
	}
	for _, a := range t.Actions {
		times = append(times, a.ChangedAt)
	}
	for _, o := range t.Outbox {
		times = append(times, o.CreatedAt, o.DueAt)
	}
	first := t.Receipt.FirstSeen.UTC().Format(time.DateOnly)
	return slices.ContainsFunc(times, func(at time.Time) bool { return at.UTC().Format(time.DateOnly) != first })
}

func (p *tracePrinter) clock(t time.Time) string { return t.UTC().Format(p.layout) }

// at is a time and how long after the start, in a column.
func (p *tracePrinter) at(t time.Time) string {
	return fmt.Sprintf("%s %10s", p.clock(t), since(p.start, t))
}

// more writes a continuation line under the text beside a time.
func (p *tracePrinter) more(format string, args ...any) {
	p.line("  %*s  %s", len(p.layout)+11, "", fmt.Sprintf(format, args...))
}

func (p *tracePrinter) transitions(transitions []api.Transition) {
	p.heading("States, and how long each held")
	for n, tr := range transitions {
		stayed := ""
		if n+1 < len(transitions) {
			stayed = span(transitions[n+1].At.Sub(tr.At))
		}
		p.line("  %s  %-13s %8s  %s, by %s", p.at(tr.At), tr.To, stayed, Clean(tr.Cause), actor(tr.Actor))
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
		state := "waits, due " + p.clock(o.DueAt)
		if o.DispatchedAt != nil {
			state = "dispatched " + p.clock(*o.DispatchedAt) + " (" + since(o.CreatedAt, *o.DispatchedAt) + ")"
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
		p.line("  none")
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
			p.more("result           %s", compact(a.Result))
		}
		if a.LastError != nil {
			p.more("last error       %s", Clean(*a.LastError))
		}
		if a.NextAttemptAt != nil {
			p.more("next attempt     %s", p.clock(*a.NextAttemptAt))
		}
		if a.WaitsFor != nil {
			p.more("waits for        %s", Clean(*a.WaitsFor))
		}
	}
}

// compact shows a result on one line.
func compact(result []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, result) != nil {
		return Clean(string(result))
	}
	return Clean(b.String())
}

// actor shortens a process's UUID to its last group; the JSON form has it whole.
func actor(name string) string {
	program, process, ok := strings.Cut(name, " ")
	if id, err := uuid.Parse(process); ok && err == nil {
		return Clean(program) + " …" + id.String()[24:]
	}
	return Clean(name)
}
