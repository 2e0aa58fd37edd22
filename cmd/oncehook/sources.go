package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

type sourcesCommand struct {
	Token sourcesTokenCommand `cmd:"" aliases:"secret" help:"Print the token or signing secret of a source that dev made."`
}

type sourcesTokenCommand struct {
	Name string `arg:"" help:"The source's name."`
}

// devMarker is the file beside a configuration that says that dev wrote it, so
// that its secrets protect nothing but one person's machine.
const devMarker = "dev"

// Run prints the newest credential of the source's first principal, and nothing else.
func (c *sourcesTokenCommand) Run(p *program) error {
	settings, err := p.loadConfig()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(settings.File), devMarker)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was not written by `oncehook dev`: secrets of other systems are not printed; read them where they are kept", settings.File)
	} else if err != nil {
		return err
	}
	source, ok := settings.Source(c.Name)
	if !ok {
		return noSource(settings, c.Name)
	}
	principal, _, err := sender(source, "")
	if err != nil {
		return err
	}
	credential, err := newestCredential(source.Name, principal)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, string(credential.Secret))
	return err
}
