package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook"
)

// Redacted returns the effective configuration as YAML. Secrets appear as the
// references that they came from, so that the result can be loaded again.
func (c *Config) Redacted() []byte {
	out, err := yaml.Dump(c.view())
	if err != nil {
		// A tree of plain values always has a YAML form.
		return []byte("# cannot be shown\n")
	}
	return out
}

type view struct {
	Version   int                  `yaml:"version"`
	Database  map[string]reference `yaml:"database"`
	Temporal  temporalView         `yaml:"temporal"`
	Keys      map[string]reference `yaml:"keys"`
	Ingress   ingressView          `yaml:"ingress"`
	Admin     adminView            `yaml:"admin"`
	Work      workView             `yaml:"work"`
	Egress    egressView           `yaml:"egress"`
	Telemetry telemetryView        `yaml:"telemetry"`
	Log       logView              `yaml:"log"`
	Retention retentionView        `yaml:"retention"`
	// Destinations and Sources are by name.
	Destinations map[string]destinationView `yaml:"destinations"`
	Sources      map[string]source          `yaml:"sources"`
}

type temporalView struct {
	ConfigFile string `yaml:"config_file"`
	Profile    string `yaml:"profile"`
	Address    string `yaml:"address"`
	Namespace  string `yaml:"namespace"`
	UIURL      string `yaml:"ui_url"`
	Codec      bool   `yaml:"codec"`
}

type ingressView struct {
	Addr           string   `yaml:"addr"`
	PublicURL      string   `yaml:"public_url"`
	TrustedProxies []string `yaml:"trusted_proxies"`
	Drain          string   `yaml:"drain"`
}

type adminView struct {
	Addr  string     `yaml:"addr"`
	URL   string     `yaml:"url"`
	Token *reference `yaml:"token,omitempty"`
}

type workView struct {
	Local      bool `yaml:"local"`
	LocalSlots int  `yaml:"local_slots"`
}

type source struct {
	Provider      string          `yaml:"provider"`
	Principals    []principalView `yaml:"principals"`
	Types         []string        `yaml:"types"`
	Fields        fieldsView      `yaml:"fields"`
	DefaultTenant string          `yaml:"default_tenant"`
	PersonalIDs   bool            `yaml:"personal_ids"`
	Limits        limitsView      `yaml:"limits"`
	Retention     string          `yaml:"retention"`
	Owner         string          `yaml:"owner"`
	SLO           string          `yaml:"slo"`
	Reviewed      string          `yaml:"reviewed"`
}

type principalView struct {
	Name        string           `yaml:"name"`
	Tenants     []string         `yaml:"tenants"`
	Credentials []credentialView `yaml:"credentials"`
}

type credentialView struct {
	Version string    `yaml:"version"`
	Secret  reference `yaml:"secret"`
	Expires string    `yaml:"expires,omitempty"`
}

type fieldsView struct {
	Required []string `yaml:"required"`
	Subject  string   `yaml:"subject"`
}

type limitsView struct {
	Body  string  `yaml:"body"`
	Rate  float64 `yaml:"rate"`
	Burst int     `yaml:"burst,omitempty"`
}

func (c *Config) view() view {
	v := view{
		Version:   c.Version,
		Database:  c.referencesOf("database", "url", RoleIngress, RoleWork, RoleAdmin, RoleMigrate),
		Temporal:  temporalView(c.Temporal),
		Keys:      c.referencesOf("keys", "identity", "keyset"),
		Ingress:   ingressView{Addr: c.Ingress.Addr, PublicURL: c.Ingress.PublicURL, TrustedProxies: []string{}, Drain: c.Ingress.Drain.String()},
		Admin:     adminView{Addr: c.Admin.Addr, URL: c.Admin.URL},
		Work:      workView(c.Work),
		Egress:    c.egressView(),
		Telemetry: telemetryView(c.Telemetry),
		Log:       viewLog(c.Log),
		Retention: c.retentionView(),
		Sources:   map[string]source{},
	}
	v.Destinations = c.destinationViews()
	for _, p := range c.Ingress.TrustedProxies {
		v.Ingress.TrustedProxies = append(v.Ingress.TrustedProxies, p.String())
	}
	if ref, ok := c.references["admin.token"]; ok {
		v.Admin.Token = &ref
	}
	for _, s := range c.Sources {
		v.Sources[s.Name] = c.sourceView(s)
	}
	return v
}

func (c *Config) referencesOf(section string, keys ...string) map[string]reference {
	out := map[string]reference{}
	for _, key := range keys {
		if ref, ok := c.references[section+"."+key]; ok {
			out[key] = ref
		}
	}
	return out
}

func (c *Config) sourceView(s Source) source {
	v := source{
		Provider:      s.Provider,
		Types:         s.Types,
		Fields:        fieldsView{Required: append([]string{}, s.Fields.Required...), Subject: s.Fields.Subject},
		DefaultTenant: s.DefaultTenant,
		PersonalIDs:   s.PersonalIDs,
		Limits:        limitsView{Body: formatSize(s.Limits.Body), Rate: s.Limits.Rate, Burst: s.Limits.Burst},
		Retention:     s.Retention,
		Owner:         s.Owner,
		SLO:           s.SLO,
		Reviewed:      s.Reviewed,
	}
	for k, p := range s.Principals {
		pv := principalView{Name: p.Name, Tenants: slices.Clone(p.Tenants)}
		for n, cr := range p.Credentials {
			pv.Credentials = append(pv.Credentials, c.credentialView(credentialPath(s.Name, k, n), cr))
		}
		v.Principals = append(v.Principals, pv)
	}
	return v
}

func (c *Config) credentialView(path string, cr oncehook.Credential) credentialView {
	v := credentialView{Version: cr.Version, Secret: c.references[path]}
	if !cr.Expires.IsZero() {
		v.Expires = cr.Expires.Format(credentialExpiry)
	}
	return v
}

// credentialPath is the dotted path of a credential's secret.
func credentialPath(source string, principal, credential int) string {
	return fmt.Sprintf("sources.%s.principals[%d].credentials[%d].secret", printable(source), principal, credential)
}
