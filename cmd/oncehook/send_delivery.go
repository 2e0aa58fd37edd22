package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
)

const maxAnswer = 1 << 20

// delivery is a request that can be sent many times.
type delivery struct {
	url        string
	body       []byte
	draft      oncehook.Draft
	signer     oncehook.Signer
	credential oncehook.Credential
	tamper     bool
	client     *http.Client
}

// sent is what became of one copy.
type sent struct {
	status int
	body   []byte
	took   time.Duration
	err    error
}

// sendAll sends the copies, at most so many at once, and calls done for each,
// one at a time. It stops early when ctx ends.
func (d *delivery) sendAll(ctx context.Context, times, concurrency int, done func(sent)) {
	copies := make(chan struct{})
	var mu sync.Mutex
	var senders sync.WaitGroup
	for range min(times, concurrency) {
		senders.Go(func() {
			for range copies {
				s := d.send(ctx)
				mu.Lock()
				done(s)
				mu.Unlock()
			}
		})
	}
	for n := 0; n < times && ctx.Err() == nil; n++ {
		select {
		case copies <- struct{}{}:
		case <-ctx.Done():
		}
	}
	close(copies)
	senders.Wait()
}

func (d *delivery) send(ctx context.Context) sent {
	body, header, err := d.sign(time.Now())
	if err != nil {
		return sent{err: fmt.Errorf("sign: %w", err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return sent{err: err}
	}
	request.Header = header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "oncehook-send/"+version)
	}
	began := time.Now()
	response, err := d.client.Do(request)
	if err != nil {
		return sent{err: fmt.Errorf("the ingress at %s cannot be reached: %w", d.url, cause(err)), took: time.Since(began)}
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		err = fmt.Errorf("the answer broke off: %w", cause(err))
	}
	return sent{status: response.StatusCode, body: answer, took: time.Since(began), err: err}
}

// sign returns what is sent. Tampering signs with another secret of the same
// shape; a secret that cannot be changed so is used, and the body changed after.
func (d *delivery) sign(now time.Time) ([]byte, http.Header, error) {
	draft := d.draft
	draft.Now = now
	if d.tamper {
		spoiled := d.credential
		spoiled.Secret = spoil(d.credential.Secret)
		if header, err := d.signer.Sign(d.body, draft, spoiled); err == nil {
			return d.body, header, nil
		}
	}
	header, err := d.signer.Sign(d.body, draft, d.credential)
	if err != nil {
		return nil, nil, err
	}
	if d.tamper {
		return append(bytes.Clone(d.body), ' '), header, nil
	}
	return d.body, header, nil
}

// spoil changes one character in the middle to another letter: the last one may
// hold padding bits that do not count.
func spoil(secret oncehook.Secret) oncehook.Secret {
	spoiled := bytes.Clone(secret)
	if len(spoiled) == 0 {
		return spoiled
	}
	at := len(spoiled) / 2
	if spoiled[at] == 'A' {
		spoiled[at] = 'B'
	} else {
		spoiled[at] = 'A'
	}
	return spoiled
}
