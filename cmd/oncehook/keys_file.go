package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
)

// keysetOutput is where a changed keyset goes.
type keysetOutput struct {
	Print bool `help:"Print the changed keyset, which is a secret, to standard output, and write no file."`
}

// change applies one change to the keyset and stores it where the configuration
// refers to. Nothing is stored when the change is refused.
func (c *keysetOutput) change(ctx context.Context, p *program, apply func(*app.Keys) (string, error)) error {
	settings, err := p.loadConfig()
	if err != nil {
		return err
	}
	file, env := settings.KeysetReference()
	switch {
	case c.Print:
		return c.apply(ctx, p, apply, func(keyset oncehook.Secret) error {
			_, err := p.stdout.Write(keyset)
			return err
		})
	case file == "":
		return usagef("the keyset comes from the environment variable %s, which cannot be changed from here: --print prints the changed one, for the place that sets it", env)
	}
	// A mounted secret is a link; what it leads to is replaced.
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return fmt.Errorf("find the keyset: %w", err)
	}
	unlock, err := lockKeyset(file)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the keyset: %w", err)
	}
	return c.apply(ctx, p, apply, func(keyset oncehook.Secret) error { return replaceKeyset(p, file, before, keyset) })
}

func (c *keysetOutput) apply(ctx context.Context, p *program, change func(*app.Keys) (string, error), keep func(oncehook.Secret) error) error {
	keys, err := p.openKeys(ctx)
	if err != nil {
		return err
	}
	defer keys.Close()
	message, err := change(keys)
	if err != nil {
		return err
	}
	keyset, err := keys.Encode()
	if err != nil {
		return err
	}
	if err := keep(keyset); err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, message)
	return nil
}

// replaceKeyset keeps the keyset from before beside the file and puts the new one
// in its place, whole or not at all. Nobody but the owner, and a group that could
// read it before, can read it.
func replaceKeyset(p *program, file string, before []byte, keyset oncehook.Secret) error {
	now, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the keyset: %w", err)
	}
	if !bytes.Equal(now, before) {
		return errors.New("the keyset was changed meanwhile: run the command again")
	}
	backup := file + "." + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := writeNew(backup, before, 0o600); err != nil {
		return fmt.Errorf("keep the keyset from before: %w", err)
	}
	access, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("write the keyset: %w", err)
	}
	made := file + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what a broken-off change left: %w", err)
	}
	err = writeNew(made, keyset, 0o600, func(f *os.File) error { return sameAccess(f, access) })
	if err == nil {
		err = os.Rename(made, file)
	}
	if err != nil {
		_ = os.Remove(made) // it holds every key, and nobody would look for it
		return fmt.Errorf("write the keyset: %w", err)
	}
	if err := syncFolder(filepath.Dir(file)); err != nil {
		return fmt.Errorf("write the keyset: %w", err)
	}
	fmt.Fprintln(p.stderr, "the keyset from before is in", backup)
	return nil
}

// writeNew writes a file that did not exist, to the disk. adapt changes its access.
func writeNew(path string, content []byte, mode os.FileMode, adapt ...func(*os.File) error) (failed error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	for _, change := range adapt {
		if err := change(f); err != nil {
			return err
		}
	}
	return f.Sync()
}

func syncFolder(path string) (failed error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, f.Close()) }()
	return f.Sync()
}
