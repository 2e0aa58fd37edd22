package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errLocked says that another process holds a lock.
var errLocked = errors.New("locked by another process")

// fileLock is an advisory lock on a file. The kernel releases it when its holder dies, however it dies; children do
// not inherit it.
type fileLock struct {
	file *os.File
}

// tryLock takes the lock or returns an error that wraps errLocked and names the holder's pid.
func tryLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w (pid %s)", path, errLocked, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The pid is for people: the lock itself is what counts.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &fileLock{file: f}, nil
}

// waitLock takes the lock as soon as its holder lets go. onWait is called once if there is anything to wait for.
func waitLock(ctx context.Context, path string, onWait func()) (*fileLock, error) {
	var lock *fileLock
	waited := false
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		var err error
		lock, err = tryLock(path)
		if errors.Is(err, errLocked) {
			if !waited {
				waited = true
				onWait()
			}
			return false, nil
		}
		return err == nil, err
	})
	return lock, err
}

// release gives the lock up; a nil lock is none. The file stays: removing it would let two processes lock two files of
// one name.
func (l *fileLock) release() {
	if l != nil {
		l.file.Close()
	}
}

// flock retries when a signal interrupts the call.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
