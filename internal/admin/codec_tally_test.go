package admin

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

// audited is a tally whose clock, timers and database are the test's.
type audited struct {
	*tally
	now    time.Time
	timers []func()
	rows   map[string][]int64
	down   error
}

func newAudited() *audited {
	a := &audited{now: time.Now(), rows: map[string][]int64{}}
	a.tally = newTally(func(_ context.Context, operator store.Operator, count int64) error {
		if a.down == nil {
			a.rows[operator.Name] = append(a.rows[operator.Name], count)
		}
		return a.down
	}, func() time.Time { return a.now }, func(error) {})
	a.after = func(_ time.Duration, f func()) { a.timers = append(a.timers, f) }
	return a
}

func (a *audited) minutePasses() {
	a.now = a.now.Add(tallyEvery)
	due := a.timers
	a.timers = nil
	for _, f := range due {
		f()
	}
}

func TestEveryDecodedPayloadIsAuditedOnceAndMostInSum(t *testing.T) {
	t.Parallel()
	a := newAudited()
	one, two := store.Operator{ID: uuid.New(), Name: "one"}, store.Operator{ID: uuid.New(), Name: "two"}
	record := func(operator store.Operator, count int64) { require.NoError(t, a.record(t.Context(), operator, count)) }
	record(one, 3)
	record(one, 4)
	record(two, 1)
	record(one, 5)
	record(one, 0)
	require.Equal(t, map[string][]int64{"one": {3}, "two": {1}}, a.rows)
	a.minutePasses()
	require.Equal(t, map[string][]int64{"one": {3, 9}, "two": {1}}, a.rows)
	record(one, 2)
	require.Equal(t, []int64{3, 9, 2}, a.rows["one"])
	require.Empty(t, a.timers)
}

func TestWhatCannotBeAuditedIsRefusedOrTriedAgain(t *testing.T) {
	t.Parallel()
	a := newAudited()
	operator := store.Operator{ID: uuid.New(), Name: "one"}
	a.down = errors.New("away")
	require.Error(t, a.record(t.Context(), operator, 1))
	a.down = nil
	require.NoError(t, a.record(t.Context(), operator, 1))
	require.NoError(t, a.record(t.Context(), operator, 7))
	a.down = errors.New("away")
	a.minutePasses()
	require.Equal(t, []int64{1}, a.rows["one"])
	a.down = nil
	a.minutePasses()
	require.Equal(t, []int64{1, 7}, a.rows["one"])
}
