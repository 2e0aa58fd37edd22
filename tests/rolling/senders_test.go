package rolling_test

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// senders deliver events through a balancer, one after the other each, and take
// nothing but an acceptance for an answer.
type senders struct {
	t       *testing.T
	url     string
	pause   time.Duration
	stop    chan struct{}
	all     sync.WaitGroup
	sent    atomic.Int64
	ok      atomic.Int64
	parted  atomic.Int64 // answers that ended a kept connection
	refused chan string
}

// startSenders starts eight of them, each with a pause between its deliveries.
func startSenders(t *testing.T, url string, pause time.Duration) *senders {
	t.Helper()
	s := &senders{t: t, url: url, pause: pause, stop: make(chan struct{}), refused: make(chan string, 1000)}
	for n := range 8 {
		// One of them connects anew for each delivery; the others keep their connections.
		anew := n == 0
		client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1, DisableKeepAlives: anew}}
		s.all.Go(func() { s.send(client, anew, "sender-"+strconv.Itoa(n)) })
	}
	return s
}

func (s *senders) send(client *http.Client, anew bool, name string) {
	pace := time.NewTicker(s.pause)
	defer pace.Stop()
	defer client.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-s.stop:
			return
		case <-pace.C:
		}
		id := name + "-" + strconv.Itoa(n)
		s.sent.Add(1)
		a := harness.DeliverBy(client, s.url+"/hooks/logistics", harness.LogisticsToken, harness.Event(id))
		switch {
		case a.Err == nil && a.Status == http.StatusAccepted:
			s.ok.Add(1)
			if a.Close && !anew {
				s.parted.Add(1)
			}
		default:
			select {
			case s.refused <- id + ": " + strconv.Itoa(a.Status) + " " + a.Body + " " + errorText(a.Err):
			default:
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// goOn waits until n more deliveries are accepted.
func (s *senders) goOn(n int64) {
	s.t.Helper()
	from := s.ok.Load()
	require.Eventually(s.t, func() bool { return s.ok.Load() >= from+n }, time.Minute, 10*time.Millisecond, "deliveries go on")
}

// end stops the senders and requires that each delivery was accepted.
func (s *senders) end() int {
	s.t.Helper()
	close(s.stop)
	s.all.Wait()
	select {
	case first := <-s.refused:
		require.FailNow(s.t, "a delivery was not accepted", "%d of %d: %s", s.sent.Load()-s.ok.Load(), s.sent.Load(), first)
	default:
	}
	require.Equal(s.t, s.sent.Load(), s.ok.Load())
	return int(s.ok.Load())
}
