package main

import (
	"fmt"
	"slices"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
)

// sampler is a provider that has examples of its events.
type sampler interface{ Samples() []string }

// listSamples lists the types that can be sent without more ado: the provider's
// examples, or what the source's configuration names.
func (c *sendCommand) listSamples(p *program, source config.Source, signer oncehook.Signer) error {
	types := slices.Clone(source.Types)
	if s, ok := signer.(sampler); ok {
		types = s.Samples()
	}
	types = slices.DeleteFunc(types, func(name string) bool { return name == config.AllTypes })
	if len(types) == 0 {
		return usagef("name the type of the event: source %s takes any, and has no samples", source.Name)
	}
	return c.write(p.stdout, map[string]any{"types": types}, func() error {
		for _, name := range types {
			if _, err := fmt.Fprintln(p.stdout, name); err != nil {
				return err
			}
		}
		return nil
	})
}
