package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dirPrefix marks the folders of this package among other temporary ones.
const dirPrefix = "oncehook-pgtest-"

const (
	sharedMemory = "/dev/shm" // a file system in memory, on Linux
	enoughMemory = 2 << 30    // bytes; containers often have no more than 64 MiB
)

// scratch returns the folder for servers: in memory where there is enough of it, because a database is some 300 files
// and copying them takes a few hundred milliseconds on a disk, a few dozen in memory.
func scratch() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(sharedMemory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < enoughMemory {
		return os.TempDir()
	}
	probe, err := os.MkdirTemp(sharedMemory, dirPrefix)
	if err != nil {
		return os.TempDir()
	}
	_ = os.Remove(probe)
	return sharedMemory
}

// dirLock is held as long as the test binary that owns a folder lives.
type dirLock struct {
	file *os.File
}

func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return &dirLock{file: f}, nil
}

func (l *dirLock) release() { l.file.Close() }

// sweep deletes the folders that test binaries left behind when they were killed or timed out. A folder whose owner
// lives is locked; one younger than a minute may not be locked yet.
func sweep(tempDir string) {
	dirs, err := filepath.Glob(filepath.Join(tempDir, dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			continue
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		lock.release()
	}
}
