package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
)

// keyAge is how old a primary key may be.
const keyAge = 365 * day

// keysRemedy is for keys that are missing or cannot be used.
const keysRemedy = "a new installation: oncehook keys new; else restore keys.identity and keys.keyset from where they are kept safe: new ones cannot open what is stored"

// blockLoad tells each thing that is wrong with the keys on a line of its own.
func blockLoad(r *Report, err error) {
	var load *config.LoadError
	if !errors.As(err, &load) {
		r.Block(keysRemedy, "%v", err)
		return
	}
	for _, p := range load.Problems {
		r.Block(keysRemedy, "%s", p)
	}
}

// Keys examines whether the keyset can be used and how old its keys are. load is
// how the processes load it, l a login that may ask for a key's age.
func Keys(load func() (*keyring.Keyring, error), codec bool, l Login, now time.Time) Check {
	return Check{"keys", func(ctx context.Context, r *Report) {
		keys, err := load()
		if err != nil {
			blockLoad(r, err)
			return
		}
		r.OK("the keyset holds %d keys", len(keys.Keys()))
		switch {
		case !codec:
			r.Warn("remove temporal.codec: false", "temporal.codec is off: what workflows and activities pass is in Temporal's histories in clear")
		case !keys.SealsPayloads():
			r.Warn("oncehook keys add payload, then promote it", "the keyset has no payload key in use: what workflows and activities pass is in Temporal's histories in clear")
		}
		e, ok := l.connectMigrated(ctx, r)
		if !ok {
			return
		}
		defer e.Close()
		since, err := e.KeysSince(ctx)
		if err != nil {
			r.Warn(grantRemedy, "the keys' age is unknown: %v", err)
			return
		}
		for _, key := range keys.Keys() {
			at, known := since[key.Name()]
			if key.Primary && known && now.Sub(at) > keyAge {
				r.Warn("rotate it in two steps: oncehook keys add, then promote", "the %s key %d is in use since %s", key.Kind, key.ID, at.Format(time.DateOnly))
			}
		}
	}}
}
