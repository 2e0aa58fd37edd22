package devstack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// fetchedVersion is the build that a machine without a package manager we may use gets.
const fetchedVersion = embeddedpostgres.V17

// createCluster is read by Debian's PostgreSQL packages when they are installed. Ours is there only meanwhile, so
// that the installation neither makes nor starts a server that nobody asked for.
const createCluster = "/etc/postgresql-common/createcluster.d/oncehook-dev.conf"

// install brings PostgreSQL to a machine that has none: root on Debian or Ubuntu gets the distribution's package,
// other users a pinned build in their cache folder. Parallel callers install once.
func install(ctx context.Context, progress func(string)) error {
	fetched, err := fetchedDir()
	if err != nil && os.Geteuid() != 0 {
		return fmt.Errorf("nowhere to put PostgreSQL (%w): set HOME, or set ONCEHOOK_DATABASE_URL", err)
	}
	// Not in a folder where other users could have put a link of that name.
	dir := filepath.Dir(fetched)
	if os.Geteuid() == 0 {
		dir = elsewhereRoot
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("nowhere to put PostgreSQL (%w): set ONCEHOOK_DATABASE_URL", err)
	}
	lock, err := waitLock(ctx, filepath.Join(dir, "install.lock"), func() {
		progress("waiting for another process to install PostgreSQL")
	})
	if err != nil {
		return fmt.Errorf("install PostgreSQL: %w", err)
	}
	defer lock.release()
	if _, ok := usualPlaces().find(ctx, 0); ok {
		return nil
	}
	switch {
	case os.Geteuid() != 0:
		return fetchBuild(ctx, fetched, progress)
	case isDebian():
		return installPackage(ctx, progress)
	default:
		return fmt.Errorf("no PostgreSQL %d or newer in PATH, and it is installed for root only on Debian and Ubuntu: install it with your package manager, run as another user, or set ONCEHOOK_DATABASE_URL", oldestPostgres)
	}
}

func isDebian() bool {
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return false
	}
	_, err := exec.LookPath("apt-get")
	return err == nil
}

func installPackage(ctx context.Context, progress func(string)) error {
	defer announce(progress, "installing the package postgresql, because this machine has no PostgreSQL")()
	if err := os.MkdirAll(filepath.Dir(createCluster), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(createCluster, []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return err
	}
	defer os.Remove(createCluster)

	install := []string{"install", "-y", "--no-install-recommends", "postgresql"}
	if aptGet(ctx, install...) == nil {
		return nil
	}
	// A fresh machine has no list of packages, or an old one.
	progress("updating the list of packages")
	if err := aptGet(ctx, "update"); err != nil {
		return fmt.Errorf("no PostgreSQL and apt-get update did not work (%w): run apt-get install postgresql, or set ONCEHOOK_DATABASE_URL", err)
	}
	if err := aptGet(ctx, install...); err != nil {
		return fmt.Errorf("apt-get install postgresql did not work (%w): run it by hand, or set ONCEHOOK_DATABASE_URL", err)
	}
	return nil
}

// aptGet runs apt-get without questions. Its error is the last line it printed.
func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=120"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return nil
}

// fetchedDir is where fetchBuild unpacks.
func fetchedDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "oncehook", "postgresql-"+string(fetchedVersion)), nil
}

// fetchBuild downloads a pinned build of PostgreSQL. The library unpacks only on the way to a first start, so it is
// made to run a server once, on a folder that is thrown away.
func fetchBuild(ctx context.Context, fetched string, progress func(string)) error {
	defer announce(progress, "fetching PostgreSQL "+string(fetchedVersion)+", because this machine has none")()
	scratch, err := os.MkdirTemp("", "oncehook-fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	port, err := FreePort()
	if err != nil {
		return err
	}
	// Unpacked beside its place and renamed, so that a fetch that breaks off leaves nothing that looks whole.
	partial := fetched + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	var log bytes.Buffer
	server := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(fetchedVersion).
		Port(uint32(port)).
		CachePath(scratch).
		BinariesPath(partial).
		RuntimePath(filepath.Join(scratch, "run")).
		DataPath(filepath.Join(scratch, "data")).
		StartParameters(map[string]string{"unix_socket_directories": ""}).
		StartTimeout(time.Minute).
		Logger(&log))

	result := make(chan error, 1)
	go func() {
		if err := server.Start(); err != nil {
			result <- err
			return
		}
		result <- server.Stop()
	}()
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		// The library puts the output of initdb into its error.
		reason, details, _ := strings.Cut(err.Error(), "\n")
		if details != "" {
			progress(details)
		}
		return fmt.Errorf("PostgreSQL could not be fetched (%s): install PostgreSQL %d or newer with your package manager, or set ONCEHOOK_DATABASE_URL", reason, oldestPostgres)
	}
	if err := os.RemoveAll(fetched); err != nil {
		return err
	}
	return os.Rename(partial, fetched)
}

// lastLine is the last line of a program's output that is not blank.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
