package standardwebhooks

import (
	"crypto/ed25519"
	"embed"
	"encoding/base64"
	"errors"
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

// envelope is the specification's form, for types without an example.
const envelope = `{"type":"","timestamp":"2026-11-30T09:30:00Z","data":{"id":"demo-1"}}`

// Compose makes a body from the type's example. Its times are fixed, so that the same
// draft gives the same event whenever it is sent. Set takes paths such as data.id.
func (*Provider) Compose(d oncehook.Draft) ([]byte, error) {
	body, ok := sample.Load(samples, d.Type)
	if !ok {
		body = []byte(envelope)
	}
	changes := []sample.Change{{Path: fieldType, Value: strictjson.Quote(d.Type)}}
	if d.Tenant != "" {
		changes = append(changes, sample.Change{Path: fieldTenant, Value: strictjson.Quote(d.Tenant)})
	}
	return sample.Apply(body, changes, d.Set)
}

// Sign signs for the draft's id and time, with a whsec_ secret or, as only a sender
// can, a whsk_ key.
func (*Provider) Sign(body []byte, d oncehook.Draft, c oncehook.Credential) (http.Header, error) {
	if d.ID == "" || !isID(d.ID) {
		return nil, errors.New("an id is visible ASCII without a dot")
	}
	timestamp := strconv.FormatInt(d.Now.Unix(), 10)
	value, err := sign(c.Secret, signedContent(d.ID, timestamp, body))
	if err != nil {
		return nil, fmt.Errorf("the secret of version %q %w", c.Version, err)
	}
	return http.Header{
		"Content-Type":  {"application/json"},
		headerID:        {d.ID},
		headerTimestamp: {timestamp},
		headerSignature: {value},
	}, nil
}

func sign(secret oncehook.Secret, signed []byte) (string, error) {
	if strings.HasPrefix(string(secret), prefixPrivate) {
		private, err := parsePrivate(string(secret))
		if err != nil {
			return "", err
		}
		return versionEd25519 + "," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, signed)), nil
	}
	k, err := parseKey(secret)
	if err != nil {
		return "", err
	}
	if k.secret == nil {
		return "", errors.New("is a public key, which signs nothing")
	}
	return versionHMAC + "," + base64.StdEncoding.EncodeToString(k.sum(signed)), nil
}
