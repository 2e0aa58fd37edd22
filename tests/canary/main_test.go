// Package canary_test plants secrets and payloads that it would know again, drives
// real processes through good, bad and broken deliveries and effects, and searches
// everything that they write, show, send and store.
package canary_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.MainWith(m, parts)) }
