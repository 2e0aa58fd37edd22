package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// elsewhereRoot holds the data of clusters whose wanted folder the user postgres cannot reach.
	elsewhereRoot = "/var/lib/oncehook-dev"
	// locationFile, in the wanted folder, records that the data is elsewhere.
	locationFile = "data.location"
	// wantedFile, beside data that is elsewhere, names the wanted folder.
	wantedFile = "wanted"
)

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

// placeElsewhere keeps the data under elsewhereRoot, in a folder named after the wanted one, and records that.
func placeElsewhere(home clusterHome, progress func(string)) (clusterHome, error) {
	sum := sha256.Sum256([]byte(home.dir))
	base := filepath.Join(elsewhereRoot, hex.EncodeToString(sum[:8]))
	sweepElsewhere(elsewhereRoot)
	if err := os.MkdirAll(base, 0o755); err != nil {
		return clusterHome{}, fmt.Errorf("make a folder that user %s can reach: %w", superuser, err)
	}
	if err := os.WriteFile(filepath.Join(base, wantedFile), []byte(home.dir+"\n"), 0o644); err != nil {
		return clusterHome{}, err
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

// sweepElsewhere deletes data whose wanted folder was a temporary one and is gone, such as that of an ended test. Other
// data is kept, whatever became of its folder.
func sweepElsewhere(root string) {
	wanted, err := filepath.Glob(filepath.Join(root, "*", wantedFile))
	if err != nil {
		return
	}
	for _, file := range wanted {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		dir, base := strings.TrimSpace(string(raw)), filepath.Dir(file)
		if !strings.HasPrefix(dir, filepath.Clean(os.TempDir())+"/") || postmasterOf(filepath.Join(base, "data")) != 0 {
			continue
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(base)
		}
	}
}
