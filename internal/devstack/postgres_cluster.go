package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// passwordFile, in the cluster's wanted folder, holds the superuser's password. Only we can read it.
const passwordFile = "password"

// ensureCluster initializes the data folder if there is no cluster yet, and returns the superuser's password.
func ensureCluster(ctx context.Context, cfg PostgresConfig, home clusterHome, bin binaries) (string, error) {
	path := filepath.Join(home.dir, passwordFile)
	if _, err := os.Stat(filepath.Join(home.data, "PG_VERSION")); err == nil {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("the password of the data in %s is gone (%w): restore the file, or delete %s to start anew", home.data, err, home.data)
		}
		return strings.TrimSpace(string(raw)), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	password := rand.Text()
	if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := initCluster(ctx, cfg, home, bin, password); err != nil {
		return "", err
	}
	return password, nil
}

// initCluster makes the cluster beside its place and renames it, so that one that breaks off is never taken for whole.
func initCluster(ctx context.Context, cfg PostgresConfig, home clusterHome, bin binaries, password string) error {
	defer announce(cfg.Progress, fmt.Sprintf("initializing PostgreSQL %d in %s", bin.major, home.data))()
	partial := home.data + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	if err := home.account.chown(partial); err != nil {
		return err
	}
	secret, err := home.secretFile(password)
	if err != nil {
		return err
	}
	defer os.Remove(secret)

	args := []string{
		"--pgdata=" + partial, "--username=" + superuser, "--pwfile=" + secret,
		"--auth-local=reject", "--auth-host=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--data-checksums",
	}
	if cfg.NoFsync {
		args = append(args, "--no-sync")
	}
	if out, err := home.command(ctx, bin.initdb(), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb in %s did not work (%w: %s)", home.data, err, lastLine(out))
	}
	if cfg.Database != "" {
		if err := home.createDatabase(ctx, bin, partial, cfg.Database); err != nil {
			return err
		}
	}
	return os.Rename(partial, home.data)
}

// secretFile writes the password where initdb, which may be another user, can read it and nobody else.
func (h clusterHome) secretFile(password string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(h.data), "pwfile-")
	if err != nil {
		return "", err
	}
	_, writeErr := f.WriteString(password + "\n")
	if err := errors.Join(writeErr, f.Close(), h.account.chown(f.Name())); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// createDatabase runs the server in single-user mode, which needs neither a port nor a password.
func (h clusterHome) createDatabase(ctx context.Context, bin binaries, data, name string) error {
	cmd := h.command(ctx, bin.postgres(), "--single", "-D", data, "-c", "exit_on_error=on", "postgres")
	cmd.Stdin = strings.NewReader(`CREATE DATABASE "` + strings.ReplaceAll(name, `"`, `""`) + "\"\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create database %s (%w: %s)", name, err, lastLine(out))
	}
	return nil
}

// command prepares a program of PostgreSQL to run as the cluster's user.
func (h clusterHome) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = postgresEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.account.credential()}
	return cmd
}

// postgresEnv is our environment without the PG* variables, which would redirect the server's programs.
func postgresEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C")
}
