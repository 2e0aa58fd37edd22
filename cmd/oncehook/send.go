package main

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin/page"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/providers"
	"github.com/oncehook/oncehook/workflows"
)

type sendCommand struct {
	output

	Source      string            `arg:"" help:"The source's name in the configuration."`
	Type        string            `arg:"" optional:"" help:"The event type, such as shipment.depot_arrival. Without one, lists those that there are samples of."`
	ID          string            `name:"id" placeholder:"ID" help:"The event id. Defaults to a new one."`
	Tenant      string            `placeholder:"NAME" help:"The tenant, as the provider names it: Stripe's account, GitHub's installation:ID. Defaults to the source's."`
	Set         map[string]string `mapsep:"none" placeholder:"FIELD=VALUE" help:"Set a field of the body, such as data.object.id=in_2 where the provider's bodies are nested. May be repeated."`
	Times       int               `default:"1" help:"How many copies to send."`
	Concurrency int               `default:"1" help:"How many copies at once."`
	Tamper      bool              `help:"Spoil the signature or credential, so that the ingress refuses it."`
	File        string            `placeholder:"FILE" help:"Send this file as the body, - for standard input, instead of a composed one."`
}

// The most that one command sends.
const (
	maxTimes       = 1_000_000
	maxConcurrency = 1000
	maxBodyFile    = 64 << 20
)

// shownAlone is up to how many answers have a line each.
const shownAlone = 5

// hint says beforehand that nothing will come of an event.
func (c *sendCommand) hint(p *program, source config.Source) {
	if c.Type == "" || c.File != "" {
		return
	}
	if _, ok := workflows.Catalog().Workflow(source.Provider, source.Name, c.Type); !ok {
		fmt.Fprintf(p.stderr, "oncehook: no workflow is routed for %s of %s: if it is accepted, it is recorded and ends ignored\n", page.Clean(c.Type), source.Name)
	}
}

// Run sends the copies, and fails unless each was accepted or a duplicate.
func (c *sendCommand) Run(ctx context.Context, p *program) error {
	if c.Times < 1 || c.Times > maxTimes {
		return usagef("--times %d: must be a number from 1 to %d", c.Times, maxTimes)
	}
	if c.Concurrency < 1 || c.Concurrency > maxConcurrency {
		return usagef("--concurrency %d: must be a number from 1 to %d", c.Concurrency, maxConcurrency)
	}
	settings, err := p.loadServed()
	if err != nil {
		return err
	}
	source, signer, err := signerOf(settings, c.Source)
	if err != nil {
		return err
	}
	if c.Type == "" && c.File == "" {
		return c.listSamples(p, source, signer)
	}
	delivery, err := c.prepare(p, settings, source, signer)
	if err != nil {
		return err
	}
	report := &sendReport{stdout: p.stdout, live: c.Output == "table", grouped: c.Times > shownAlone}
	c.hint(p, source)
	delivery.sendAll(ctx, c.Times, c.Concurrency, report.add)
	if err := c.write(p.stdout, report.document(), report.summary); err != nil {
		return err
	}
	return report.err()
}

// signerOf returns the source and the provider that makes its requests.
func signerOf(settings *config.Config, name string) (config.Source, oncehook.Signer, error) {
	source, ok := settings.Source(name)
	if !ok {
		return source, nil, noSource(settings, name)
	}
	provider, err := providers.New(source.Provider, oncehook.Source{Name: source.Name, Principals: source.Principals, Fields: source.Fields})
	if err != nil {
		return source, nil, err
	}
	signer, ok := provider.(oncehook.Signer)
	if !ok {
		return source, nil, fmt.Errorf("source %s: requests of provider %s cannot be made here: only the provider can sign them", source.Name, source.Provider)
	}
	return source, signer, nil
}

// prepare finds who sends, and composes the one body of all copies.
func (c *sendCommand) prepare(p *program, settings *config.Config, source config.Source, signer oncehook.Signer) (*delivery, error) {
	principal, tenant, err := sender(source, c.Tenant)
	if err != nil {
		return nil, err
	}
	credential, err := newestCredential(source.Name, principal)
	if err != nil {
		return nil, err
	}
	id := c.ID
	if id == "" {
		if id, err = freshID(time.Now()); err != nil {
			return nil, err
		}
	}
	draft := oncehook.Draft{ID: id, Tenant: tenant, Type: c.Type, Set: c.Set, Now: time.Now()}
	body, err := c.body(p, signer, draft, credential)
	if err != nil {
		return nil, err
	}
	return &delivery{
		url: hookURL(settings, source.Name), body: body, draft: draft, signer: signer, credential: credential, tamper: c.Tamper,
		client: newSendClient(c.Concurrency),
	}, nil
}

func (c *sendCommand) body(p *program, signer oncehook.Signer, draft oncehook.Draft, credential oncehook.Credential) ([]byte, error) {
	if c.File == "" {
		body, err := signer.Compose(draft)
		if err != nil {
			return nil, fmt.Errorf("compose the body: %w", err)
		}
		return body, nil
	}
	if c.Tenant != "" || len(c.Set) > 0 {
		return nil, usagef("--file is sent as it is: --tenant and --set have no place in it")
	}
	if c.ID != "" && !signsID(signer, draft, credential) {
		return nil, usagef("--file is sent as it is, and this provider's events have their id in it: --id has no place")
	}
	from := p.stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBodyFile))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	return body, nil
}

// signsID reports whether the provider writes the event's id into a header.
func signsID(signer oncehook.Signer, draft oncehook.Draft, credential oncehook.Credential) bool {
	header, err := signer.Sign(nil, draft, credential)
	if err != nil {
		return true // the delivery says why
	}
	for _, values := range header {
		if slices.Contains(values, draft.ID) {
			return true
		}
	}
	return false
}

// sender returns the principal that speaks for the tenant, and the tenant. When
// none is asked for, that is the source's first, or none where the source has a
// default. A tenant out of everybody's scope is sent as asked: its refusal is the
// point.
func sender(source config.Source, tenant string) (oncehook.Principal, string, error) {
	if len(source.Principals) == 0 {
		return oncehook.Principal{}, "", fmt.Errorf("source %s has no principal", source.Name)
	}
	first := source.Principals[0]
	if tenant != "" {
		for _, principal := range source.Principals {
			if (oncehook.Proof{Tenants: principal.Tenants}).MaySpeakFor(tenant) {
				return principal, tenant, nil
			}
		}
		return first, tenant, nil
	}
	if source.DefaultTenant != "" {
		for _, principal := range source.Principals {
			if (oncehook.Proof{Tenants: principal.Tenants}).MaySpeakFor(source.DefaultTenant) {
				return principal, "", nil
			}
		}
	}
	if len(first.Tenants) > 0 && first.Tenants[0] != oncehook.AllTenants {
		return first, first.Tenants[0], nil
	}
	return first, "dev", nil
}

// newestCredential returns the principal's last credential that has not expired.
func newestCredential(source string, principal oncehook.Principal) (oncehook.Credential, error) {
	for n := len(principal.Credentials) - 1; n >= 0; n-- {
		credential := principal.Credentials[n]
		if credential.Expires.IsZero() || time.Now().Before(credential.Expires) {
			return credential, nil
		}
	}
	return oncehook.Credential{}, fmt.Errorf("source %s: principal %s has no credential that is still valid", source, principal.Name)
}

// hookURL is where the source's provider sends to: the public URL, or the listener.
func hookURL(c *config.Config, source string) string {
	base := c.Ingress.PublicURL
	if base == "" {
		base = "http://" + reachable(c.Ingress.Addr)
	}
	return base + oncehook.HookPath + url.PathEscape(source)
}

// freshID makes an event id that people can tell apart and that never repeats.
func freshID(now time.Time) (string, error) {
	random := make([]byte, 5)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make an event id: %w", err)
	}
	return "event-" + now.UTC().Format("20060102-150405") + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(random)), nil
}

func noSource(c *config.Config, name string) error {
	names := make([]string, 0, len(c.Sources))
	for _, s := range c.Sources {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no sources", c.File)
	}
	return usagef("no source %q in %s; there are: %s", name, c.File, strings.Join(names, ", "))
}

var errRedirected = errors.New("the ingress redirects elsewhere")

func newSendClient(concurrency int) *http.Client {
	return &http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{MaxIdleConnsPerHost: concurrency, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirected },
	}
}
