package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/ingress"
	"github.com/oncehook/oncehook/internal/admin"
	"github.com/oncehook/oncehook/internal/store"
)

// The listeners that Serve can be restricted to.
const (
	OnlyIngress = "ingress"
	OnlyAdmin   = "admin"
)

const (
	ingressConns = 8 // one flusher, the rest for refusals, look-ups and probes
	adminConns   = 4

	headerTimeout = 5 * time.Second
	idleTimeout   = 90 * time.Second
	writeTimeout  = 60 * time.Second
	headerBytes   = 64 << 10
	// stopTimeout bounds a stop after its drain: below the ten seconds after which
	// orchestrators kill. Its last part is the stores'.
	stopTimeout  = 8 * time.Second
	storesToStop = 2 * time.Second
)

// Server is the running ingress and admin listeners.
type Server struct {
	app      *App
	ingress  *listening
	admin    *listening
	stores   map[string]openStore // by role
	shown    *operations
	group    *errgroup.Group
	stopping atomic.Bool
	// watching ends with the server.
	watching context.Context
	unwatch  context.CancelFunc
}

type openStore interface {
	answering
	Schema(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

type listening struct {
	server   *http.Server
	listener net.Listener
}

func (l *listening) url() string {
	if l == nil {
		return ""
	}
	return "http://" + l.listener.Addr().String()
}

// Serve runs the listeners until ctx ends, then stops them gracefully. only is
// "", OnlyIngress or OnlyAdmin.
func (a *App) Serve(ctx context.Context, only string) error {
	s, err := a.StartServe(ctx, only)
	if err != nil {
		return ended(ctx, err)
	}
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		_ = s.Wait() // Stop returns it
	}()
	select {
	case <-failed:
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.settings.Ingress.Drain+stopTimeout)
	defer cancel()
	return s.Stop(stop)
}

// StartServe returns once the listeners accept connections. PostgreSQL need not
// be there: deliveries are then answered 503 and forgeries 401.
func (a *App) StartServe(ctx context.Context, only string) (*Server, error) {
	s := &Server{app: a, group: &errgroup.Group{}, stores: map[string]openStore{}}
	s.watching, s.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	err := s.open(ctx, only)
	if err != nil {
		s.close(ctx)
		return nil, err
	}
	for _, l := range []*listening{s.ingress, s.admin} {
		if l == nil {
			continue
		}
		s.run(func() error {
			if err := l.server.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.listener.Addr(), err)
			}
			return nil
		})
	}
	for role, opened := range s.stores {
		s.run(func() error { return a.refuseForeign(s.watching, opened) })
		s.run(func() error {
			a.watchDatabase(s.watching, role, opened)
			return nil
		})
	}
	return s, nil
}

// run adds what the server runs; a failure of one ends all.
func (s *Server) run(one func() error) {
	s.group.Go(func() error {
		err := one()
		if err != nil {
			s.unwatch()
			for _, l := range []*listening{s.ingress, s.admin} {
				if l != nil {
					_ = l.server.Close()
				}
			}
		}
		return err
	})
}

func (s *Server) open(ctx context.Context, only string) error {
	var in *store.Ingress
	if only != OnlyAdmin {
		var err error
		if in, err = store.OpenIngress(ctx, s.app.storeOptions("ingress", ingressConns)); err != nil {
			return fmt.Errorf("open the ingress's database: %w", err)
		}
		s.stores[OnlyIngress] = in
		in.OnAccepted(s.app.accepted)
		handler, err := s.app.ingressHandler(in)
		if err != nil {
			return err
		}
		if err := errors.Join(s.app.observeQueue(in), s.app.observePools("ingress", in.Pools)); err != nil {
			return err
		}
		guard := ingress.HeaderGuard{OnAnswer: func(peer net.Addr, code oncehook.Code) {
			in.Count("", oncehook.Unauthenticated, string(code), addrOf(peer))
		}}
		if s.ingress, err = listen(ctx, s.app.settings.Ingress.Addr, s.whileDraining(s.withHealth(handler, s.readyFunc(in.Schema))), &guard); err != nil {
			return err
		}
		s.app.log.InfoContext(ctx, "ingress listens", "url", s.ingress.url())
		if only == OnlyIngress {
			if s.shown, err = s.app.openOperations(ctx, s.readyFunc(in.Schema)); err != nil {
				return err
			}
		}
	}
	if only != OnlyIngress {
		ad, err := store.OpenAdmin(ctx, s.app.storeOptions("admin", adminConns))
		if err != nil {
			return fmt.Errorf("open the admin's database: %w", err)
		}
		s.stores[OnlyAdmin] = ad
		if err := errors.Join(s.app.observeBacklog(ad), s.app.observeKeys(ad), s.app.observePools("admin", ad.Pools)); err != nil {
			return err
		}
		ready := s.readyFunc(ad.Schema)
		if s.admin, err = listen(ctx, s.app.settings.Admin.Addr, s.whileDraining(s.app.adminHandler(ad, ready)), nil); err != nil {
			return err
		}
		s.app.log.InfoContext(ctx, "admin listens", "url", s.admin.url())
	}
	return nil
}

func (a *App) ingressHandler(in *store.Ingress) (http.Handler, error) {
	sources := make([]ingress.Source, 0, len(a.settings.Sources))
	for _, c := range a.settings.Sources {
		provider, err := a.parts.Provider(c.Provider, oncehook.Source{Name: c.Name, Principals: c.Principals, Fields: c.Fields})
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
		}
		sources = append(sources, ingress.Source{
			Name: c.Name, Kind: c.Provider, Provider: provider, Types: c.Types,
			DefaultTenant: c.DefaultTenant, PersonalIDs: c.PersonalIDs,
			BodyLimit: c.Limits.Body, Rate: c.Limits.Rate, Burst: c.Limits.Burst, Retention: c.Retention,
		})
	}
	return ingress.New(ingress.Config{
		Store: in, Keyring: a.keys, Sources: sources, Routes: a.parts.Routes,
		PublicURL: a.settings.Ingress.PublicURL, TrustedProxies: a.settings.Ingress.TrustedProxies,
		Now: a.now, Log: a.log, Metrics: a.metrics, Tracer: a.traces.Tracer("oncehook/ingress"),
	})
}

func (a *App) adminHandler(ad *store.Admin, ready func(context.Context) error) http.Handler {
	payloads, namespace := a.adminCodec()
	sources := make([]store.LookupSource, 0, len(a.settings.Sources))
	for _, c := range a.settings.Sources {
		sources = append(sources, store.LookupSource{Name: c.Name, Personal: c.PersonalIDs})
	}
	return admin.New(admin.Config{
		Store: ad, Ready: ready, Metrics: a.metrics.Handler(),
		TemporalUI: a.settings.Temporal.UIURL, Namespace: namespace, Sources: sources, Log: a.log,
		Codec: payloads, Now: a.now,
	})
}

func listen(ctx context.Context, addr string, handler http.Handler, guard *ingress.HeaderGuard) (*listening, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		// net/http would answer OPTIONS * by itself.
		DisableGeneralOptionsHandler: true,
	}
	if guard != nil {
		guard.Attach(server)
		l = guard.Listen(l)
	}
	return &listening{server: server, listener: l}, nil
}

// IngressURL is where the ingress really listens; "" when it does not.
func (s *Server) IngressURL() string { return s.ingress.url() }

// AdminURL is where the admin API really listens; "" when it does not.
func (s *Server) AdminURL() string { return s.admin.url() }

// Wait returns when the listeners have ended, with the first failure. The
// database of an installation with another identity key is one.
func (s *Server) Wait() error { return s.group.Wait() }

// Stop makes /readyz fail, goes on serving for the ingress's drain period, during
// which each answer ends its connection, then takes no more connections, finishes
// the requests in flight and closes the pools. After the drain it takes a few seconds at most,
// fewer when ctx ends: slow senders are cut off, and what PostgreSQL does not
// answer is abandoned. Both are logged and are no error, since nothing that was
// answered is lost by them.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	if s.ingress != nil && s.app.settings.Ingress.Drain > 0 {
		select {
		case <-time.After(s.app.settings.Ingress.Drain):
		case <-s.watching.Done(): // it has failed, so that nobody is served
		case <-ctx.Done():
		}
	}
	s.unwatch()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remaining(ctx, stopTimeout))
	defer cancel()
	err := errors.Join(s.finishRequests(ctx), s.group.Wait())
	s.close(ctx)
	return err
}

// remaining is how long a stop may take under ctx: at most limit.
func remaining(ctx context.Context, limit time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(limit, time.Until(deadline))
	}
	return limit
}

func (s *Server) finishRequests(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, remaining(ctx, stopTimeout)-storesToStop)
	defer cancel()
	var finishing errgroup.Group
	for _, l := range []*listening{s.ingress, s.admin} {
		if l == nil {
			continue
		}
		finishing.Go(func() error {
			err := l.server.Shutdown(patient)
			if err == nil {
				return nil
			}
			if errors.Is(err, context.DeadlineExceeded) {
				s.app.log.WarnContext(ctx, "requests were cut off: they did not end in time", "listener", l.listener.Addr().String())
				err = nil
			}
			return errors.Join(err, l.server.Close())
		})
	}
	return finishing.Wait()
}

// close closes what is open, in a time that is bounded also where ctx is not.
func (s *Server) close(ctx context.Context) {
	s.unwatch()
	defer s.app.flushTelemetry(ctx)
	defer s.shown.close()
	for _, l := range []*listening{s.ingress, s.admin} {
		if l != nil {
			_ = l.listener.Close()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storesToStop)
	defer cancel()
	var closing sync.WaitGroup
	for _, opened := range s.stores {
		closing.Go(func() {
			if err := opened.Shutdown(ctx); err != nil {
				s.app.log.WarnContext(ctx, "a database pool was not closed in order", "error", err.Error())
			}
		})
	}
	closing.Wait()
}

func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	host, _, _ := strings.Cut(a.String(), ":")
	addr, _ := netip.ParseAddr(host)
	return addr
}
