package github

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/credential"
	"github.com/oncehook/oncehook/providers/internal/refuse"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Length limits, in bytes.
const (
	maxAction  = 100
	maxSubject = 1000
)

// Events reads the request's one event. Its id is the delivery's GUID and its type
// the event's name with the action, such as pull_request.opened. The body that is
// kept is the JSON, also where it came in a form.
func (*Provider) Events(r oncehook.Request, _ oncehook.Proof) ([]oncehook.Item, error) {
	id, err := deliveryID(r)
	if err != nil {
		return nil, err
	}
	name, err := eventName(r)
	if err != nil {
		return nil, err
	}
	body, err := payload(r)
	if err != nil {
		return nil, err
	}
	object, err := strictjson.Parse(body)
	if err != nil {
		return nil, err
	}
	e := oncehook.Event{ID: id, Type: name, Body: body}
	action, err := object.Text("action")
	if err != nil {
		return nil, err
	}
	if len(action) > maxAction {
		return nil, refuse.Invalid("action", "is too long")
	}
	if action != "" {
		e.Type += "." + action
	}
	from, err := readOrigin(object)
	if err != nil {
		return nil, err
	}
	e.Tenant = from.tenant()
	if e.Compared, err = compared(object, name, from); err != nil {
		return nil, err
	}
	e.Subject = subject(object)
	e.OccurredAt = occurredAt(object)
	if e.OccurredAt.IsZero() {
		e.Flags = append(e.Flags, oncehook.FlagUnordered)
	}
	if object.DuplicateNames {
		e.Flags = append(e.Flags, oncehook.FlagDuplicateNames)
	}
	return []oncehook.Item{{Event: e}}, nil
}

// deliveryID is the GUID, which names the event: it is the same on a redelivery.
func deliveryID(r oncehook.Request) (string, error) {
	const shown = "X-GitHub-Delivery"
	id, err := single(r, headerDelivery, shown)
	switch {
	case err != nil:
		return "", err
	case len(id) > oncehook.MaxEventID:
		return "", refuse.IDTooLong(shown)
	case !credential.IsVisible(id):
		return "", refuse.Invalid(shown, "must be visible ASCII")
	}
	return id, nil
}

var eventNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func eventName(r oncehook.Request) (string, error) {
	const shown = "X-GitHub-Event"
	name, err := single(r, headerEvent, shown)
	if err == nil && !eventNames.MatchString(name) {
		return "", refuse.Invalid(shown, "must be lower-case letters, digits and underscores")
	}
	return name, err
}

// single returns the value of a header that must be given once, under the name that
// GitHub shows.
func single(r oncehook.Request, header, shown string) (string, error) {
	switch values := r.Header.Values(header); {
	case len(values) > 1:
		return "", refuse.Ambiguous(shown, "is given more than once")
	case len(values) == 0 || values[0] == "":
		return "", refuse.Missing(shown)
	default:
		return values[0], nil
	}
}

const prefixForm = "payload="

// payload returns the JSON. Which of the two forms the body has is said by an unsigned
// header. A form must begin with its payload, as no JSON does: else text that somebody
// wrote into a JSON body, a comment of &payload=…&, could be presented as a form.
func payload(r oncehook.Request) ([]byte, error) {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), mediaForm) {
		return r.Body, nil
	}
	if !bytes.HasPrefix(r.Body, []byte(prefixForm)) {
		return nil, refuse.Missing("payload")
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return nil, &oncehook.Refusal{Code: oncehook.CodeMalformedJSON, Detail: "the body is not a well-formed form"}
	}
	switch values := form["payload"]; {
	case len(values) > 1:
		return nil, refuse.Ambiguous("payload", "is given more than once")
	case values[0] == "":
		return nil, refuse.Missing("payload")
	default:
		return []byte(values[0]), nil
	}
}
