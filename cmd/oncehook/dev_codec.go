package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/oncehook/oncehook/internal/keyring"
)

// addPayloadKey gives a keyset from before histories were encrypted its payload
// key. All roles of dev are in this process, so adding and promoting are one step.
func (d *dev) addPayloadKey() error {
	path := d.path("secrets", "keyset.json")
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the keyset: %w", err)
	}
	keyset, err := keyring.ParseKeyset(content)
	if err != nil {
		return err
	}
	for _, key := range keyset.Keys() {
		if key.Kind == keyring.KindPayload {
			return nil
		}
	}
	id, err := keyset.Add(keyring.KindPayload)
	if err != nil {
		return err
	}
	if err := keyset.Promote(keyring.KindPayload, id); err != nil {
		return err
	}
	if content, err = keyset.Encode(); err != nil {
		return err
	}
	return writeFile(path, content)
}

// codecLinkLife outlasts a run of dev; each start makes a new link.
const codecLinkLife = 365 * 24 * time.Hour

// linkCodec points the pages of dev's own Temporal UI at the codec endpoint of
// dev's own admin API. Whoever reaches that UI, on loopback, reads the link there,
// as everything else in it.
func (d *dev) linkCodec(ctx context.Context) error {
	if d.temporal.given {
		return nil
	}
	path, err := d.system.app.CodecLink(ctx, codecLinkLife)
	if err != nil || path == "" {
		return err
	}
	d.temporal.config.UICodecEndpoint = d.system.adminURL + path
	return nil
}
