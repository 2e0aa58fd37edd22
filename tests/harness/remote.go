package harness

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/effect"
)

// Event types whose workflows call the downstream, or wait. The source acme takes them.
const (
	// NoticeType sends a notice to the downstream, whose key memory outlives any test.
	NoticeType = "test.notice"
	// BriefNoticeType sends one whose key the downstream remembers for BriefMemory,
	// and then waits for BriefWait.
	BriefNoticeType = "test.brief_notice"
	// AwaitType waits until invoice-42 is settled, by an event of SettleType.
	AwaitType  = "test.await_invoice"
	SettleType = "test.settle_invoice"
)

// How long the downstream remembers a brief notice's key, and how long its run
// then waits for a person.
const (
	BriefMemory = 4 * time.Second
	BriefWait   = 15 * time.Second
)

var (
	notice      = effect.Keyed[nothing, nothing]("test.send_notice", 24*time.Hour)      //nolint:gochecknoglobals // declared as in activities
	briefNotice = effect.Keyed[nothing, nothing]("test.send_brief_notice", BriefMemory) //nolint:gochecknoglobals // declared as in activities
	await       = effect.Local[nothing, nothing]("test.await_invoice")                  //nolint:gochecknoglobals // declared as in activities
	settle      = effect.Local[nothing, nothing]("test.settle_invoice")                 //nolint:gochecknoglobals // declared as in activities
)

// quick notices a dead worker soon, and tries again soon.
func quick(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 6 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Second, MaximumAttempts: 100},
	})
}

func remoteWorkflows() map[string]func(workflow.Context, oncehook.Ref) error {
	return map[string]func(workflow.Context, oncehook.Ref) error{
		NoticeType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := notice.Do(quick(ctx), nothing{})
			return err
		},
		BriefNoticeType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := briefNotice.Do(quick(ctx), nothing{}, effect.WaitUpTo(BriefMemory+BriefWait))
			return err
		},
		AwaitType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := await.Do(ctx, nothing{})
			return err
		},
		SettleType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := settle.Do(ctx, nothing{}, effect.BusinessKey("invoice-42"))
			return err
		},
	}
}

// Invoices makes the table that AwaitType and SettleType use.
func (s *System) Invoices() {
	s.T.Helper()
	s.Exec(`CREATE TABLE public.test_invoices (key text)`)
	s.Exec(`CREATE TABLE public.test_paid (key text)`)
	s.Exec(`GRANT ALL ON public.test_invoices, public.test_paid TO PUBLIC`)
}

func awaitInvoice(ctx context.Context, _ nothing) (nothing, error) {
	var there bool
	if err := effect.Tx(ctx).QueryRow(ctx, `SELECT EXISTS (SELECT FROM public.test_invoices)`).Scan(&there); err != nil {
		return nothing{}, err
	}
	if !there {
		return nothing{}, oncehook.NotYet("invoice-42")
	}
	_, err := effect.Tx(ctx).Exec(ctx, `INSERT INTO public.test_paid VALUES ($1)`, effect.IdempotencyKey(ctx))
	return nothing{}, err
}

func settleInvoice(ctx context.Context, _ nothing) (nothing, error) {
	_, err := effect.Tx(ctx).Exec(ctx, `INSERT INTO public.test_invoices VALUES ($1)`, effect.IdempotencyKey(ctx))
	return nothing{}, err
}

// sendNotice is a remote effect as engineers write it.
func sendNotice(client *http.Client, to effect.Destination) func(context.Context, nothing) (nothing, error) {
	return func(ctx context.Context, _ nothing) (nothing, error) {
		request, err := to.NewRequest(ctx, http.MethodPost, strings.NewReader(effect.Event(ctx).EventID))
		if err != nil {
			return nothing{}, err
		}
		response, err := client.Do(request)
		if err != nil {
			return nothing{}, err
		}
		defer response.Body.Close()
		return nothing{}, effect.CheckResponse(response)
	}
}

// withRemoteWorkflows adds the workflows of these types.
func withRemoteWorkflows(parts *app.Parts) {
	flows, others, bindings := remoteWorkflows(), parts.Workflows, parts.Bindings
	for eventType := range flows {
		parts.Routes = append(parts.Routes, oncehook.Route{Provider: "bearer", Type: eventType, Workflow: eventType})
	}
	parts.Workflows = func(w worker.WorkflowRegistry) {
		others(w)
		for name, flow := range flows {
			w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: name})
		}
	}
	parts.Actions = append(parts.Actions, notice, briefNotice, await, settle)
	parts.Bindings = func(o app.Outside) []effect.Binding {
		to := o.Destination("downstream")
		return append(bindings(o),
			notice.Bind(sendNotice(o.Client, to)), briefNotice.Bind(sendNotice(o.Client, to)),
			await.Bind(awaitInvoice), settle.Bind(settleInvoice))
	}
}
