//go:build !linux

package store

import "syscall"

// setUserTimeout does nothing here: keepalives alone find a vanished server.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
