package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// sameAccess gives an open file the owner and the group's rights of the one that it
// will replace, so that a service which could read that one can read this one.
// Others get none. It goes by the open file: whoever owns the folder may meanwhile
// have put a link in its place.
func sameAccess(made *os.File, of os.FileInfo) error {
	if owner, ok := of.Sys().(*syscall.Stat_t); ok {
		own := os.Getuid() == int(owner.Uid) && os.Getgid() == int(owner.Gid)
		if err := made.Chown(int(owner.Uid), int(owner.Gid)); err != nil && !own {
			return err
		}
	}
	return made.Chmod(0o600 | of.Mode().Perm()&0o040)
}

// lockKeyset lets one process change the keyset at a time, until unlock or the
// process's end. The file of the lock is left where it is: a lock on one that is
// gone keeps nobody out.
func lockKeyset(keyset string) (unlock func(), err error) {
	f, err := os.OpenFile(keyset+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the keyset: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another change of the keyset is under way")
		}
		return nil, fmt.Errorf("lock the keyset: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
