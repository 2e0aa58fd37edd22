package effect

import (
	"context"

	"github.com/oncehook/oncehook"
)

// OnEvent is called at each attempt of an action, and of oncehook.finish, once it
// is known which event it belongs to. The attempt goes on with the context that it
// returns: for logs and traces.
func OnEvent(f func(ctx context.Context, action string, ref oncehook.Ref) context.Context) Option {
	return func(w *workerInterceptor) { w.event = f }
}

// OnRun is called when this worker begins a run, or replays it. It must do nothing
// but remember: replays repeat it.
func OnRun(f func(runID string, ref oncehook.Ref)) Option {
	return func(w *workerInterceptor) { w.began = f }
}
