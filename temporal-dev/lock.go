package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes the lock that keeps a second server off the same database file, on a
// file beside it. The kernel drops the lock when the process ends, however it ends.
// The returned file must stay open as long as the database is in use.
func lockFile(dbFilename string) (*os.File, error) {
	file, err := os.OpenFile(dbFilename+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock database file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("database file %s is in use by another temporal-dev", dbFilename)
	}
	return nil, fmt.Errorf("lock database file %s: %w", dbFilename, err)
}
