package keys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/tests/harness"
)

// Two generations of processes run at every moment, as in a rolling restart.
func TestAllKeysRotateUnderRunningProcesses(t *testing.T) {
	for _, regular := range []bool{false, true} {
		t.Run(fmt.Sprintf("regular %t", regular), func(t *testing.T) {
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
			old := primaries(s)
			serve, work := s.Serve(), s.Work()
			events := 0
			deliverBoth := func(next *harness.Process) {
				for range 4 {
					events++
					deliver(t, fmt.Sprintf("event-%d", events), serve, next)
					events++
					deliver(t, fmt.Sprintf("event-%d", events), next, serve)
				}
				s.Succeeded(events, time.Minute)
			}
			// roll starts the next generation, lets both work, and stops the old one.
			roll := func() {
				nextServe, nextWork := s.Serve(), s.Work()
				deliverBoth(nextServe)
				serve.Stop()
				work.Stop()
				serve, work = nextServe, nextWork
			}
			deliverBoth(serve)

			for _, kind := range keyring.Kinds() {
				require.NoError(t, change(s, func(k *app.Keys) error { _, err := k.Add(kind); return err }))
			}
			promote := func() error {
				return change(s, func(k *app.Keys) error {
					for _, kind := range keyring.Kinds() {
						if _, err := k.Promote(t.Context(), kind, 0); err != nil {
							return err
						}
					}
					return nil
				})
			}
			s.Eventually(3, 10*time.Second, `SELECT count(*) FROM oncehook.key_reports WHERE known <> '{}'`)
			require.ErrorContains(t, promote(), "not held by process")
			roll()
			require.NoError(t, promote())
			roll()
			require.NoError(t, change(s, func(k *app.Keys) error {
				done, err := k.Reencrypt(t.Context(), func(int64) {})
				require.Positive(t, done.Rewrapped)
				return err
			}))
			deliverBoth(serve)
			s.Temporal.Eventually(events, "ExecutionStatus = 'Completed'")
			retire := func(kind keyring.Kind, force bool) error {
				return change(s, func(k *app.Keys) error { return k.Retire(t.Context(), kind, old[kind], force) })
			}
			require.NoError(t, retire(keyring.KindWrap, false))
			require.ErrorContains(t, retire(keyring.KindFingerprint, false), "stored fingerprints")
			require.NoError(t, retire(keyring.KindFingerprint, true))
			require.ErrorContains(t, retire(keyring.KindPayload, false), "closed runs that Temporal still keeps")
			require.NoError(t, retire(keyring.KindPayload, true))
			roll()

			require.Equal(t, events, s.Count(transitions))
			require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.receipts WHERE state <> 'succeeded'`))
			require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.audit WHERE 'unchecked' = ANY (flags)`))
			// A copy of an event whose fingerprint nobody can compute any more.
			deliverAgain(t, serve, "event-1")
			require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.audit WHERE 'unchecked' = ANY (flags)`))
		})
	}
}

func TestAnOpenRunKeepsItsPayloadKey(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	old := primaries(s)[keyring.KindPayload]
	serve, work := s.Serve(), s.Work()
	deliver(t, "event-1", serve, serve)
	s.Succeeded(1, time.Minute)
	work.Stop()
	openRun(t, s, "open-run")

	skipChecks(s, func(k *keyring.Keyset) error {
		id, err := k.Add(keyring.KindPayload)
		require.NoError(t, err)
		return k.Promote(keyring.KindPayload, id)
	})
	serve.Stop()
	s.Serve()
	s.Work()
	for _, force := range []bool{false, true} {
		err := change(s, func(k *app.Keys) error { return k.Retire(t.Context(), keyring.KindPayload, old, force) })
		var needed *app.StillNeededError
		require.ErrorAs(t, err, &needed)
		require.EqualValues(t, 1, needed.Count)
		require.Equal(t, "open runs", needed.What)
	}
}

// A mistake: promoted before every process had the key, so that a worker without it
// gets a run of one that had it.
func TestAWorkerThatLacksAPayloadKeyEndsNoRun(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: true})
	serve := s.Serve()
	without, err := os.ReadFile(keysetFile(s))
	require.NoError(t, err)
	skipChecks(s, func(k *keyring.Keyset) error {
		id, err := k.Add(keyring.KindPayload)
		require.NoError(t, err)
		return k.Promote(keyring.KindPayload, id)
	})
	with, err := os.ReadFile(keysetFile(s))
	require.NoError(t, err)

	effect := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	first := s.Work()
	deliver(t, "event-1", serve, serve)
	effect.Reached(1)
	first.Kill()
	effect.Abort()
	effect.Release()

	writeKeyset(s, without)
	lacking := s.Work()
	require.Eventually(t, func() bool { return strings.Contains(lacking.Log(), "not in this keyset") }, 2*time.Minute, 50*time.Millisecond, "it got a task of the run")
	lacking.Stop()
	writeKeyset(s, with)
	s.Work()
	s.Succeeded(1, 2*time.Minute)
	require.Equal(t, 1, s.Count(transitions))
}
