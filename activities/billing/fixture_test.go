package billing_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/devstack/receiver"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// house is a database with the billing schema, and the service that notices go to.
type house struct {
	*storetest.Store
	service *receiver.Receiver
	notice  effect.Destination
}

func open(t testing.TB) house {
	t.Helper()
	service := receiver.New(time.Now)
	server := httptest.NewServer(service.Handler())
	t.Cleanup(server.Close)
	return house{
		Store:   storetest.Open(t, map[string]fs.FS{billing.Schema: billing.Migrations}),
		service: service,
		notice:  effect.Destination{Name: billing.NoticeDestination, URL: server.URL + receiver.Path},
	}
}

func declared() []effect.Declared {
	return []effect.Declared{billing.ReadInvoice, billing.SettleInvoice, billing.PostEntry, billing.NotifyCustomer}
}

// run runs a workflow with the area's actions, and everything around them.
func (h house) run(t testing.TB, ref oncehook.Ref, flow func(workflow.Context) error) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	client := &http.Client{Transport: effect.Transport(http.DefaultTransport)}
	registry, err := effect.NewRegistry(declared(), billing.Bindings(client, h.notice))
	require.NoError(t, err)
	env.SetWorkerOptions(effect.WorkerOptions(worker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{registry.WorkerInterceptor(h.Work, effect.WithLog(slog.New(slog.DiscardHandler)))},
		DeadlockDetectionTimeout: time.Minute,
	}))
	registry.Register(env)
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ oncehook.Ref) error { return flow(ctx) }, workflow.RegisterOptions{Name: "Flow"})
	env.ExecuteWorkflow("Flow", ref)
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

// settle settles the event's invoice without a business key, so that what the
// table itself decides is seen.
func (h house) settle(t testing.TB, ref oncehook.Ref) (settled billing.Settled, err error) {
	t.Helper()
	err = h.run(t, ref, func(ctx workflow.Context) error {
		var err error
		settled, err = billing.SettleInvoice.Do(ctx, billing.Settle{})
		return err
	})
	return settled, err
}

func at(hour int) time.Time { return time.Date(2026, 11, 30, hour, 0, 0, 0, time.UTC) }

// event is a Stripe event of a paid invoice.
func event(id, invoice string, amount int, currency string) storetest.Event {
	return storetest.Event{Source: "stripe", ID: id, Type: "invoice.paid", OccurredAt: at(12), Body: body(id, invoice, amount, currency)}
}

func body(id, invoice string, amount int, currency string) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":"invoice.paid","created":1796040000,"livemode":false,"data":{"object":{
		"id":%q,"object":"invoice","status":"paid","customer":"cus_1","amount_paid":%d,"currency":%q}}}`, id, invoice, amount, currency)
}
