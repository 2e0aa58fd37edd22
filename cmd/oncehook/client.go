package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/admin/page"
	"github.com/oncehook/oncehook/internal/config"
)

const adminTimeout = 30 * time.Second

// adminClient asks the admin API that the configuration names.
type adminClient struct {
	api      *api.ClientWithResponses
	url      string
	settings *config.Config
}

// knowsSource returns an error that lists the sources when the configuration has
// some and not this one. It is asked where nothing was found: events of a source
// that was removed can still be looked at.
func (c *adminClient) knowsSource(name string) error {
	if _, ok := c.settings.Source(name); ok || len(c.settings.Sources) == 0 {
		return nil
	}
	return noSource(c.settings, name)
}

func (p *program) adminClient() (*adminClient, error) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, err
	}
	if len(c.Admin.Token) == 0 {
		return nil, fmt.Errorf("%s: admin.token is missing: set it to {file: PATH} or {env: NAME} of an operator's token", c.File)
	}
	base := adminURL(c)
	client, err := api.NewClientWithResponses(base, api.WithHTTPClient(&http.Client{Timeout: adminTimeout}),
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+string(c.Admin.Token))
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("admin API: %w", err)
	}
	return &adminClient{api: client, url: base, settings: c}, nil
}

// event returns a client and the receipt id of the one event that q finds.
func (p *program) event(ctx context.Context, q string) (*adminClient, uuid.UUID, error) {
	client, err := p.adminClient()
	if err != nil {
		return nil, uuid.Nil, err
	}
	id, err := client.find(ctx, q)
	return client, id, err
}

// adminURL is where the admin API answers: admin.url, or its own listener.
func adminURL(c *config.Config) string {
	if c.Admin.URL != "" {
		return c.Admin.URL
	}
	return "http://" + reachable(c.Admin.Addr)
}

// reachable turns a listen address into one that can be called: a listener on
// every address is called on loopback.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// answer checks what came back. The expected answer is nil unless it was one.
func answer[T any](c *adminClient, expected *T, status int, body []byte) (*T, error) {
	if expected != nil {
		return expected, nil
	}
	var p api.Problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return nil, fmt.Errorf("%s answered %d and no problem document: is that the admin API?", c.url, status)
	}
	if status == http.StatusUnauthorized {
		return nil, fmt.Errorf("the admin API at %s does not know admin.token: run `oncehook migrate up` with this configuration, or name another token", c.url)
	}
	return nil, fmt.Errorf("the admin API answered %d %s: %s (correlation id %s)", status, p.Code, p.Detail, p.CorrelationId)
}

func (c *adminClient) unreachable(err error) error {
	return fmt.Errorf("the admin API at %s cannot be reached: %w; is `oncehook serve` or `oncehook dev` running?", c.url, cause(err))
}

// cause is the innermost error: the outer ones repeat the URL.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// find returns the one event that q names: by receipt id, correlation id, key or
// event id.
func (c *adminClient) find(ctx context.Context, q string) (uuid.UUID, error) {
	r, err := c.api.LookupEventsWithResponse(ctx, &api.LookupEventsParams{Q: q})
	if err != nil {
		return uuid.Nil, c.unreachable(err)
	}
	found, err := answer(c, r.JSON200, r.StatusCode(), r.Body)
	if err != nil {
		return uuid.Nil, err
	}
	switch len(found.Events) {
	case 0:
		return uuid.Nil, noEvent(q, found.Rejected)
	case 1:
		return found.Events[0].ReceiptId, nil
	}
	var list bytes.Buffer
	for _, e := range found.Events {
		fmt.Fprintf(&list, "\n  %s  %s", e.ReceiptId, e.EventKey)
	}
	more := ""
	if found.NextCursor != "" {
		more = " or more"
	}
	return uuid.Nil, usagef("%q fits %d%s events; name one by its receipt id:%s", q, len(found.Events), more, strings.TrimRight(list.String(), "\n"))
}

// noEvent says what q is, if it is no event's name.
func noEvent(q string, rejected []api.RejectedDelivery) error {
	if len(rejected) > 0 {
		r := rejected[0]
		field := ""
		if r.Field != nil {
			field = " (" + page.Clean(*r.Field) + ")"
		}
		return fmt.Errorf("no event, but a delivery to %s that was rejected: %s%s; show it: oncehook rejected show %s",
			page.Clean(r.Source), page.Clean(r.Code), field, r.Id)
	}
	if _, err := uuid.Parse(q); err == nil {
		return errors.New("no event and no rejected delivery has this id; refusals before authentication are counted, " +
			"and their lines are in the ingress's log; see the counts: oncehook refusals list")
	}
	return fmt.Errorf("no event %q: give an event id, an event key, a receipt id or a correlation id", q)
}
