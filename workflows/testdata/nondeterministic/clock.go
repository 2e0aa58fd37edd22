// Package nondeterministic holds workflows that a replay cannot repeat. The
// linter's check of workflows must report each of them: a check that finds
// nothing here finds nothing anywhere.
package nondeterministic

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// ReadsTheClock reads the clock through a function of its own.
func ReadsTheClock(workflow.Context) (time.Time, error) { return now(), nil }

func now() time.Time { return time.Now() }

// RangesOverAMap depends on the order of a map.
func RangesOverAMap(_ workflow.Context, names map[string]bool) (string, error) {
	for name := range names {
		return name, nil
	}
	return "", nil
}
