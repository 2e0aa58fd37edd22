package standardwebhooks_test

import (
	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/standardwebhooks"
)

func build(src oncehook.Source) (oncehook.Provider, error) { return standardwebhooks.New(src) }
