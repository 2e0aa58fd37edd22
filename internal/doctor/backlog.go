package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

const (
	// fewDays of partitions are left when nobody has made any for more than a week.
	fewDays = 3
	// startLate is how old an outbox row is when something must be wrong.
	startLate = 5 * time.Minute
	// sweepLate is how long ago the reconciler's last sweep ended when none runs.
	sweepLate = 10 * time.Minute
)

// Partitions examines for how many days events can be stored.
func Partitions(l Login) Check {
	return Check{"partitions", func(ctx context.Context, r *Report) {
		e, ok := l.connectMigrated(ctx, r)
		if !ok {
			return
		}
		defer e.Close()
		const remedy = "run oncehook migrate up, which makes them now; oncehook work keeps them ahead"
		switch days, err := e.PartitionDays(ctx); {
		case err != nil:
			r.Block("see the server's log", "the partitions cannot be counted: %v", err)
		case days < 0:
			r.Block(remedy, "today's partitions are missing: every delivery is answered 503")
		case days < fewDays:
			r.Warn(remedy, "there are partitions for %d more days only: after that every delivery is answered 503", days)
		default:
			r.OK("there are partitions for %d more days", days)
		}
	}}
}

// Backlog examines what is not done.
func Backlog(l Login) Check {
	return Check{"backlog", func(ctx context.Context, r *Report) {
		e, ok := l.connectMigrated(ctx, r)
		if !ok {
			return
		}
		defer e.Close()
		b, err := e.Backlog(ctx)
		if err != nil {
			r.Block(grantRemedy, "the backlog cannot be counted: %v", err)
			return
		}
		if b.Oldest > startLate {
			r.Warn("see that oncehook work runs and that Temporal answers", "the oldest of %d rows of the outbox waits since %s", b.Pending, b.Oldest.Round(time.Second))
		}
		if b.Alerts > 0 {
			r.Warn("oncehook events list --state queued, then oncehook trace: it names the reason", "%d starts wait for a person", b.Alerts)
		}
		if n := total(b.Uncertain); n > 0 {
			r.Warn("ask the downstream whether it happened", "of %d actions nobody knows whether they happened: %s", n, list(b.Uncertain))
		}
		text := "no dead letters"
		if n := total(b.DeadLetters); n > 0 {
			text = fmt.Sprintf("%d dead letters: %s", n, list(b.DeadLetters))
		}
		r.OK("%d rows of the outbox wait, %d actions wait for another event; %s", b.Pending, total(b.Parked), text)
		sweep(ctx, e, r)
	}}
}

func sweep(ctx context.Context, e *store.Examination, r *Report) {
	switch age, ever, err := e.LastSweep(ctx); {
	case err != nil:
		r.Block(grantRemedy, "the reconciler's last sweep cannot be read: %v", err)
	case !ever:
		r.OK("the reconciler has not swept yet")
	case age > sweepLate:
		r.Warn("see that oncehook work runs, and its log", "the reconciler last swept %s ago: runs that were ended from outside stay unnoticed", age.Round(time.Second))
	default:
		r.OK("the reconciler swept %s ago", age.Round(time.Second))
	}
}

func total(counts map[string]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func list(counts map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}
