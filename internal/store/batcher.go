package store

import (
	"sync"
	"sync/atomic"
)

// sized is what a batcher collects: the parts and bytes that an item holds.
type sized interface {
	size() (parts int, bytes int64)
}

// limits bound a batcher's queue, and each of its batches.
type limits struct {
	queueParts, batchParts int
	queueBytes, batchBytes int64
}

// batcher hands items to one goroutine in batches. There is no timer: a batch is
// the first item and whatever has queued up behind it meanwhile, so that a single
// item never waits and many share the cost. An item is never split.
type batcher[T sized] struct {
	limits limits
	handle func([]T)
	queue  chan T
	parts  atomic.Int64
	bytes  atomic.Int64
	done   chan struct{}

	mu     sync.RWMutex
	closed bool
}

// startBatcher calls handle for one batch after another until close.
func startBatcher[T sized](l limits, handle func([]T)) *batcher[T] {
	// An item has at least one part, so that sending to the queue never blocks.
	b := &batcher[T]{limits: l, handle: handle, queue: make(chan T, l.queueParts), done: make(chan struct{})}
	go b.run()
	return b
}

// add queues an item and returns false when there is no room or no batcher any
// more. An item that is larger than the queue is let into an empty one.
func (b *batcher[T]) add(item T) bool {
	parts, bytes := item.size()
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed || parts < 1 {
		return false
	}
	heldParts, heldBytes := b.parts.Add(int64(parts)), b.bytes.Add(bytes)
	full := heldParts > int64(b.limits.queueParts) || heldBytes > b.limits.queueBytes
	if full && heldParts > int64(parts) {
		b.release(parts, bytes)
		return false
	}
	b.queue <- item
	return true
}

func (b *batcher[T]) release(parts int, bytes int64) {
	b.parts.Add(-int64(parts))
	b.bytes.Add(-bytes)
}

// close takes no more items, handles those that are queued, and returns.
func (b *batcher[T]) close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.queue)
	}
	b.mu.Unlock()
	<-b.done
}

func (b *batcher[T]) run() {
	defer close(b.done)
	var batch []T
	for item := range b.queue {
		for more := true; more; {
			batch, item, more = b.collect(batch[:0], item)
			b.handle(batch)
			for i := range batch {
				b.release(batch[i].size())
			}
			clear(batch)
		}
	}
}

// collect fills a batch from the queue without waiting. When an item no longer
// fits, it is returned, with true, as the first of the next batch.
func (b *batcher[T]) collect(batch []T, first T) ([]T, T, bool) {
	batch = append(batch, first)
	parts, bytes := first.size()
	var none T
	for {
		select {
		case item, ok := <-b.queue:
			if !ok {
				return batch, none, false
			}
			p, n := item.size()
			if parts+p > b.limits.batchParts || bytes+n > b.limits.batchBytes {
				return batch, item, true
			}
			batch, parts, bytes = append(batch, item), parts+p, bytes+n
		default:
			return batch, none, false
		}
	}
}
