package app

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook/internal/codec"
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
