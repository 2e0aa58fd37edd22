package store

import (
	"context"
	"net/netip"
	"time"

	"github.com/oncehook/oncehook"
)

// Count adds one refusal to the sums of source, decision, cause and the peer's
// address block, which are written every few seconds. It never blocks and needs
// no database. The source is the name of a configured one, or "".
func (s *Ingress) Count(source string, d oncehook.Decision, cause string, peer netip.Addr) {
	s.sums.add(source, d, cause, peer)
}

func (s *Ingress) writeSums(ctx context.Context, counts map[sumKey]sum) error {
	if err := s.gate.check(ctx); err != nil {
		return err
	}
	var (
		minutes, firsts, lasts            []time.Time
		sources, outcomes, causes, blocks []string
		numbers                           []int64
	)
	for key, n := range counts {
		minutes, firsts, lasts = append(minutes, key.minute), append(firsts, n.first), append(lasts, n.last)
		sources, outcomes = append(sources, key.source), append(outcomes, key.outcome)
		causes, blocks = append(causes, key.cause), append(blocks, key.block)
		numbers = append(numbers, n.count)
	}
	_, err := s.pool.Exec(ctx, `SELECT oncehook.count_v1($1,$2,$3,$4,$5,$6,$7,$8,$9)`,
		s.process, minutes, sources, outcomes, causes, blocks, numbers, firsts, lasts)
	return err
}
