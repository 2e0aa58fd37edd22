package doctor

import (
	"context"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

// ServerCheck judges what a server would say of itself, for servers that tests do not have.
func ServerCheck(l Login, f store.ServerFacts) Check {
	return Check{"database", func(_ context.Context, r *Report) {
		server(l, f, r)
		settings(l, f, r)
		clock(l, f, r)
	}}
}

// Hours is how durations are written.
func Hours(d time.Duration) string { return hours(d) }
