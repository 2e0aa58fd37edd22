package store

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
)

// sumKey is what refusals are counted by.
type sumKey struct {
	minute                        time.Time
	source, outcome, cause, block string
}

type sum struct {
	count       int64
	first, last time.Time
}

// sums counts refusals in memory, bounded, and writes them every few seconds.
type sums struct {
	write func(context.Context, map[sumKey]sum) error
	now   func() time.Time
	log   *slog.Logger
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	counts map[sumKey]sum
}

const (
	// sumsKept bounds the distinct sums in memory. Beyond it refusals are counted
	// per outcome only, under the source and cause "(more)".
	sumsKept     = 4096
	sumsOverflow = "(more)"
	// sumsKeptAway bounds them while they cannot be written, overflow included.
	sumsKeptAway = 2 * sumsKept
	sumsEvery    = 5 * time.Second
	sumsTimeout  = 3 * time.Second
	sumText      = 64
)

func startSums(write func(context.Context, map[sumKey]sum) error, now func() time.Time, log *slog.Logger) *sums {
	s := &sums{
		write: write, now: now, log: log, counts: map[sumKey]sum{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.run()
	return s
}

func (s *sums) run() {
	defer close(s.done)
	ticker := time.NewTicker(sumsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.flush()
		case <-s.stop:
			s.flush()
			return
		}
	}
}

func (s *sums) close() {
	s.once.Do(func() { close(s.stop) })
	<-s.done
}

func (s *sums) add(source string, d oncehook.Decision, cause string, peer netip.Addr) {
	now := s.now().UTC()
	key := sumKey{
		minute: now.Truncate(time.Minute), source: plain(source, sumText), outcome: string(d),
		cause: plain(cause, sumText), block: addressBlock(peer),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, sum{count: 1, first: now, last: now})
}

// put adds to a sum. The caller holds mu.
func (s *sums) put(key sumKey, add sum) {
	have, known := s.counts[key]
	if !known && len(s.counts) >= sumsKept {
		key.source, key.cause, key.block = sumsOverflow, sumsOverflow, ""
		if have, known = s.counts[key]; !known && len(s.counts) >= sumsKeptAway {
			// An outage of days: minutes are given up too, the count is not.
			key.minute = add.first.Truncate(24 * time.Hour)
			have, known = s.counts[key]
		}
	}
	if known {
		add.count += have.count
		if have.first.Before(add.first) {
			add.first = have.first
		}
		if have.last.After(add.last) {
			add.last = have.last
		}
	}
	s.counts[key] = add
}

// flush writes what was counted; what cannot be written is counted on.
func (s *sums) flush() {
	s.mu.Lock()
	counts := s.counts
	s.counts = map[sumKey]sum{}
	s.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sumsTimeout)
	defer cancel()
	err := s.write(ctx, counts)
	if err == nil {
		return
	}
	s.log.Warn("sums of refusals could not be written yet", "sums", len(counts), "error", brief(err))
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, add := range counts {
		s.put(key, add)
	}
}

// addressBlock is the network that refusals of an address are counted under: /24 or /48.
func addressBlock(peer netip.Addr) string {
	peer = peer.Unmap().WithZone("")
	bits := 48
	switch {
	case !peer.IsValid():
		return ""
	case peer.Is4():
		bits = 24
	}
	prefix, err := peer.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}
