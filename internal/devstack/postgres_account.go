package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
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

// canReach reports whether the account can use a folder of its own inside dir.
func (a *account) canReach(dir string) bool {
	probe, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return false
	}
	defer os.Remove(probe)
	return a.chown(probe) == nil && a.canUse(probe)
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
