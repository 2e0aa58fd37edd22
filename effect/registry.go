package effect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
)

// Registry holds every declared action with its function.
type Registry struct{ actions map[string]Binding }

// NewRegistry matches declarations with functions. An action without a
// function, a function without a declaration, a name used twice and an invalid
// name are errors, so that a worker which starts can do all it declares.
func NewRegistry(declared []Declared, bindings []Binding) (*Registry, error) {
	var problems []error
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	known := map[string]Declaration{}
	for _, d := range declared {
		declaration := d.Declaration()
		switch _, twice := known[declaration.Name]; {
		case !oncehook.ValidActionName(declaration.Name):
			complain("action %q: the name must match [a-z0-9_.]{1,48}", declaration.Name)
		case declaration.Name == oncehook.ActionFinish:
			complain("action %q: the name is oncehook's own", declaration.Name)
		case twice:
			complain("action %q is declared twice", declaration.Name)
		case declaration.Kind == oncehook.KindKeyed && declaration.Remembers <= 0:
			complain("action %q: say for how long its downstream honours the key", declaration.Name)
		}
		known[declaration.Name] = declaration
	}
	actions := map[string]Binding{}
	for _, b := range bindings {
		name := b.declaration.Name
		_, twice := actions[name]
		declaration, ok := known[name]
		switch {
		case !ok:
			complain("action %q has a function but is not declared", name)
		case twice:
			complain("action %q has two functions", name)
		case b.fn == nil:
			complain("action %q is bound to no function", name)
		case b.declaration != declaration:
			complain("action %q: its function has other types than its declaration", name)
		}
		actions[name] = b
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, ok := actions[name]; !ok {
			complain("action %q has no function", name)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &Registry{actions: actions}, nil
}

// Register registers every action under its name, and oncehook.finish. The
// worker needs WorkerInterceptor: without it no action does anything.
func (r *Registry) Register(w interface {
	RegisterActivityWithOptions(fn any, options activity.RegisterOptions)
},
) {
	for _, name := range slices.Sorted(maps.Keys(r.actions)) {
		w.RegisterActivityWithOptions(r.actions[name].fn, activity.RegisterOptions{Name: name})
	}
	w.RegisterActivityWithOptions(notIntercepted, activity.RegisterOptions{Name: oncehook.ActionFinish})
}

// notIntercepted gives oncehook.finish its types; the interceptor performs it.
func notIntercepted(context.Context, FinishInput) error {
	return errors.New("the worker lacks the effect interceptor")
}

// WorkerOptions returns base with what oncehook relies on: registration under
// explicit names only. Test environments and replayers set the same.
func WorkerOptions(base worker.Options) worker.Options {
	base.DisableRegistrationAliasing = true
	return base
}
