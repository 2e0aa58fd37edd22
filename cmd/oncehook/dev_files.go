package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/internal/devstack/receiver"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

func (d *dev) path(names ...string) string {
	return filepath.Join(append([]string{d.dir}, names...)...)
}

func (d *dev) ownConfig() string { return d.path(localConfig) }

// makeSecrets makes what the first start needs; later starts find it. The
// database's URL may change with each start.
func (d *dev) makeSecrets() error {
	if err := os.MkdirAll(d.path("secrets"), 0o700); err != nil {
		return fmt.Errorf("make the folder of secrets: %w", err)
	}
	identity, keyset, err := keyring.Generate()
	if err != nil {
		return err
	}
	admin, err := store.NewOperatorToken()
	if err != nil {
		return err
	}
	made := map[string]oncehook.Secret{"identity": identity, "keyset.json": keyset, "admin-token": admin}
	for _, source := range devSources() {
		if made[source.file], err = source.newSecret(); err != nil {
			return err
		}
	}
	for name, secret := range made {
		path := d.path("secrets", name)
		if _, err := os.Stat(path); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for a secret: %w", err)
		}
		if err := writeFile(path, secret); err != nil {
			return err
		}
	}
	if err := writeFile(d.path("secrets", "db"), []byte(d.database.url)); err != nil {
		return err
	}
	return writeFile(d.path(devMarker), []byte("The configuration beside this file was written by oncehook dev: its secrets may be printed.\n"))
}

// writeFile writes a file that only this user can read, whole or not at all.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// writeConfig writes the configuration with these addresses.
func (d *dev) writeConfig(ingress, admin string) error {
	text := strings.NewReplacer(
		"INGRESS", ingress, "ADMIN", admin,
		"RECEIVER", d.receiver.addr, "TEMPORAL", d.temporal.address, "NAMESPACE", d.temporal.namespace, "UI", d.temporal.uiURL,
	).Replace(devConfig)
	return writeFile(d.ownConfig(), []byte(text+devSections()))
}

const devConfig = "# Written by `oncehook dev` at each start: what is changed here is lost.\n" + `version: 1
database: {url: {file: secrets/db}}
temporal: {address: "TEMPORAL", namespace: "NAMESPACE", ui_url: "UI"}
keys: {identity: {file: secrets/identity}, keyset: {file: secrets/keyset.json}}
ingress: {addr: "INGRESS"}
admin: {addr: "ADMIN", token: {file: secrets/admin-token}}
work: {local: true, local_slots: 2}
egress: {allow: ["RECEIVER"]}
destinations:
  ` + billing.NoticeDestination + `: {url: "http://RECEIVER` + receiver.Path + `"}
sources:
`

// bound is the address that was asked for, with the port that it got.
func bound(asked, url string) string {
	host, _, err := net.SplitHostPort(asked)
	if err != nil {
		return asked
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		return asked
	}
	return net.JoinHostPort(host, port)
}

// ready is what the ready file tells.
type ready struct {
	IngressURL      string `json:"ingress_url"`
	AdminURL        string `json:"admin_url"`
	TemporalAddress string `json:"temporal_address"`
	TemporalUIURL   string `json:"temporal_ui_url"`
	ReceiverURL     string `json:"receiver_url"`
	DatabaseURL     string `json:"database_url"`
	ConfigFile      string `json:"config_file"`
}

func (d *dev) writeReadyFile() error {
	if d.ReadyFile == "" {
		return nil
	}
	content, err := json.MarshalIndent(ready{
		IngressURL: d.system.ingressURL, AdminURL: d.system.adminURL, TemporalAddress: d.temporal.address,
		TemporalUIURL: d.temporal.uiURL, ReceiverURL: d.receiver.url, DatabaseURL: d.database.url, ConfigFile: d.ownConfig(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(d.ReadyFile, append(content, '\n'))
}

// removeReadyFile makes sure that nobody takes an earlier start for a running one.
func (d *dev) removeReadyFile() error {
	if d.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(d.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the ready file: %w", err)
	}
	return nil
}
