package github

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/sample"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

//go:embed samples/*.json
var samples embed.FS

// Samples returns the event types that Compose has an example of.
func (*Provider) Samples() []string { return sample.Names(samples) }

// envelope holds what most events have, for those without an example.
const envelope = `{"repository":{"id":1296269,"name":"hello-world","full_name":"octo-demo/hello-world","private":false,
	"owner":{"login":"octo-demo","id":583231,"type":"Organization"},"html_url":"https://github.com/octo-demo/hello-world","default_branch":"main"},
	"sender":{"login":"octocat-demo","id":583232,"type":"User"}}`

// Compose makes a body from the type's example, such as pull_request.opened, or from
// another action's. The tenant has the form that events have: installation:ID,
// organization:ID or repository:ID; without one it is the example's. Set takes paths
// such as repository.id.
func (*Provider) Compose(d oncehook.Draft) ([]byte, error) {
	name, action, hasAction := strings.Cut(d.Type, ".")
	change := sample.Change{Path: "action"}
	if hasAction {
		change.Value = strictjson.Quote(action)
	}
	changes := []sample.Change{change}
	if d.Tenant != "" {
		written, err := tenant(d.Tenant)
		if err != nil {
			return nil, err
		}
		changes = append(changes, written...)
	}
	return sample.Apply(example(d.Type, name), changes, d.Set)
}

func example(eventType, name string) []byte {
	if body, ok := sample.Load(samples, eventType); ok {
		return body
	}
	for _, other := range sample.Names(samples) {
		if strings.HasPrefix(other, name+".") {
			if body, ok := sample.Load(samples, other); ok {
				return body
			}
		}
	}
	return []byte(envelope)
}

// tenant writes the id where it decides, and removes what would decide before it.
func tenant(name string) ([]sample.Change, error) {
	kind, id, _ := strings.Cut(name, ":")
	write := sample.Change{Path: kind + ".id", Value: []byte(id)}
	switch {
	case !isNumber(id):
	case kind == fieldInstallation:
		return []sample.Change{write}, nil
	case kind == fieldOrganization:
		return []sample.Change{{Path: fieldInstallation}, write}, nil
	case kind == fieldRepository:
		return []sample.Change{{Path: fieldInstallation}, {Path: fieldOrganization}, write}, nil
	}
	return nil, errors.New("a payload names its tenant as installation:ID, organization:ID or repository:ID")
}

func isNumber(text string) bool {
	return text != "" && len(text) < 20 && text[0] != '0' && strings.Trim(text, "0123456789") == ""
}

// Sign signs the body as JSON, with the headers of the draft's id and type.
func (*Provider) Sign(body []byte, d oncehook.Draft, c oncehook.Credential) (http.Header, error) {
	secret, err := parseSecret(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("the secret of version %q %w", c.Version, err)
	}
	name, _, _ := strings.Cut(d.Type, ".")
	if !eventNames.MatchString(name) {
		return nil, errors.New("a type is an event's name, and its action after a dot, such as pull_request.opened")
	}
	return http.Header{
		"Content-Type":  {mediaJSON},
		"User-Agent":    {"GitHub-Hookshot/oncehook"},
		headerDelivery:  {d.ID},
		headerEvent:     {name},
		headerSignature: {sign(secret, body)},
	}, nil
}
