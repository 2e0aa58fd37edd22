package devstack

// LockFile takes the lock of a file, which it makes, or returns an error that names the pid of the process that has it.
// The lock ends with unlock or with this process, however it ends; processes started meanwhile do not inherit it.
func LockFile(path string) (unlock func(), err error) {
	lock, err := tryLock(path)
	if err != nil {
		return nil, err
	}
	return lock.release, nil
}
