package stripe_test

import (
	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/stripe"
)

func build(src oncehook.Source) (oncehook.Provider, error) { return stripe.New(src) }
