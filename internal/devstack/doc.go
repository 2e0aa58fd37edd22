// Package devstack runs the servers oncehook needs, PostgreSQL and Temporal, as child processes on one machine. The
// dev command and the tests use it; production never does.
//
// Every server keeps its data in a folder that one process at a time may use (a file lock). A child dies with its
// parent: on Linux by a parent-death signal, elsewhere the next start stops the orphan, after a pid file and the
// process table have both proved that it is one of ours.
//
// It runs on Linux, macOS and other Unix systems.
package devstack
