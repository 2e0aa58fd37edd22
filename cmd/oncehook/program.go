package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/providers"
)

// program is what a verb touches of its surroundings.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        func(string) (string, bool)
	// configFile is --config or ONCEHOOK_CONFIG, or "".
	configFile string
}

// The files that a verb without --config looks for, in order.
const (
	localConfig = "oncehook.yaml"
	devData     = ".dev"
)

// configPath finds the configuration file.
func (p *program) configPath() (string, error) {
	if p.configFile != "" {
		return p.configFile, nil
	}
	for _, path := range []string{localConfig, devData + "/" + localConfig} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for the configuration: %w", err)
		}
	}
	return "", usagef("no configuration found: name one by --config or ONCEHOOK_CONFIG, or run `oncehook dev`, which writes %s/%s", devData, localConfig)
}

func (p *program) loadConfig() (*config.Config, error) {
	path, err := p.configPath()
	if err != nil {
		return nil, err
	}
	return config.Load(path, p.environ)
}

// loadServed loads a configuration of which this binary speaks every provider.
// Whoever does not receive does without: the ingress may be a binary with more.
func (p *program) loadServed() (*config.Config, error) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, err
	}
	return c, c.RequireProviders(providers.Kinds())
}

// loadUnmade loads a configuration whose secrets need not have been made.
func (p *program) loadUnmade() (*config.Config, error) {
	path, err := p.configPath()
	if err != nil {
		return nil, err
	}
	return config.LoadUnmade(path, p.environ)
}

// open loads the configuration and builds the system that the roles run. Each
// role is one that needs the database.
func (p *program) open(roles ...string) (*app.App, error) {
	load := p.loadConfig
	if slices.Contains(roles, config.RoleIngress) {
		load = p.loadServed
	}
	c, err := load()
	if err != nil {
		return nil, err
	}
	if err := c.RequireKeys(); err != nil {
		return nil, err
	}
	for _, role := range roles {
		if err := c.RequireDatabase(role); err != nil {
			return nil, err
		}
	}
	return app.New(app.Config{
		Settings: c, Version: version,
		Log: slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: c.Log.Level})),
	})
}
