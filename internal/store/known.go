package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// lookupLimits bound the questions whether keys are known: they are asked when
// a sender is over its rate, and must not become the next overload.
var lookupLimits = limits{queueParts: 4096, queueBytes: 4 << 20, batchParts: 512, batchBytes: 1 << 20}

const lookupTimeout = 2 * time.Second

// lookup is one caller's question.
type lookup struct {
	keys  []oncehook.Key
	done  chan struct{}
	known []bool
	err   error
}

func (l *lookup) size() (int, int64) { return len(l.keys), int64(len(l.keys)) * oncehook.MaxKey }

// Known reports for each of the keys whether a copy of its event was accepted.
// Callers share index look-ups. Beyond a bound of waiting questions, and when
// PostgreSQL does not answer, the error wraps ErrUnavailable.
func (s *Ingress) Known(ctx context.Context, keys []oncehook.Key) ([]bool, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	for _, key := range keys {
		if !storable(string(key)) {
			return nil, unstorable("key", "is not valid UTF-8 or holds a NUL")
		}
	}
	if err := s.gate.check(ctx); err != nil {
		return nil, unavailable("the schema", err)
	}
	l := &lookup{keys: keys, done: make(chan struct{})}
	if !s.lookups.add(l) {
		return nil, unavailable("too many look-ups", nil)
	}
	select {
	case <-l.done:
		return l.known, l.err
	case <-ctx.Done():
		return nil, unavailable("the caller went away", ctx.Err())
	}
}

// answer asks for a batch of look-ups at once.
func (s *Ingress) answer(batch []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	var keys []string
	for _, l := range batch {
		for _, key := range l.keys {
			keys = append(keys, string(key))
		}
	}
	rows, _ := s.pool.Query(ctx, `SELECT * FROM oncehook.known_keys_v1($1)`, keys)
	known, err := pgx.CollectRows(rows, pgx.RowTo[string])
	found := make(map[oncehook.Key]bool, len(known))
	for _, key := range known {
		found[oncehook.Key(key)] = true
	}
	for _, l := range batch {
		if err != nil {
			l.err = unavailable("look up keys", err)
		} else {
			l.known = make([]bool, len(l.keys))
			for i, key := range l.keys {
				l.known[i] = found[key]
			}
		}
		close(l.done)
	}
}
