package config

import (
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook"
)

// maxDrain is beyond what any orchestrator waits by default.
const maxDrain = 10 * time.Minute

// version is the only version of the file's format.
const version = 1

func (r *reader) config(root *yaml.Node) *Config {
	o := r.object(root, "", 1, false)
	c := &Config{File: r.file, references: r.references, lines: r.lines}
	c.Version = r.version(o)
	c.Database = r.database(o.section("database"))
	c.Temporal = r.temporal(o.section("temporal"))
	c.Keys = r.keys(o.section("keys"))
	c.Ingress = r.ingress(o.section("ingress"))
	c.Admin = r.admin(o.section("admin"))
	c.Work = r.work(o.section("work"))
	c.Egress = r.egress(o.section("egress"))
	c.Telemetry = r.telemetry(o.section("telemetry"))
	c.Log = r.log(o.section("log"))
	c.Retention = r.retention(o.section("retention"))
	c.Destinations = r.destinations(o.section("destinations"))
	c.Sources = r.sources(o)
	o.done()
	r.checkSecrets(c)
	r.checkTokens(c)
	sortProblems(r.problems)
	return c
}

func (r *reader) version(o *object) int {
	value, at, ok := o.scalar("version")
	switch {
	case !ok:
		r.problem(at.line, at.path, "is missing: write version: %d", version)
	case value != "1":
		r.problem(at.line, at.path, "must be %d", version)
	}
	return version
}

func (r *reader) database(o *object) Database {
	var d Database
	if _, _, replaced := o.override("url"); replaced {
		d.URL = o.secret("url", minPresent, true)
		for _, role := range []string{RoleIngress, RoleWork, RoleAdmin, RoleMigrate} {
			o.take(role)
		}
	} else {
		d.URL = o.secret("url", minPresent, false)
		d.Ingress = o.secret(RoleIngress, minPresent, false)
		d.Work = o.secret(RoleWork, minPresent, false)
		d.Admin = o.secret(RoleAdmin, minPresent, false)
		d.Migrate = o.secret(RoleMigrate, minPresent, false)
	}
	o.done()
	return d
}

func (r *reader) temporal(o *object) Temporal {
	t := Temporal{
		ConfigFile: o.text("config_file", ""),
		Profile:    o.text("profile", DefaultProfile),
		Address:    o.text("address", ""),
		Namespace:  o.text("namespace", ""),
		UIURL:      o.link("ui_url"),
		Codec:      o.boolean("codec", true),
	}
	if t.ConfigFile != "" {
		t.ConfigFile = r.absolute(t.ConfigFile)
		if _, err := os.Stat(t.ConfigFile); err != nil {
			r.problem(o.lineOf("config_file"), o.child("config_file"), "names %s, which cannot be read: %s", printablePath(t.ConfigFile), cause(err))
		}
	}
	o.done()
	return t
}

func (r *reader) keys(o *object) Keys {
	k := Keys{
		Identity: o.secret("identity", oncehook.MinIdentity, false),
		Keyset:   o.secret("keyset", minPresent, false),
	}
	o.done()
	return k
}

func (r *reader) ingress(o *object) Ingress {
	i := Ingress{
		Addr:           o.address("addr", DefaultIngressAddr),
		PublicURL:      o.link("public_url"),
		TrustedProxies: o.prefixes("trusted_proxies"),
		Drain:          o.duration("drain", 0, maxDrain),
	}
	o.done()
	return i
}

func (r *reader) admin(o *object) Admin {
	a := Admin{
		Addr:  o.address("addr", DefaultAdminAddr),
		URL:   o.link("url"),
		Token: o.secret("token", minToken, false),
	}
	if len(a.Token) > 0 && !oncehook.IsOperatorToken(a.Token) {
		r.problem(o.lineOf("token"), o.child("token"), "is no operator's token: that is %s; `oncehook keys admin-token` makes one where none is", oncehook.OperatorTokenForm)
	}
	o.done()
	return a
}

func (r *reader) work(o *object) Work {
	w := Work{
		Local:      o.boolean("local", true),
		LocalSlots: o.integer("local_slots", DefaultLocalSlots, 1, 1000),
	}
	o.done()
	return w
}

// Name returns the file's base name, for messages to people.
func (c *Config) Name() string { return filepath.Base(c.File) }
