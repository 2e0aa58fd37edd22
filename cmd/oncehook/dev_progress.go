package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells a person what goes on.
type progress struct {
	mu sync.Mutex
	w  io.Writer
}

func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.w, "dev: "+text)
}

// The pace of a step's messages: quick steps say nothing.
const (
	stepQuiet = time.Second
	stepEvery = 5 * time.Second
)

// step says what takes more than a second, and every few seconds that it still
// does. The returned function ends that.
func (p *progress) step(what string) (done func()) {
	began := time.Now()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ended:
			return
		case <-time.After(stepQuiet):
			p.line(what)
		}
		ticker := time.NewTicker(stepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				p.line(fmt.Sprintf("%s: %s", what, time.Since(began).Round(time.Second)))
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		wg.Wait()
	})
}
