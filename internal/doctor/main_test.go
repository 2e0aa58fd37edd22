package doctor_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
