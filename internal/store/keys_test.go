package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// rotation is an installation whose keyset changes while its processes run.
type rotation struct {
	t        *testing.T
	url      string
	identity oncehook.Secret
	keyset   *keyring.Keyset
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	identity, raw, err := keyring.Generate()
	require.NoError(t, err)
	keyset, err := keyring.ParseKeyset(raw)
	require.NoError(t, err)
	r := &rotation{t: t, url: pgtest.Empty(t), identity: identity, keyset: keyset}
	require.NoError(t, store.Migrate(t.Context(), r.options()))
	return r
}

// load is a process's look at the keyset as it is now.
func (r *rotation) load() *keyring.Keyring {
	raw, err := r.keyset.Encode()
	require.NoError(r.t, err)
	k, err := keyring.Load(r.identity, raw)
	require.NoError(r.t, err)
	return k
}

func (r *rotation) options() store.Options {
	return store.Options{URL: r.url, Keyring: r.load(), Log: slog.New(slog.DiscardHandler)}
}

// process is one that started with the keyset as it is now.
type process struct {
	*store.Ingress
	r    *rotation
	keys *keyring.Keyring
	work *store.Work
}

func (r *rotation) start() *process {
	o := r.options()
	s := openIngress(r.t, o)
	require.NoError(r.t, s.Schema(r.t.Context()))
	work, err := store.OpenWork(r.t.Context(), o)
	require.NoError(r.t, err)
	r.t.Cleanup(work.Close)
	return &process{Ingress: s, r: r, keys: o.Keyring, work: work}
}

// accept delivers an event of the tenant and returns its receipt's decision.
func (p *process) accept(tenant, id string) (store.AcceptResult, error) {
	c := copyOf(id)
	c.Event.Tenant = tenant
	key, err := p.keys.Identity().Key(c.Source, tenant, id, false)
	require.NoError(p.r.t, err)
	c.Key, c.Fingerprints = key, fingerprints(p.keys, c.Event.Compared)
	results, err := p.Accept(p.r.t.Context(), []store.Candidate{c})
	if err != nil {
		return store.AcceptResult{}, err
	}
	return results[0], nil
}

func (r *rotation) openKeys() *store.Keys {
	k, err := store.OpenKeys(r.t.Context(), r.options())
	require.NoError(r.t, err)
	r.t.Cleanup(k.Close)
	return k
}

func (r *rotation) primary(kind keyring.Kind) keyring.KeyInfo {
	id, ok := r.keyset.Primary(kind)
	require.True(r.t, ok)
	return keyring.KeyInfo{Kind: kind, ID: id, Primary: true}
}

func (r *rotation) add(kind keyring.Kind) keyring.KeyInfo {
	id, err := r.keyset.Add(kind)
	require.NoError(r.t, err)
	return keyring.KeyInfo{Kind: kind, ID: id}
}

func nothing(int64) {}

func TestProcessesOfEveryStageOfAWrapRotationUseEachOthersDataKeys(t *testing.T) {
	r := newRotation(t)
	old := r.primary(keyring.KindWrap)
	processes := map[string]*process{"before": r.start()}
	added := r.add(keyring.KindWrap)
	processes["added"] = r.start()
	require.NoError(t, r.keyset.Promote(keyring.KindWrap, added.ID))
	processes["promoted"] = r.start()

	for i, pair := range [][2]string{{"before", "added"}, {"added", "before"}, {"added", "promoted"}, {"promoted", "added"}, {"before", "promoted"}} {
		tenant := fmt.Sprintf("tenant-%d", i)
		for _, name := range pair { // the first makes the tenant's data key, the second uses it
			result, err := processes[name].accept(tenant, "event-of-"+name)
			require.NoError(t, err, "%s in %v", name, pair)
			require.Equal(t, oncehook.Accepted, result.Decision)
		}
	}
	// Promoted before every process had the key: nothing is lost, the sender tries again.
	_, err := processes["promoted"].accept("tenant-late", "event-1")
	require.NoError(t, err)
	_, err = processes["before"].accept("tenant-late", "event-2")
	require.ErrorIs(t, err, store.ErrUnavailable)

	keys := r.openKeys()
	needed, err := keys.Needed(t.Context(), old)
	require.NoError(t, err)
	require.EqualValues(t, 4, needed)
	done, err := keys.Reencrypt(t.Context(), nothing)
	require.NoError(t, err)
	require.Equal(t, store.Reencrypted{Rewrapped: 4}, done)
	needed, err = keys.Needed(t.Context(), old)
	require.NoError(t, err)
	require.Zero(t, needed)

	require.NoError(t, r.keyset.Retire(keyring.KindWrap, old.ID))
	last := r.start()
	for i := range 5 {
		_, err := last.accept(fmt.Sprintf("tenant-%d", i), "event-last")
		require.NoError(t, err)
	}
}

func TestReencryptionCanBeBrokenOffAnywhereAndRunsBesideProcesses(t *testing.T) {
	r := newRotation(t)
	old := r.primary(keyring.KindWrap)
	p := r.start()
	const tenants = 450
	for i := range tenants {
		_, err := p.accept(fmt.Sprintf("tenant-%d", i), "event-1")
		require.NoError(t, err)
	}
	added := r.add(keyring.KindWrap)
	running := r.start() // holds both keys and still wraps with the old one
	require.NoError(t, r.keyset.Promote(keyring.KindWrap, added.ID))

	var wrapped atomic.Int64
	stop := make(chan struct{})
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := running.accept(fmt.Sprintf("new-%d", i), "event-1"); err == nil {
				wrapped.Add(1)
			}
		}
	}()
	keys := r.openKeys()
	for rewrapped := int64(0); rewrapped < tenants; {
		// Broken off after some milliseconds, in whatever statement that is.
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		done, err := keys.Reencrypt(ctx, nothing)
		cancel()
		rewrapped += done.Rewrapped
		require.Empty(t, done.Unreadable)
		if err == nil {
			break
		}
	}
	close(stop)
	<-accepting
	_, err := keys.Reencrypt(t.Context(), nothing)
	require.NoError(t, err)
	needed, err := keys.Needed(t.Context(), old)
	require.NoError(t, err)
	require.Zero(t, needed)
	require.Positive(t, wrapped.Load())

	require.NoError(t, r.keyset.Retire(keyring.KindWrap, old.ID))
	last := r.start()
	for _, tenant := range []string{"tenant-0", "tenant-449", "new-0"} {
		_, err := last.accept(tenant, "event-last")
		require.NoError(t, err, tenant)
	}
}

func TestADataKeyThatDoesNotOpenIsReportedAndLeftAsItIs(t *testing.T) {
	r := newRotation(t)
	p := r.start()
	_, err := p.accept("north", "event-1")
	require.NoError(t, err)
	_, err = p.accept("south", "event-1")
	require.NoError(t, err)
	db := connect(t, r.url)
	_, err = db.Exec(t.Context(), `UPDATE oncehook.tenant_keys SET wrapped = '\x00' WHERE tenant = 'south'`)
	require.NoError(t, err)
	added := r.add(keyring.KindWrap)
	require.NoError(t, r.keyset.Promote(keyring.KindWrap, added.ID))
	done, err := r.openKeys().Reencrypt(t.Context(), nothing)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Rewrapped)
	require.Len(t, done.Unreadable, 1)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.tenant_keys WHERE wrapped = '\x00'`))
}

func TestProcessesOfEveryStageOfAFingerprintRotationRecognizeCopies(t *testing.T) {
	r := newRotation(t)
	old := r.primary(keyring.KindFingerprint)
	processes := map[string]*process{"before": r.start()}
	added := r.add(keyring.KindFingerprint)
	processes["added"] = r.start()
	require.NoError(t, r.keyset.Promote(keyring.KindFingerprint, added.ID))
	processes["promoted"] = r.start()

	db := connect(t, r.url)
	unchecked := func() int {
		return number(t, db, `SELECT count(*) FROM oncehook.audit WHERE 'unchecked' = ANY (flags)`)
	}
	copies := func(first, second, id string) {
		for i, name := range []string{first, second} {
			result, err := processes[name].accept("north", id)
			require.NoError(t, err)
			require.Equal(t, []oncehook.Decision{oncehook.Accepted, oncehook.Duplicate}[i], result.Decision, "%s then %s", first, second)
		}
	}
	for i, pair := range [][2]string{{"before", "added"}, {"added", "before"}, {"added", "promoted"}, {"promoted", "added"}, {"before", "promoted"}} {
		copies(pair[0], pair[1], fmt.Sprintf("event-%d", i))
		require.Zero(t, unchecked(), "%v", pair)
	}
	needed, err := r.openKeys().Needed(t.Context(), old)
	require.NoError(t, err)
	require.EqualValues(t, 4, needed)

	require.NoError(t, r.keyset.Retire(keyring.KindFingerprint, old.ID))
	processes["retired"] = r.start()
	result, err := processes["retired"].accept("north", "event-0")
	require.NoError(t, err)
	require.Equal(t, oncehook.Duplicate, result.Decision)
	require.Equal(t, 1, unchecked())
}

func TestProcessesTellWhichKeysTheyHold(t *testing.T) {
	r := newRotation(t)
	old := r.primary(keyring.KindWrap)
	r.start()
	stopped := r.start()
	added := r.add(keyring.KindWrap)
	keys := r.openKeys()
	lacking := func() int {
		lacking, err := keys.Lacking(t.Context(), added)
		require.NoError(t, err)
		return len(lacking)
	}
	require.Eventually(t, func() bool { return lacking() == 4 }, 10*time.Second, 20*time.Millisecond, "two ingresses and two workers")
	sealing, err := keys.Sealing(t.Context(), old)
	require.NoError(t, err)
	require.Len(t, sealing, 4)
	stopped.Close()
	require.Equal(t, 3, lacking())
	stopped.work.Close()
	require.Equal(t, 2, lacking())
	used, err := keys.Used(t.Context(), old)
	require.NoError(t, err)
	require.False(t, used.LastPrimary.IsZero())
	unused, err := keys.Used(t.Context(), added)
	require.NoError(t, err)
	require.Equal(t, store.KeyUse{}, unused)

	db := connect(t, r.url)
	_, err = db.Exec(t.Context(), `UPDATE oncehook.key_reports SET at = at - interval '2 minutes'`)
	require.NoError(t, err)
	require.Zero(t, lacking(), "processes that were killed")
}
