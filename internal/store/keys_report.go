package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook/internal/keyring"
)

// KeyReportEvery is how often a process tells which keys it holds.
const KeyReportEvery = 30 * time.Second

// keyReportLive is how long after its last report a process counts as running.
const keyReportLive = 3 * KeyReportEvery

// farewellTimeout is a small part of a process's time to stop.
const farewellTimeout = 500 * time.Millisecond

// keyReporter tells the database which keys this process holds, so that no key
// is promoted or retired under a process that would then stand still.
type keyReporter struct {
	pool    *pgxpool.Pool
	gate    *gate
	process uuid.UUID
	role    string
	keys    []keyring.KeyInfo
	log     *slog.Logger
	stop    context.CancelFunc
	done    chan struct{}
	// reported is read after done only.
	reported bool
}

func startKeyReports(pool *pgxpool.Pool, g *gate, o Options) *keyReporter {
	ctx, stop := context.WithCancel(context.Background())
	r := &keyReporter{
		pool: pool, gate: g, process: o.Process, role: o.ApplicationName, keys: o.Keyring.Keys(),
		log: o.Log, stop: stop, done: make(chan struct{}),
	}
	if o.Passing {
		close(r.done)
		return r
	}
	go r.run(ctx)
	return r
}

// close also takes the report back: a process that has ended holds no rotation up.
func (r *keyReporter) close() {
	r.stop()
	<-r.done
	if r.reported {
		ctx, cancel := context.WithTimeout(context.Background(), farewellTimeout)
		defer cancel()
		_ = r.report(ctx, nil) // else it is forgotten after keyReportLive
	}
}

func (r *keyReporter) run(ctx context.Context) {
	defer close(r.done)
	for said := false; ; {
		wait := KeyReportEvery
		if r.gate.check(ctx) != nil {
			wait = gateEvery // the schema comes soon, or the gate says why not
		} else {
			r.reported = true // it may arrive even where it fails here
			if err := r.report(ctx, r.keys); err != nil && ctx.Err() == nil && !said {
				said = true
				r.log.WarnContext(ctx, "this process's keys are not reported: a rotation of keys cannot take it into account", "error", brief(err).Error())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (r *keyReporter) report(ctx context.Context, keys []keyring.KeyInfo) error {
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	known, primaries := make([]string, 0, len(keys)), make([]string, 0, len(keys))
	for _, key := range keys {
		known = append(known, key.Name())
		if key.Primary {
			primaries = append(primaries, key.Name())
		}
	}
	_, err := r.pool.Exec(ctx, `SELECT oncehook.report_keys_v1($1, $2, $3, $4)`, r.process, r.role, primaries, known)
	return err
}
