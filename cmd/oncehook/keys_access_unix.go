//go:build unix

package main

import (
	"os"
	"syscall"
)

// sameAccess gives path the owner and the group's rights of the file that it will
// replace, so that a service which could read that one can read this one. Others
// get none.
func sameAccess(path string, of os.FileInfo) error {
	if owner, ok := of.Sys().(*syscall.Stat_t); ok {
		own := os.Getuid() == int(owner.Uid) && os.Getgid() == int(owner.Gid)
		if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil && !own {
			return err
		}
	}
	return os.Chmod(path, 0o600|of.Mode().Perm()&0o040)
}
