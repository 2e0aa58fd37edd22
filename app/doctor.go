package app

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/doctor"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// checkTimeout bounds each check of the doctor. They run at once.
const checkTimeout = 10 * time.Second

// Examine examines the installation that the configuration describes and returns
// what it found, in order. It changes nothing, needs no server to answer, and
// repeats no secret.
func Examine(ctx context.Context, c Config) []doctor.Finding {
	if c.Parts == nil {
		parts := Standard()
		c.Parts = &parts
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return doctor.Examine(ctx, checks(c), checkTimeout, secretsOf(c.Settings))
}

// ExamineUnloaded reports why a configuration could not be loaded.
func ExamineUnloaded(ctx context.Context, err error) []doctor.Finding {
	return doctor.Examine(ctx, []doctor.Check{doctor.Unloaded(err)}, checkTimeout, nil)
}

func checks(c Config) []doctor.Check {
	settings := c.Settings
	load := func() (*keyring.Keyring, error) {
		if err := settings.RequireKeys(); err != nil {
			return nil, err
		}
		return keyring.Load(settings.Keys.Identity, settings.Keys.Keyset)
	}
	var identity *oncehook.Identity
	if keys, err := load(); err == nil {
		own := keys.Identity()
		identity = &own
	}
	var business []doctor.BusinessSchema
	for _, s := range c.Parts.Schemas {
		business = append(business, doctor.BusinessSchema(s))
	}
	logins := loginsOf(c)
	list := []doctor.Check{
		doctor.Config(settings, doctor.Catalog{Provider: c.Parts.Provider, Routes: c.Parts.Routes}, c.Now()),
		doctor.Secrets(settings),
		doctor.Keys(load, settings.Temporal.Codec, first(logins, config.RoleAdmin, config.RoleMigrate), c.Now()),
	}
	together := doctor.Together(logins)
	for _, l := range together {
		list = append(list, doctor.Database(l))
	}
	list = append(list, doctor.Connections(logins))
	for _, l := range together {
		if l.Options.URL == string(settings.DatabaseURL(config.RoleMigrate)) {
			list = append(list, doctor.Schema(l, identity, business))
			continue
		}
		list = append(list, doctor.Schema(l, identity, nil))
	}
	list = append(list, doctor.SharedLogins(logins))
	for _, role := range store.DatabaseRoles() {
		list = append(list, doctor.Grants(first(logins, string(role)), role, business))
	}
	return append(list,
		doctor.Partitions(first(logins, config.RoleAdmin, config.RoleWork, config.RoleIngress, config.RoleMigrate)),
		doctor.Backlog(first(logins, config.RoleAdmin, config.RoleWork, config.RoleMigrate)),
		doctor.Temporal{Options: func() (client.Options, error) {
			options, err := temporalServer(settings.Temporal)
			options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
			return options, err
		}, Attributes: checkNamespace, Sources: settings.Sources, Processes: processes(first(logins, config.RoleMigrate))}.Check(),
	)
}

// loginsOf lists the roles' ways to the database; one without a DSN has no URL.
func loginsOf(c Config) []doctor.Login {
	var logins []doctor.Login
	for _, l := range []struct {
		role string
		pool int
		own  oncehook.Secret
	}{
		{config.RoleIngress, ingressConns, c.Settings.Database.Ingress},
		{config.RoleWork, workConns(c.Settings.Work.LocalSlots), c.Settings.Database.Work},
		{config.RoleAdmin, adminConns, c.Settings.Database.Admin},
		{config.RoleMigrate, migrateConns, c.Settings.Database.Migrate},
	} {
		setting := "database." + l.role
		if len(l.own) == 0 {
			setting = "database.url"
		}
		logins = append(logins, doctor.Login{Role: l.role, Pool: l.pool, Setting: setting, Options: store.Options{
			URL: string(c.Settings.DatabaseURL(l.role)), Now: c.Now, Log: slog.New(slog.DiscardHandler), ApplicationName: "oncehook doctor",
		}})
	}
	for n := range logins {
		for m := range logins {
			logins[n].Shared = logins[n].Shared || n != m && logins[n].Options.URL == logins[m].Options.URL
		}
	}
	return logins
}

// processes asks the database for its processes, or is nil without a login.
func processes(l doctor.Login) func(context.Context) ([]string, error) {
	if l.Options.URL == "" {
		return nil
	}
	return func(ctx context.Context) ([]string, error) {
		e, err := store.Examine(ctx, l.Options)
		if err != nil {
			return nil, err
		}
		defer e.Close()
		return e.Processes(ctx)
	}
}

// first returns the first of the roles that has a DSN here.
func first(logins []doctor.Login, roles ...string) doctor.Login {
	for _, role := range roles {
		for _, l := range logins {
			if l.Role == role && l.Options.URL != "" {
				return l
			}
		}
	}
	return doctor.Login{Role: roles[0]}
}

// secretsOf lists what must not be printed, whoever would.
func secretsOf(c *Settings) []oncehook.Secret {
	secrets := []oncehook.Secret{c.Keys.Identity, c.Keys.Keyset, c.Admin.Token}
	for _, dsn := range []oncehook.Secret{c.Database.URL, c.Database.Ingress, c.Database.Work, c.Database.Admin, c.Database.Migrate} {
		secrets = append(secrets, dsn)
		if u, err := url.Parse(string(dsn)); err == nil {
			password, _ := u.User.Password()
			secrets = append(secrets, oncehook.Secret(password), oncehook.Secret(u.Query().Get("password")))
		}
	}
	for _, d := range c.Destinations {
		secrets = append(secrets, d.Token)
	}
	for _, s := range c.Sources {
		for _, p := range s.Principals {
			for _, credential := range p.Credentials {
				secrets = append(secrets, credential.Secret)
			}
		}
	}
	return secrets
}
