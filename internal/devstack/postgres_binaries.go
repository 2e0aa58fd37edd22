package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestPostgres is the first major version whose SQL oncehook can use.
const oldestPostgres = 15

// binaries is one installation of PostgreSQL's server programs.
type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }
func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }

// binarySearch says where to look for installations.
type binarySearch struct {
	path  string   // a PATH
	globs []string // folders that packages use but do not put into PATH
}

// usualPlaces are PATH, then the folders of Debian, of Red Hat and of Homebrew, then what an earlier start fetched.
func usualPlaces() binarySearch {
	s := binarySearch{path: os.Getenv("PATH"), globs: []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
	}}
	if fetched, err := fetchedDir(); err == nil {
		s.globs = append(s.globs, filepath.Join(fetched, "bin"))
	}
	return s
}

// find returns the first installation in PATH, else the newest of the usual folders, that is new enough and, when
// major is not 0, of that version.
func (s binarySearch) find(ctx context.Context, major int) (binaries, bool) {
	fits := func(b binaries) bool { return b.major >= oldestPostgres && (major == 0 || b.major == major) }
	for _, dir := range filepath.SplitList(s.path) {
		if b, ok := installationAt(ctx, dir); ok && fits(b) {
			return b, true
		}
	}
	var found []binaries
	for _, glob := range s.globs {
		dirs, err := filepath.Glob(glob)
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			if b, ok := installationAt(ctx, dir); ok && fits(b) {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		return binaries{}, false
	}
	return slices.MaxFunc(found, func(a, b binaries) int { return a.major - b.major }), true
}

// installationAt looks for the server in a folder. Symbolic links are followed, because the server finds its
// libraries, and initdb the server, beside the real file.
func installationAt(ctx context.Context, dir string) (binaries, bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb"))
	if err != nil {
		return binaries{}, false
	}
	b := binaries{dir: filepath.Dir(real)}
	for _, program := range []string{b.initdb(), b.postgres()} {
		if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return binaries{}, false
		}
	}
	out, err := exec.CommandContext(ctx, b.postgres(), "--version").Output()
	if err != nil {
		return binaries{}, false
	}
	b.major, err = majorVersion(string(out))
	return b, err == nil
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorVersion reads the output of postgres --version, such as "postgres (PostgreSQL) 15.18 (Debian …)".
func majorVersion(output string) (int, error) {
	m := versionPattern.FindStringSubmatch(output)
	if m == nil {
		return 0, fmt.Errorf("not a version of PostgreSQL: %q", output)
	}
	return strconv.Atoi(m[1])
}

// clusterVersion is the major version that made the data folder, 0 when there is no cluster in it.
func clusterVersion(data string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("the data in %s belongs to another user: run as that user (as root, if root made it) or choose another folder", data)
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION is unreadable: %w", data, err)
	}
	return major, nil
}

// findOrInstall returns binaries that can run the cluster, and gets some when the machine has none.
func findOrInstall(ctx context.Context, cfg PostgresConfig, home clusterHome) (binaries, error) {
	search := usualPlaces()
	if cfg.search != nil {
		search = *cfg.search
	}
	major, err := clusterVersion(home.data)
	if err != nil {
		return binaries{}, err
	}
	if b, ok := search.find(ctx, major); ok {
		return b, nil
	}
	if major != 0 {
		if b, ok := search.find(ctx, 0); ok {
			return binaries{}, fmt.Errorf("the data in %s was made by PostgreSQL %d and this machine has only %d: install %d or choose another folder", home.data, major, b.major, major)
		}
	}
	if cfg.NoInstall {
		return binaries{}, fmt.Errorf("no PostgreSQL %d or newer in PATH or /usr/lib/postgresql, and installing is switched off: install the package postgresql, or set ONCEHOOK_DATABASE_URL", oldestPostgres)
	}
	if err := install(ctx, cfg.Progress); err != nil {
		return binaries{}, err
	}
	if b, ok := search.find(ctx, major); ok {
		return b, nil
	}
	return binaries{}, fmt.Errorf("PostgreSQL was installed but no version that fits was found: install PostgreSQL %d by hand, or set ONCEHOOK_DATABASE_URL", max(major, oldestPostgres))
}
