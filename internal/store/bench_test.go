package store_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/oncehook/oncehook/internal/store"
)

// BenchmarkAccept measures new events per second at several numbers of
// concurrent senders, on a table that was never analyzed.
func BenchmarkAccept(b *testing.B) {
	for _, senders := range []int{1, 32, 128} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) {
			s := openIngress(b, options(database(b)))
			body := make([]byte, 1024)
			var n atomic.Int64
			b.SetParallelism(senders)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c := copyOf(fmt.Sprintf("event-%d", n.Add(1)))
					c.Event.Body = body
					if _, err := s.Accept(context.Background(), []store.Candidate{c}); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
