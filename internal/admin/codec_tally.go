package admin

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook/internal/store"
)

// tallyEvery is how often one operator's decoding becomes an audit row.
const tallyEvery = time.Minute

// tally sums what operators had decrypted. The first use of a minute is recorded
// before it is answered; what follows in that minute is summed, and recorded with
// its end or the next use.
type tally struct {
	write func(ctx context.Context, operator store.Operator, count int64) error
	now   func() time.Time
	// after calls f once, later.
	after func(d time.Duration, f func())
	// failed is told of sums that could not be written: they are tried again.
	failed func(err error)

	mu   sync.Mutex
	open map[uuid.UUID]*minute
}

type minute struct {
	operator store.Operator
	began    time.Time
	count    int64
	pending  bool
}

func newTally(write func(context.Context, store.Operator, int64) error, now func() time.Time, failed func(error)) *tally {
	return &tally{
		write: write, now: now, failed: failed, open: map[uuid.UUID]*minute{},
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

// record adds count to the operator's sum. Its error means that nothing of this
// call is recorded, so that nothing may be answered.
func (t *tally) record(ctx context.Context, operator store.Operator, count int64) error {
	if count == 0 {
		return nil
	}
	now := t.now()
	t.mu.Lock()
	m := t.open[operator.ID]
	if m != nil && now.Sub(m.began) < tallyEvery {
		m.count += count
		if !m.pending {
			m.pending = true
			t.after(tallyEvery-now.Sub(m.began), func() { t.flush(m) })
		}
		t.mu.Unlock()
		return nil
	}
	t.mu.Unlock()
	if err := t.write(ctx, operator, count); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if current := t.open[operator.ID]; current == m {
		t.open[operator.ID] = &minute{operator: operator, began: now}
	}
	return nil
}

// flush records what was summed.
func (t *tally) flush(m *minute) {
	t.mu.Lock()
	count := m.count
	m.count, m.pending = 0, false
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	err := t.write(ctx, m.operator, count)
	if err == nil {
		return
	}
	t.failed(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	m.count += count
	if !m.pending {
		m.pending = true
		t.after(tallyEvery, func() { t.flush(m) })
	}
}
