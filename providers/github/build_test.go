package github_test

import (
	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/github"
)

func build(src oncehook.Source) (oncehook.Provider, error) { return github.New(src) }
