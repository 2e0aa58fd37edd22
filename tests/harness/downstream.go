package harness

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// DownstreamToken is the credential of the destination "downstream".
const DownstreamToken = "test-downstream-3e5a7c9b1d2f4860a8c6e4b2d0f1e3a5"

// Downstream is a system that effects call. It honours the idempotency key: of
// calls with one key the first has the effect, which it counts in a table of its
// own before it answers. A test can hold its next call at a point.
type Downstream struct {
	URL string
	// Lost makes it end every connection after the effect, without an answer.
	Lost atomic.Bool

	system *System
	mu     sync.Mutex
	holds  map[Point]*Held
}

// Point is where a call can be held.
type Point string

// The points of a call.
const (
	// BeforeEffect is when the call has arrived and nothing has happened.
	BeforeEffect Point = "before the effect"
	// BeforeAnswer is when the effect is counted and nothing is answered.
	BeforeAnswer Point = "before the answer"
)

// Downstream starts the system's downstream and writes it into the configuration
// as the destination "downstream". It is called before any role starts.
func (s *System) Downstream() *Downstream {
	t := s.T
	t.Helper()
	s.Exec(`CREATE TABLE public.downstream_calls (key text, at timestamptz DEFAULT now())`)
	s.Exec(`CREATE TABLE public.downstream_effects (key text PRIMARY KEY, body text)`)
	d := &Downstream{system: s, holds: map[Point]*Held{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	t.Cleanup(d.releaseAll)
	d.URL = server.URL
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "downstream"), []byte(DownstreamToken), 0o600))
	text, err := os.ReadFile(s.ConfigFile)
	require.NoError(t, err)
	text = append(text, "egress: {allow: [\""+strings.TrimPrefix(d.URL, "http://")+"\"]}\n"+
		"destinations: {downstream: {url: \""+d.URL+"/notices\", token: {file: downstream}}}\n"...)
	require.NoError(t, os.WriteFile(s.ConfigFile, text, 0o600))
	return d
}

// Calls counts the calls that came, Effects what they caused.
func (d *Downstream) Calls() int {
	return d.system.Count(`SELECT count(*) FROM public.downstream_calls`)
}

// Effects counts what the calls caused.
func (d *Downstream) Effects() int {
	return d.system.Count(`SELECT count(*) FROM public.downstream_effects`)
}

func (d *Downstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(oncehook.HeaderIdempotencyKey)
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Authorization") != "Bearer "+DownstreamToken || key == "" || err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	// Nothing below depends on the caller, who may be dead.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := d.system.Pool.Exec(ctx, `INSERT INTO public.downstream_calls (key) VALUES ($1)`, key); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	d.pass(BeforeEffect)
	err = pgx.BeginFunc(context.WithoutCancel(ctx), d.system.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(context.WithoutCancel(ctx), `INSERT INTO public.downstream_effects VALUES ($1, $2) ON CONFLICT DO NOTHING`, key, string(body))
		return err
	})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	d.pass(BeforeAnswer)
	if d.Lost.Load() {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
}

// Held is a call that stands at a point, or will.
type Held struct {
	reached, released chan struct{}
	release           sync.Once
	system            *System
}

// Hold holds the next call at the point.
func (d *Downstream) Hold(at Point) *Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := &Held{reached: make(chan struct{}), released: make(chan struct{}), system: d.system}
	d.holds[at] = h
	return h
}

// Reached waits until a call stands there.
func (h *Held) Reached() {
	h.system.T.Helper()
	select {
	case <-h.reached:
	case <-time.After(time.Minute):
		require.FailNow(h.system.T, "no call reached the point")
	}
}

// Release lets the call go on.
func (h *Held) Release() { h.release.Do(func() { close(h.released) }) }

func (d *Downstream) pass(at Point) {
	d.mu.Lock()
	h := d.holds[at]
	delete(d.holds, at)
	d.mu.Unlock()
	if h != nil {
		close(h.reached)
		<-h.released
	}
}

func (d *Downstream) releaseAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.holds {
		h.Release()
	}
}
