package store

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type load struct {
	parts int
	bytes int64
}

func (l load) size() (int, int64) { return l.parts, l.bytes }

// blockedBatcher returns a batcher whose handler waits for a signal per batch.
func blockedBatcher(l limits) (b *batcher[load], entered, release chan struct{}, batches func() [][]load) {
	entered, release = make(chan struct{}, 100), make(chan struct{})
	var mu sync.Mutex
	var got [][]load
	b = startBatcher(l, func(batch []load) {
		entered <- struct{}{}
		<-release
		mu.Lock()
		got = append(got, append([]load(nil), batch...))
		mu.Unlock()
	})
	return b, entered, release, func() [][]load { mu.Lock(); defer mu.Unlock(); return got }
}

func TestABatchIsBoundedByPartsAndBytesAndNeverSplitsAnItem(t *testing.T) {
	b, entered, release, batches := blockedBatcher(limits{queueParts: 100, queueBytes: 1000, batchParts: 5, batchBytes: 50})
	require.True(t, b.add(load{1, 1}))
	<-entered
	for _, item := range []load{{2, 10}, {2, 10}, {2, 10}, {1, 45}, {1, 5}, {9, 1}, {1, 90}, {1, 1}} {
		require.True(t, b.add(item))
	}
	close(release)
	b.close()
	require.Equal(t, [][]load{{{1, 1}}, {{2, 10}, {2, 10}}, {{2, 10}}, {{1, 45}, {1, 5}}, {{9, 1}}, {{1, 90}}, {{1, 1}}}, batches())
	require.Zero(t, b.parts.Load())
	require.Zero(t, b.bytes.Load())
}

func TestAQueueIsBoundedByPartsAndBytes(t *testing.T) {
	for name, test := range map[string]struct {
		held, refused load
	}{
		"parts": {load{9, 1}, load{2, 1}},
		"bytes": {load{1, 90}, load{1, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			b, entered, release, _ := blockedBatcher(limits{queueParts: 10, queueBytes: 100, batchParts: 10, batchBytes: 100})
			require.True(t, b.add(test.held))
			<-entered
			require.False(t, b.add(test.refused))
			require.True(t, b.add(load{1, 1}), "what fits is taken")
			close(release)
			b.close()
			require.False(t, b.add(load{1, 1}), "closed")
		})
	}
}

func TestAnItemLargerThanTheQueueIsTakenWhenItIsEmpty(t *testing.T) {
	b, entered, release, _ := blockedBatcher(limits{queueParts: 10, queueBytes: 100, batchParts: 10, batchBytes: 100})
	require.True(t, b.add(load{1, 1000}))
	<-entered
	require.False(t, b.add(load{1, 1}))
	close(release)
	b.close()
	require.False(t, b.add(load{0, 1}), "nothing")
}

func TestEveryItemIsHandledOnceByConcurrentAdders(t *testing.T) {
	var handled atomic.Int64
	b := startBatcher(limits{queueParts: 64, queueBytes: 1 << 20, batchParts: 16, batchBytes: 1 << 10}, func(batch []load) {
		handled.Add(int64(len(batch)))
	})
	var added atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 2000 {
				if b.add(load{1 + n%3, int64(n % 200)}) {
					added.Add(1)
				}
			}
		})
	}
	wg.Wait()
	b.close()
	require.Equal(t, added.Load(), handled.Load())
}
