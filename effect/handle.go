package effect

import (
	"context"
	"reflect"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// Handle is a declared action: its name on the wire, its kind, and the types of
// its input and result. Both travel as JSON.
type Handle[In, Out any] struct {
	// Name is `area.verb_object`. It is in histories and in the action ledger
	// and never changes.
	Name      string
	kind      oncehook.Kind
	remembers time.Duration
}

// Local declares an action whose effect is in our PostgreSQL: the effect, the
// action's end and its evidence are one transaction, so it happens exactly once.
// Its function writes through Tx.
func Local[In, Out any](name string) Handle[In, Out] {
	return Handle[In, Out]{Name: name, kind: oncehook.KindLocal}
}

// Keyed declares an action at a downstream that honours an idempotency key:
// calls with the same key, within the time that it remembers them, have one
// effect. Its function calls through a client of Transport, or calls BeforeSend.
// Once remembers has passed since the first byte, nothing is sent any more.
func Keyed[In, Out any](name string, remembers time.Duration) Handle[In, Out] {
	return Handle[In, Out]{Name: name, kind: oncehook.KindKeyed, remembers: remembers}
}

// Do calls the action from a workflow and waits for its result. A second call
// of the same action in one run is an error: an action is one effect of one event.
func (h Handle[In, Out]) Do(ctx workflow.Context, in In, options ...CallOption) (Out, error) {
	var out Out
	err := workflow.ExecuteActivity(WithCall(ctx, options...), h.Name, in).Get(ctx, &out)
	return out, err
}

// Bind gives the action its function, with whatever it depends on.
func (h Handle[In, Out]) Bind(fn func(ctx context.Context, in In) (Out, error)) Binding {
	b := Binding{declaration: h.Declaration()}
	if fn != nil {
		b.fn = fn
	}
	return b
}

// Declaration describes the action to a Registry.
func (h Handle[In, Out]) Declaration() Declaration {
	return Declaration{Name: h.Name, Kind: h.kind, Remembers: h.remembers, In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()}
}

// Declared is what NewRegistry takes of a Handle.
type Declared interface{ Declaration() Declaration }

// Declaration is a Handle without its type parameters.
type Declaration struct {
	Name string
	Kind oncehook.Kind
	// Remembers is how long a Keyed action's downstream honours its key.
	Remembers time.Duration
	In, Out   reflect.Type
}

// Binding is an action with its function, as Handle.Bind returns it.
type Binding struct {
	declaration Declaration
	fn          any
}
