// Package accept_test holds promise 2 against real processes: 2xx means
// committed, for every copy, in whatever process.
package accept_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
