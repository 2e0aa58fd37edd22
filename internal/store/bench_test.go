package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

// measured is how long each side of a comparison runs.
const measured = 3 * time.Second

// BenchmarkGroupCommit compares, in one run, the grouped commit of concurrent
// senders with the same function called for one event at a time over eight
// connections. Both start on a table that was never analyzed.
//
// The goals are ratios: at least 2.0 with 32 senders and 2.0 with 128.
func BenchmarkGroupCommit(b *testing.B) {
	for _, senders := range []int{32, 128} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) {
			for b.Loop() {
				single := acceptRate(b, 8, 8)
				grouped := acceptRate(b, 1, senders)
				b.ReportMetric(single, "single/s")
				b.ReportMetric(grouped, "grouped/s")
				b.ReportMetric(grouped/single, "ratio")
			}
		})
	}
}

// acceptRate returns new events per second of so many senders, spread over so
// many processes' worth of stores: as many stores as senders means one event a call.
func acceptRate(b *testing.B, stores, senders int) float64 {
	b.Helper()
	o := options(database(b))
	opened := make([]*store.Ingress, stores)
	for n := range opened {
		opened[n] = openIngress(b, o)
	}
	body := make([]byte, 1024)
	var accepted, failed atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(measured)
	for n := range senders {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				c := copyOf(fmt.Sprintf("event-%d-%d", n, i))
				c.Event.Body = body
				if _, err := opened[n%stores].Accept(context.Background(), []store.Candidate{c}); err != nil {
					failed.Add(1)
					return
				}
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		b.Fatalf("%d senders were refused", failed.Load())
	}
	return float64(accepted.Load()) / measured.Seconds()
}
