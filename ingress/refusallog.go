package ingress

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
)

// logEvery is the least time between two lines about the same source and cause.
// Refusals between them are counted in the next line.
const logEvery = time.Second

type refusalKind struct {
	source string
	code   oncehook.Code
	cause  string
	// notKept has lines of its own: the first is told at once.
	notKept bool
}

// refusalLog writes lines about refusals: at once for the first of a kind, and
// never as many as a flood has. Its kinds are bounded: sources come from the
// configuration, codes and causes from fixed lists.
type refusalLog struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	kinds map[refusalKind]*refusalLines
}

type refusalLines struct {
	next       time.Time
	suppressed int
}

func newRefusalLog(log *slog.Logger, now func() time.Time) *refusalLog {
	return &refusalLog{log: log, now: now, kinds: map[refusalKind]*refusalLines{}}
}

func (l *refusalLog) line(ctx context.Context, r *refused, attrs []slog.Attr) {
	kind := refusalKind{source: attrs[0].Value.String(), code: r.Code, cause: r.cause, notKept: r.notKept}
	now := l.now()
	l.mu.Lock()
	lines := l.kinds[kind]
	if lines == nil {
		lines = &refusalLines{}
		l.kinds[kind] = lines
	}
	quiet := now.Before(lines.next)
	suppressed := lines.suppressed
	if quiet {
		lines.suppressed++
	} else {
		lines.next, lines.suppressed = now.Add(logEvery), 0
	}
	l.mu.Unlock()
	if quiet {
		return
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("more_since_last_line", suppressed))
	}
	l.log.LogAttrs(ctx, levelOf(r), "delivery refused", attrs...)
}

// levelOf is Error for a bug, Warn for what an operator should look into, Info for the rest.
func levelOf(r *refused) slog.Level {
	switch {
	case r.Code == oncehook.CodeInternal:
		return slog.LevelError
	case r.decision == oncehook.Conflict || r.decision == oncehook.Unavailable || r.decision == oncehook.TenantForbidden || r.notKept:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}
