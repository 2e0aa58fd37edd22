package devstack

import (
	"fmt"
	"sync"
	"time"
)

// How often a long step says that it is still at work: soon at first, then more rarely.
const (
	progressFirst = 5 * time.Second
	progressMost  = 30 * time.Second
)

// announce says that a step begins and, every few seconds, that it still runs. The returned function ends that.
func announce(progress func(string), step string) (stop func()) {
	progress(step)
	started := time.Now()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for pause := progressFirst; ; pause = min(2*pause, progressMost) {
			select {
			case <-done:
				return
			case <-time.After(pause):
				progress(fmt.Sprintf("%s: %s", step, time.Since(started).Round(time.Second)))
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// announceSlow is announce for a step that is usually quick: it says nothing in the first second.
func announceSlow(progress func(string), step string) (stop func()) {
	var mu sync.Mutex
	var stopAnnouncing func()
	stopped := false
	timer := time.AfterFunc(time.Second, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			stopAnnouncing = announce(progress, step)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		if stopAnnouncing != nil {
			stopAnnouncing()
		}
	}
}
