package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// elsewhereRoot holds the data of clusters whose wanted folder the user postgres cannot reach.
	elsewhereRoot = "/var/lib/oncehook-dev"
	// locationFile, in the wanted folder, records that the data is elsewhere.
	locationFile = "data.location"
)

// account is another user that a child runs as. A nil account is ourselves.
type account struct {
	uid, gid uint32
}

// credential is nil for ourselves. Supplementary groups are dropped.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// chown gives a file to the account.
func (a *account) chown(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// canUse reports whether the account can enter a folder and write to it. Only the system knows: it asks by trying.
func (a *account) canUse(dir string) bool {
	cmd := exec.Command("/bin/sh", "-c", `cd "$1" && [ -w . ]`, "sh", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return cmd.Run() == nil
}

// clusterHome says where a cluster's files are and who runs its server.
type clusterHome struct {
	dir     string // the wanted folder: log, password, lock
	data    string // the data folder, symbolic links resolved; may not exist yet, its parent does
	account *account
}

// locateCluster finds where the data of the cluster of dir is, or will be if the server's user can reach dir.
func locateCluster(dir string) (clusterHome, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return clusterHome{}, err
	}
	home := clusterHome{dir: dir, data: filepath.Join(dir, "data")}
	record := filepath.Join(dir, locationFile)
	recorded, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return home, nil
	}
	if err != nil {
		return clusterHome{}, err
	}
	home.data = strings.TrimSpace(string(recorded))
	if !filepath.IsAbs(home.data) {
		return clusterHome{}, fmt.Errorf("%s does not hold a path: delete it", record)
	}
	return home, nil
}

// settle decides which user runs the server, and moves the data of a new cluster to where that user can go.
func (h clusterHome) settle(progress func(string)) (clusterHome, error) {
	owner, err := ownerOf(h.data)
	if err != nil {
		return clusterHome{}, err
	}
	if os.Geteuid() != 0 {
		if owner != nil && int(owner.uid) != os.Geteuid() {
			return clusterHome{}, fmt.Errorf("the data in %s belongs to another user: run as that user (as root, if root made it) or choose another folder", h.data)
		}
		return h, nil
	}
	if owner != nil && owner.uid != 0 {
		h.account = owner
		return h, nil
	}
	if h.account, err = postgresAccount(); err != nil {
		return clusterHome{}, err
	}
	if h.data != filepath.Join(h.dir, "data") {
		return h, os.MkdirAll(filepath.Dir(h.data), 0o755)
	}
	if h.account.canReach(h.dir) {
		return h, nil
	}
	return placeElsewhere(h, progress)
}

// canReach reports whether the account can use a folder of its own inside dir.
func (a *account) canReach(dir string) bool {
	probe, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return false
	}
	defer os.Remove(probe)
	return a.chown(probe) == nil && a.canUse(probe)
}

// placeElsewhere keeps the data under elsewhereRoot, in a folder named after the wanted one, and records that.
func placeElsewhere(home clusterHome, progress func(string)) (clusterHome, error) {
	sum := sha256.Sum256([]byte(home.dir))
	base := filepath.Join(elsewhereRoot, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(base, 0o755); err != nil {
		return clusterHome{}, fmt.Errorf("make a folder that user %s can reach: %w", superuser, err)
	}
	home.data = filepath.Join(base, "data")
	if _, err := os.Stat(home.data); err == nil {
		// Data without a record: the wanted folder was deleted since, and with it the password and the keys.
		// Nobody can use that data, but nobody has asked to destroy it either.
		aside := filepath.Join(base, "data.previous")
		if postmasterOf(home.data) != 0 {
			return clusterHome{}, fmt.Errorf("a server still runs on %s, though %s was deleted: stop the process that started it", home.data, home.dir)
		}
		if err := os.RemoveAll(aside); err != nil {
			return clusterHome{}, err
		}
		if err := os.Rename(home.data, aside); err != nil {
			return clusterHome{}, err
		}
		progress(fmt.Sprintf("%s is new: its earlier data was moved to %s", home.dir, aside))
	}
	if err := os.WriteFile(filepath.Join(home.dir, locationFile), []byte(home.data+"\n"), 0o644); err != nil {
		return clusterHome{}, err
	}
	progress(fmt.Sprintf("PostgreSQL runs as user %s, who cannot reach %s: its data is kept in %s", superuser, home.dir, home.data))
	return home, nil
}

// ownerOf returns the account that owns a path, nil when the path does not exist.
func ownerOf(path string) (*account, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	return &account{uid: stat.Uid, gid: stat.Gid}, nil
}

// postgresAccount looks up the user that packages of PostgreSQL create.
func postgresAccount() (*account, error) {
	u, err := user.Lookup(superuser)
	if err != nil {
		return nil, errNoPostgresUser
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", superuser, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", superuser, err)
	}
	return &account{uid: uint32(uid), gid: uint32(gid)}, nil
}

// errNoPostgresUser: PostgreSQL refuses to run as root and there is nobody else.
var errNoPostgresUser = errors.New("PostgreSQL does not run as root and there is no user postgres: " +
	"create one (useradd --system postgres), run as another user, or set ONCEHOOK_DATABASE_URL")
