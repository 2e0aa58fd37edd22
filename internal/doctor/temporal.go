package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
)

// Temporal is how the server is reached.
type Temporal struct {
	// Options say which server and namespace.
	Options func() (client.Options, error)
	// Attributes returns an error that names the missing search attributes and how
	// to add them.
	Attributes func(ctx context.Context, c client.Client, namespace string) error
	Sources    []config.Source
	// Processes returns the ids of this database's processes; nil where nobody may ask.
	Processes func(ctx context.Context) ([]string, error)
	// Late is how old a waiting task is when the workers cannot keep up. Defaults to
	// a minute.
	Late time.Duration
}

// redelivery is for how long a provider sends an event again by itself, or keeps it
// for a person to send again by a click: Stripe's automatic retries in live mode end
// after three days, GitHub keeps deliveries for three days, and the schedule that
// Standard Webhooks senders share ends after 28 hours.
func redelivery(kind string) time.Duration {
	switch kind {
	case "stripe", "github":
		return 3 * day
	case "standard-webhooks":
		return 28 * time.Hour
	default:
		return 0
	}
}

// Check examines the server, the namespace and the task queue.
func (t Temporal) Check() Check {
	return Check{"temporal", func(ctx context.Context, r *Report) {
		options, err := t.Options()
		if err != nil {
			r.Block("correct the Temporal profile or the TEMPORAL_* variables", "%v", err)
			return
		}
		c, err := client.DialContext(ctx, options)
		if err != nil {
			r.Block("see that it runs, and that temporal.address or the profile names it; deliveries are accepted meanwhile", "%s does not answer: is it still starting? %v", options.HostPort, err)
			return
		}
		defer c.Close()
		if !t.namespace(ctx, c, options, r) {
			return
		}
		if err := t.Attributes(ctx, c, options.Namespace); err != nil {
			r.Block("run that command; oncehook work does not start without them", "%v", err)
		} else {
			r.OK("the namespace has the search attributes")
		}
		t.queue(ctx, c, options.Namespace, r)
	}}
}

// namespace returns false when it does not exist.
func (t Temporal) namespace(ctx context.Context, c client.Client, options client.Options, r *Report) bool {
	answer, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: options.Namespace})
	var (
		missing *serviceerror.NamespaceNotFound
		denied  *serviceerror.PermissionDenied
	)
	switch {
	case errors.As(err, &missing):
		r.Block("temporal operator namespace create --namespace "+options.Namespace+" --retention 7d", "%s answers, but has no namespace %s", options.HostPort, options.Namespace)
		return false
	case errors.As(err, &denied):
		r.OK("%s answers; it does not let us look at namespace %s", options.HostPort, options.Namespace)
		return true
	case err != nil:
		r.Block("see the server's log", "%s: describe namespace %s: %v", options.HostPort, options.Namespace, err)
		return false
	}
	kept := answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	r.OK("%s answers; namespace %s keeps closed runs for %s", options.HostPort, options.Namespace, hours(kept))
	var seen []string
	for _, s := range t.Sources {
		if longest := redelivery(s.Provider); kept > 0 && kept < longest && !slices.Contains(seen, s.Provider) {
			seen = append(seen, s.Provider)
			r.Warn("temporal operator namespace update --namespace "+options.Namespace+" --retention 7d",
				"%s sends events again for %s, and the namespace forgets a closed run after %s: then the event key in PostgreSQL alone recognizes a copy",
				s.Provider, hours(longest), hours(kept))
		}
	}
	return true
}

// hours writes a duration in hours, or in days where it is a few whole ones.
func hours(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + " days"
	}
	return strconv.Itoa(int(d/time.Hour)) + " hours"
}

// pollerSeen is how long ago a worker may have polled; a poll takes a minute.
const pollerSeen = 2 * time.Minute

func (t Temporal) queue(ctx context.Context, c client.Client, namespace string, r *Report) {
	late, workers := cmp.Or(t.Late, time.Minute), map[string]bool{}
	defer func() { t.strangers(ctx, workers, r) }()
	for _, kind := range []struct {
		word string
		kind enumspb.TaskQueueType
	}{{"workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW}, {"activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY}} {
		answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: oncehook.TaskQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
			TaskQueueType: kind.kind, ReportStats: true,
		})
		if err != nil {
			r.Warn("see the server's log", "the task queue's %s tasks cannot be looked at: %v", kind.word, err)
			continue
		}
		pollers := 0
		for _, p := range answer.GetPollers() {
			if time.Since(p.GetLastAccessTime().AsTime()) < pollerSeen {
				pollers++
				workers[p.GetIdentity()] = true
			}
		}
		stats := answer.GetStats()
		waits, age := stats.GetApproximateBacklogCount(), stats.GetApproximateBacklogAge().AsDuration()
		switch {
		case pollers == 0:
			r.Warn("start oncehook work", "no worker polls the task queue %s for %s tasks: events are recorded and wait", oncehook.TaskQueue, kind.word)
		case age > late:
			r.Warn("start more oncehook work", "%d %s tasks wait in the task queue %s, the oldest for %s", waits, kind.word, oncehook.TaskQueue, age.Round(time.Second))
		default:
			r.OK("the task queue %s has workers for %s tasks (%d), of which %d wait", oncehook.TaskQueue, kind.word, pollers, waits)
		}
	}
}

// strangers warns of workers that no process of this database is: they take this
// installation's tasks and cannot do them.
func (t Temporal) strangers(ctx context.Context, workers map[string]bool, r *Report) {
	if t.Processes == nil || len(workers) == 0 {
		return
	}
	known, err := t.Processes(ctx)
	if err != nil {
		r.Skip("whose workers they are is not examined: %v", err)
		return
	}
	for _, process := range known {
		delete(workers, workerIdentity+process)
	}
	if len(workers) > 0 {
		r.Warn("give each installation a namespace of its own in Temporal, or stop that worker",
			"a worker on the task queue %s is no process of this database, and takes tasks that it cannot do: %s", oncehook.TaskQueue, join(slices.Sorted(maps.Keys(workers))))
	}
}

// workerIdentity is how a process names itself to Temporal, before its id.
const workerIdentity = "oncehook "
