package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// lines are the network connections of a role's pools. A pool waits for the
// connections in use when it closes; a server that is frozen gives none back, and
// no statement can be cancelled there. Then the lines are cut.
type lines struct {
	mu   sync.Mutex
	open map[*line]struct{}
	// gone ends when the lines are cut.
	gone context.Context
	end  context.CancelFunc
}

// line is one of them.
type line struct {
	net.Conn
	of *lines
}

func newLines() *lines {
	gone, end := context.WithCancel(context.Background())
	return &lines{open: map[*line]struct{}{}, gone: gone, end: end}
}

var errCut = errors.New("the connections were cut: the process stops")

// dial wraps a pool's way to connect.
func (l *lines) dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(l.gone, cancel)()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.gone.Err() != nil {
			return nil, errors.Join(errCut, conn.Close())
		}
		made := &line{Conn: conn, of: l}
		l.open[made] = struct{}{}
		return made, nil
	}
}

// Close closes the connection.
func (c *line) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// cut closes every connection under whatever uses it, and lets no other be made.
func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	for c := range l.open {
		_ = c.Conn.Close()
	}
	clear(l.open)
}

// cutGrace is how long the users of cut connections may take to notice.
const cutGrace = 500 * time.Millisecond

// shutdown runs closing, which waits for what is in flight, and cuts the lines
// when ctx ends first.
func (l *lines) shutdown(ctx context.Context, closing func()) error {
	closed := make(chan struct{})
	go func() {
		closing()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	l.cut()
	select {
	case <-closed:
	case <-time.After(cutGrace):
	}
	return fmt.Errorf("the database did not answer in time, what was in flight is abandoned: %w", ctx.Err())
}
