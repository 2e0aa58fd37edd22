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
	stop    chan struct{}
	all     sync.WaitGroup
	sent    atomic.Int64
	ok      atomic.Int64
	parted  atomic.Int64 // answers that ended a kept connection
	refused chan string
}

func startSenders(t *testing.T, url string) *senders {
	t.Helper()
	s := &senders{t: t, url: url, stop: make(chan struct{}), refused: make(chan string, 1000)}
	for n := range 8 {
		// One of them connects anew for each delivery; the others keep their connections.
		anew := n == 0
		client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1, DisableKeepAlives: anew}}
		s.all.Go(func() { s.send(client, anew, "sender-"+strconv.Itoa(n)) })
	}
	return s
}

func (s *senders) send(client *http.Client, anew bool, name string) {
	pace := time.NewTicker(15 * time.Millisecond)
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

func TestARollingRestartOfTheIngressRefusesNoDelivery(t *testing.T) {
	s := harness.New(t, harness.Options{})
	balancer := harness.NewBalancer(t)
	begin := func() *harness.Process {
		p := s.ServeWith(harness.OnlyIngress, "ONCEHOOK_INGRESS_DRAIN=1s")
		balancer.Add(p.IngressURL)
		require.Eventually(t, func() bool { return balancer.Ready(p.IngressURL) }, time.Minute, 10*time.Millisecond)
		return p
	}
	running := []*harness.Process{begin(), begin()}
	load := startSenders(t, balancer.URL())
	load.goOn(200)
	for range 3 {
		for n, old := range running {
			old.Stop()
			balancer.Remove(old.IngressURL)
			load.goOn(50)
			running[n] = begin()
			load.goOn(50)
		}
	}
	accepted := load.end()
	require.Zero(t, balancer.Refused())
	require.Positive(t, load.parted.Load(), "senders are asked to connect anew")
	require.Equal(t, accepted, s.Count(`SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, accepted, s.Count(`SELECT count(*) FROM oncehook.outbox`))
	t.Logf("%d deliveries accepted over 6 restarts, %d connections ended by an answer", accepted, load.parted.Load())
}

func TestADrainingIngressServesOnAndIsNotReady(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{})
	p := s.ServeWith(harness.OnlyIngress, "ONCEHOOK_INGRESS_DRAIN=2s")
	began := time.Now()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.Stop()
	}()
	ready := func() int {
		answer, err := http.Get(p.IngressURL + "/readyz")
		if err != nil {
			return 0
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode
	}
	require.Eventually(t, func() bool { return ready() == http.StatusServiceUnavailable }, time.Second, 5*time.Millisecond)
	a := p.Post("logistics", harness.LogisticsToken, harness.Event("late")).Is(t, http.StatusAccepted, "accepted")
	require.True(t, a.Close)
	<-stopped
	require.GreaterOrEqual(t, time.Since(began), 2*time.Second)
}
