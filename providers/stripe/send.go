package stripe

import (
	"embed"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/sample"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

//go:embed samples/*.json
var samples embed.FS

// Samples returns the event types that Compose has an example of.
func (*Provider) Samples() []string { return sample.Names(samples) }

// Envelopes of types without an example.
const (
	envelopeSnapshot = `{"id":"","object":"event","api_version":"2026-07-29.dahlia","created":1796030998,
		"data":{"object":{"id":"","object":""}},"livemode":false,"pending_webhooks":1,"request":{"id":null,"idempotency_key":null},"type":""}`
	envelopeThin = `{"id":"","object":"v2.core.event","type":"","created":"2026-11-30T09:29:58.000Z","livemode":false,"context":null,
		"related_object":{"id":"","type":"","url":""},"reason":null}`
)

// Compose makes a body from the type's example. Its times are fixed, so that the same
// draft gives the same event whenever it is sent. Set takes paths such as data.object.id.
func (*Provider) Compose(d oncehook.Draft) ([]byte, error) {
	changes := []sample.Change{{Path: "id", Value: strictjson.Quote(d.ID)}, {Path: "type", Value: strictjson.Quote(d.Type)}}
	tenant := "account"
	body, ok := sample.Load(samples, d.Type)
	if isThin(d.Type) {
		tenant = "context"
	}
	if !ok {
		var more []sample.Change
		body, more = envelope(d.Type)
		changes = append(changes, more...)
	}
	if d.Tenant != "" {
		changes = append(changes, sample.Change{Path: tenant, Value: strictjson.Quote(d.Tenant)})
	}
	return sample.Apply(body, changes, d.Set)
}

// isThin reports whether events of the type are thin: their names begin with the
// version of the API that makes them.
func isThin(eventType string) bool {
	return strings.HasPrefix(eventType, "v1.") || strings.HasPrefix(eventType, "v2.")
}

// envelope names the resource after the type: customer.tax_id.updated is about a tax_id.
func envelope(eventType string) ([]byte, []sample.Change) {
	words := strings.Split(eventType, ".")
	resource := words[max(0, len(words)-2)]
	id := strictjson.Quote(resource + "_demo_1")
	if isThin(eventType) {
		kind := strings.Join(words[:len(words)-1], ".")
		return []byte(envelopeThin), []sample.Change{
			{Path: "related_object.id", Value: id},
			{Path: "related_object.type", Value: strictjson.Quote(kind)},
			{Path: "related_object.url", Value: strictjson.Quote("/" + words[0] + "/" + resource + "s/" + resource + "_demo_1")},
		}
	}
	return []byte(envelopeSnapshot), []sample.Change{
		{Path: "data.object.id", Value: id},
		{Path: "data.object.object", Value: strictjson.Quote(resource)},
	}
}

// Sign signs for the draft's time.
func (*Provider) Sign(body []byte, d oncehook.Draft, c oncehook.Credential) (http.Header, error) {
	secret, err := parseSecret(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("the secret of version %q %w", c.Version, err)
	}
	timestamp := strconv.FormatInt(d.Now.Unix(), 10)
	return http.Header{
		"Content-Type":  {"application/json; charset=utf-8"},
		headerSignature: {itemTime + "=" + timestamp + "," + itemSignature + "=" + signature(secret, timestamp, body)},
	}, nil
}
