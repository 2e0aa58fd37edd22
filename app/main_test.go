package app_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
