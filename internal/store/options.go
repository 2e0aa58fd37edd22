package store

import (
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook/internal/keyring"
)

// Options says how one role reaches PostgreSQL.
type Options struct {
	// URL is the connection string. Run-time parameters in it, such as
	// lock_timeout, win over the role's own.
	URL string
	// Conns is how many connections the role may hold. Defaults to 8.
	Conns int
	// Keyring opens and makes data keys, and proves the installation's identity.
	Keyring *keyring.Keyring
	// Now is the clock of stored times. Defaults to time.Now.
	Now func() time.Time
	// Log defaults to slog.Default.
	Log *slog.Logger
	// ApplicationName is shown in pg_stat_activity. Defaults to "oncehook".
	ApplicationName string
	// Process identifies this process in summed evidence. Defaults to a random one.
	Process uuid.UUID
	// Passing is set by a tool that ends soon: no rotation of keys waits for it.
	Passing bool
}

const (
	defaultConns = 8
	// reservedConns are Work's connections for dispatch and finish, which no
	// effect can take.
	reservedConns = 2
)

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" {
		return o, errors.New("the database URL is empty")
	}
	if o.Keyring == nil {
		return o, errors.New("the store needs a keyring")
	}
	if o.Conns <= 0 {
		o.Conns = defaultConns
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "oncehook"
	}
	if o.Process == uuid.Nil {
		process, err := uuid.NewRandom()
		if err != nil {
			return o, err
		}
		o.Process = process
	}
	return o, nil
}
