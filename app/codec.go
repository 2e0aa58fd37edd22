package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook/internal/admin"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/store"
)

// encrypt sets the converters of the payload codec. A client, its worker and a
// replayer share them.
func (a *App) encrypt(options *client.Options) {
	c := a.codecOf(options.Namespace)
	options.DataConverter, options.FailureConverter = c.DataConverter(), c.FailureConverter()
}

func (a *App) codecOf(namespace string) *codec.Codec {
	c := codec.New(a.keys, namespace)
	if !a.settings.Temporal.Codec {
		return c.Off()
	}
	return c
}

// warnOfPlainHistories says once, at a worker's start, that what Temporal keeps
// of the runs can be read by whoever reads Temporal.
func (a *App) warnOfPlainHistories(ctx context.Context) {
	if a.settings.Temporal.Codec && !a.keys.SealsPayloads() {
		a.log.WarnContext(ctx, "histories are not encrypted: the keyset has no payload key in use",
			"remedy", "oncehook keys add payload, restart every process, oncehook keys promote payload, restart")
	}
}

// dataConverter is the Temporal client's.
func (a *App) dataConverter() (converter.DataConverter, error) {
	options, err := a.TemporalOptions()
	return options.DataConverter, err
}

// adminCodec is the codec of the admin API and the namespace that it is for. A
// Temporal configuration that cannot be read leaves the API without it.
func (a *App) adminCodec() (*codec.Codec, string) {
	options, err := a.TemporalOptions()
	if err != nil {
		a.log.Warn("the admin API has no codec endpoint", "error", err.Error())
		return nil, cmp.Or(a.settings.Temporal.Namespace, client.DefaultNamespace)
	}
	return a.codecOf(options.Namespace), options.Namespace
}

// CodecLink returns the path, at the admin API, of a codec endpoint for the
// Temporal UI that decodes as the first admin for so long: dev gives it to its own
// UI. It is "" where the keyset has no payload key in use.
func (a *App) CodecLink(ctx context.Context, life time.Duration) (string, error) {
	c, _ := a.adminCodec()
	if c == nil || !c.Keyed() {
		return "", nil
	}
	options := a.storeOptions("admin", 1)
	options.ApplicationName, options.Passing = "oncehook codec link", true
	database, err := store.OpenAdmin(ctx, options)
	if err != nil {
		return "", fmt.Errorf("open the database for a codec link: %w", err)
	}
	defer database.Close()
	operator, err := database.OperatorNamed(ctx, firstAdmin)
	if err != nil {
		return "", fmt.Errorf("make a codec link: %w", err)
	}
	link, err := c.Link(operator.ID, a.now().Add(life))
	if err != nil {
		return "", err
	}
	return admin.CodecLinkPath(link), nil
}
