package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/oncehook/oncehook/internal/devstack/receiver"
)

// downstream is the service that notices go to, in this process.
type downstream struct {
	url    string
	addr   string
	server *http.Server
	// notices is what it remembers, over restarts.
	notices *receiver.Receiver
	ended   chan error // one error, once it no longer serves
}

// startReceiver starts it on loopback.
func (d *dev) startReceiver(ctx context.Context) (*downstream, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.ReceiverPort)))
	if err != nil {
		return nil, fmt.Errorf("port %d is taken by another program: choose another by --receiver-port, 0 for a free one", d.ReceiverPort)
	}
	notices, err := receiver.Open(d.path("notices.jsonl"), time.Now)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &downstream{
		notices: notices,
		addr:    l.Addr().String(), url: "http://" + l.Addr().String(), ended: make(chan error, 1),
		server: &http.Server{Handler: notices.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second},
	}
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

// wait returns why it no longer serves, or when ctx ends.
func (s *downstream) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-s.ended:
		return fmt.Errorf("the receiver ended: %w", err)
	}
}

func (s *downstream) stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	return errors.Join(err, s.notices.Close())
}
