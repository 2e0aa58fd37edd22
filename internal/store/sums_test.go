package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSumsAreBoundedAndNeverLoseACount(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var written []map[sumKey]sum
	away := true
	s := startSums(func(_ context.Context, counts map[sumKey]sum) error {
		if away {
			return errors.New("away")
		}
		written = append(written, counts)
		return nil
	}, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	const total = 60_000
	for n := range total {
		now = now.Add(time.Second)
		block := netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 1})
		s.add("logistics", "unauthenticated", fmt.Sprintf("cause-%d", n), block)
		if n%1000 == 0 {
			s.flush()
		}
		s.mu.Lock()
		require.LessOrEqual(t, len(s.counts), sumsKeptAway+1)
		s.mu.Unlock()
	}
	away = false
	s.close()
	require.Len(t, written, 1)
	var sum, more int64
	for key, n := range written[0] {
		sum += n.count
		if key.source == sumsOverflow {
			more += n.count
		}
		require.False(t, n.last.Before(n.first))
	}
	require.EqualValues(t, total, sum)
	require.Positive(t, more)
}

func TestAddressBlocks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.130": "192.0.2.0/24", "::ffff:192.0.2.130": "192.0.2.0/24",
		"2001:db8:1:2::1": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48",
	} {
		require.Equal(t, want, addressBlock(netip.MustParseAddr(address)))
	}
	require.Empty(t, addressBlock(netip.Addr{}))
}

func TestTimeoutReadsPostgreSQLsTimeSettings(t *testing.T) {
	for setting, want := range map[string]time.Duration{
		"1500": 1500 * time.Millisecond, "30s": 30 * time.Second, "2min": 2 * time.Minute, " 1.5 h ": 90 * time.Minute,
		"250ms": 250 * time.Millisecond, "500us": 500 * time.Microsecond, "1d": 24 * time.Hour,
	} {
		got, ok := timeout(setting)
		require.True(t, ok, setting)
		require.Equal(t, want, got, setting)
	}
	for _, setting := range []string{"", "0", "-1", "s", "1w", "x1", "1e400", "99999999999d", "NaN"} {
		_, ok := timeout(setting)
		require.False(t, ok, setting)
	}
}
