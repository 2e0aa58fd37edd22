package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// made is a new secret and the setting that it is for.
type made struct {
	path   string
	secret oncehook.Secret
}

// newSecretOutput is where new secrets go.
type newSecretOutput struct {
	Print bool `help:"Print them to standard output, as lines NAME=VALUE of an environment file, and write no file."`
}

type keysNewCommand struct {
	newSecretOutput
}

// Help is what --help says beside the flags.
func (*keysNewCommand) Help() string {
	return `It makes keys.identity and keys.keyset where the configuration refers to them, and admin.token if that refers to a
file that does not exist: files of mode 0600, and none that exists is changed. It refuses where a database belongs to an
installation already: new keys cannot open what is stored. Keep a copy of both where you keep what must not be lost.`
}

// databasePatience bounds the question whether a database is in use.
const databasePatience = 10 * time.Second

// Run makes the keys of a new installation.
func (c *keysNewCommand) Run(ctx context.Context, p *program) error {
	settings, err := p.loadUnmade()
	if err != nil {
		return err
	}
	for path, existing := range map[string]oncehook.Secret{config.PathIdentity: settings.Keys.Identity, config.PathKeyset: settings.Keys.Keyset} {
		if err := settings.RequireReference(path); err != nil && !c.Print {
			return err
		}
		if len(existing) > 0 {
			return fmt.Errorf("%s is there already, in %s: nothing is made. Both are made at once; one that is lost is restored from where it is kept safe", path, placeOf(settings, path))
		}
	}
	if err := mayBeNew(ctx, p, settings); err != nil {
		return err
	}
	identity, keyset, err := keyring.Generate()
	if err != nil {
		return err
	}
	list := []made{{config.PathIdentity, identity}, {config.PathKeyset, keyset}}
	if file, env := settings.Reference(config.PathAdminToken); len(settings.Admin.Token) == 0 && (file != "" || env != "" && c.Print) {
		token, err := store.NewOperatorToken()
		if err != nil {
			return err
		}
		list = append(list, made{config.PathAdminToken, token})
	}
	if err := c.keep(p, settings, list); err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, "Keep a copy of keys.identity and keys.keyset where you keep what must not be lost: without them nothing that is stored can be read.\nNext: `oncehook migrate up`.")
	return nil
}

// mayBeNew refuses where a database belongs to an installation.
func mayBeNew(ctx context.Context, p *program, settings *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	installed, err := app.Installed(ctx, settings)
	if err != nil {
		fmt.Fprintf(p.stderr, "no database could be asked whether it belongs to an installation already (%v): these keys are for a new one only\n", err)
	}
	if installed {
		return errors.New("the database belongs to an installation already, and new keys cannot open what it stores: restore keys.identity and keys.keyset from where they are kept safe, or name an empty database")
	}
	return nil
}

type keysAdminTokenCommand struct {
	newSecretOutput
}

// Run makes a token for the first admin.
func (c *keysAdminTokenCommand) Run(p *program) error {
	settings, err := p.loadUnmade()
	if err != nil {
		return err
	}
	if !c.Print {
		if err := settings.RequireReference(config.PathAdminToken); err != nil {
			return err
		}
		if len(settings.Admin.Token) > 0 {
			return fmt.Errorf("admin.token is there already, in %s: to replace it, take it away first, or --print one", placeOf(settings, config.PathAdminToken))
		}
	}
	token, err := store.NewOperatorToken()
	if err != nil {
		return err
	}
	if err := c.keep(p, settings, []made{{config.PathAdminToken, token}}); err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, "Next: `oncehook migrate up` gives it to the first admin, and revokes the one that the configuration named before.")
	return nil
}

func placeOf(settings *config.Config, path string) string {
	file, env := settings.Reference(path)
	if env != "" {
		return "the environment variable " + env
	}
	return file
}

// keep prints the secrets or writes each to a file that did not exist: all, or none.
func (c *newSecretOutput) keep(p *program, settings *config.Config, list []made) (failed error) {
	if c.Print {
		return printSecrets(p, settings, list)
	}
	for _, m := range list {
		if file, env := settings.Reference(m.path); file == "" {
			return usagef("%s comes from the environment variable %s, which cannot be set from here: --print prints the secrets, for the place that sets it", m.path, env)
		}
	}
	var written []string
	defer func() {
		if failed == nil {
			return
		}
		for _, file := range written {
			failed = errors.Join(failed, os.Remove(file))
		}
	}()
	for _, m := range list {
		file, _ := settings.Reference(m.path)
		err := writeNew(file, m.secret, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s: %s exists and is not overwritten", m.path, file)
		case err != nil:
			return fmt.Errorf("write %s: %w", m.path, err)
		}
		written = append(written, file)
	}
	for _, m := range list {
		fmt.Fprintf(p.stderr, "%s is in %s\n", m.path, placeOf(settings, m.path))
	}
	return nil
}

func printSecrets(p *program, settings *config.Config, list []made) error {
	for _, m := range list {
		_, name := settings.Reference(m.path)
		if name == "" {
			name = config.Variable(m.path)
		}
		value := bytes.TrimSpace(m.secret)
		if m.path == config.PathKeyset {
			var line bytes.Buffer
			if err := json.Compact(&line, value); err != nil {
				return fmt.Errorf("write the keyset: %w", err)
			}
			value = line.Bytes()
		}
		if _, err := fmt.Fprintf(p.stdout, "%s=%s\n", name, value); err != nil {
			return err
		}
	}
	return nil
}
