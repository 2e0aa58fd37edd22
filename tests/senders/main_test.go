// Package senders_test lets the providers' official SDKs send: what they sign is
// POSTed to a running ingress, and what oncehook signs they accept.
package senders_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
