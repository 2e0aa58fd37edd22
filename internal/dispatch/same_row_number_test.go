package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A database that was restored or made anew counts its outbox rows from before.
func TestARowOfAnotherDatabaseWithTheSameNumberIsAnotherRequest(t *testing.T) {
	t.Parallel()
	before, after := openPost(t), openPost(t)
	after.source = before.source

	first := before.accept("event-1")
	before.dispatch(before.config())
	before.started(first)

	second := after.accept("event-1")
	require.Equal(t, first.key, second.key)
	require.Equal(t, before.outboxID(first), after.outboxID(second), "both databases begin at the same number")
	after.dispatch(after.config())
	after.soon(func() bool { return after.row(second).alert != "" }, "the row alerts, since the run is another receipt's")
	require.False(t, after.row(second).dispatched)
}

func (p *post) outboxID(a accepted) (id int64) {
	p.t.Helper()
	require.NoError(p.t, p.DB.QueryRow(p.t.Context(), `SELECT id FROM oncehook.outbox WHERE receipt_id = $1`, a.receipt).Scan(&id))
	return id
}
