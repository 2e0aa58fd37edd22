package canary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/tests/harness"
)

// destination is the configured place that an effect calls.
const destination = "canary-place"

// decoy is what one effect leaks on purpose, everywhere: each search must find it.
const decoy = "decoy-f3b1"

type nothing struct{}

// note is the planted field of an event's body.
func note(ctx context.Context) string {
	var body struct {
		Note string `json:"note"`
	}
	_ = json.Unmarshal(effect.Event(ctx).Body, &body)
	return body.Note
}

// effects are what goes wrong in an engineer's code, with the payload at hand.
func effects(out app.Outside) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"canary.parsing": func(ctx context.Context) error {
			_, err := strconv.Atoi(note(ctx))
			return fmt.Errorf("read the note: %w", err)
		},
		"canary.quoting": func(ctx context.Context) error {
			return oncehook.Permanent(fmt.Errorf("a bad event: %s", effect.Event(ctx).Body))
		},
		"canary.panicking": func(ctx context.Context) error { panic("cannot take " + note(ctx)) },
		"canary.database": func(ctx context.Context) error {
			_, err := effect.Tx(ctx).Exec(ctx, `SELECT $1::text::integer`, note(ctx))
			return fmt.Errorf("count the notes: %w", err)
		},
		"canary.decoy": func(ctx context.Context) error {
			activity.GetLogger(ctx).Warn("leaks", "what", decoy)
			trace.SpanFromContext(ctx).SetAttributes(attribute.String("leak", decoy))
			return oncehook.Permanent(errors.New("leaks " + decoy))
		},
		"canary.remote": func(ctx context.Context) error {
			request, err := out.Destination(destination).NewRequest(ctx, http.MethodPost, strings.NewReader(note(ctx)))
			if err != nil {
				return err
			}
			response, err := out.Client.Do(request)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			_, _ = io.Copy(io.Discard, response.Body)
			return effect.CheckResponse(response)
		},
	}
}

func handle(name string) effect.Handle[nothing, nothing] {
	if name == "canary.remote" {
		return effect.Keyed[nothing, nothing](name, time.Hour)
	}
	return effect.Local[nothing, nothing](name)
}

// parts are the harness's and a workflow for each effect, of the same name.
func parts() app.Parts {
	p := harness.Parts()
	shipped, bindings := p.Workflows, p.Bindings
	for name := range effects(app.Outside{}) {
		p.Routes = append(p.Routes, oncehook.Route{Provider: "bearer", Type: name, Workflow: name})
		p.Actions = append(p.Actions, handle(name))
	}
	p.Workflows = func(w worker.WorkflowRegistry) {
		shipped(w)
		for name := range effects(app.Outside{}) {
			w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ oncehook.Ref) error {
				_, err := handle(name).Do(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2, InitialInterval: 50 * time.Millisecond},
				}), nothing{})
				return err
			}, workflow.RegisterOptions{Name: name})
		}
	}
	p.Bindings = func(out app.Outside) []effect.Binding {
		bound := bindings(out)
		for name, do := range effects(out) {
			bound = append(bound, handle(name).Bind(func(ctx context.Context, _ nothing) (nothing, error) { return nothing{}, do(ctx) }))
		}
		return bound
	}
	return p
}
