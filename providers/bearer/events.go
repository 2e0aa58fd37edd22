package bearer

import (
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/instant"
	"github.com/oncehook/oncehook/providers/internal/refuse"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Length limits, in bytes, of what later becomes an index entry or a search attribute.
const (
	maxType    = 255
	maxSubject = 1000
)

// Events reads the request's one event.
func (p *Provider) Events(r oncehook.Request, _ oncehook.Proof) ([]oncehook.Item, error) {
	object, err := strictjson.Parse(r.Body)
	if err != nil {
		return nil, err
	}
	e, err := p.event(object)
	if err != nil {
		return nil, err
	}
	e.Body = r.Body
	return []oncehook.Item{{Event: e}}, nil
}

func (p *Provider) event(object *strictjson.Object) (oncehook.Event, error) {
	var e oncehook.Event
	var err error
	if e.ID, err = object.Text(fieldID); err != nil {
		return e, err
	}
	if e.Tenant, err = object.Text(fieldTenant); err != nil {
		return e, err
	}
	if e.Type, err = object.Text(fieldType); err != nil {
		return e, err
	}
	occurred, err := p.occurredAt(object, &e)
	if err != nil {
		return e, err
	}
	if err := checkIdentity(e); err != nil {
		return e, err
	}
	fields, err := p.requiredFields(object, &e)
	if err != nil {
		return e, err
	}
	if e.Compared, err = compared(object, e, occurred, fields); err != nil {
		return e, err
	}
	if e.OccurredAt.IsZero() {
		e.Flags = append(e.Flags, oncehook.FlagUnordered)
	}
	if object.DuplicateNames {
		e.Flags = append(e.Flags, oncehook.FlagDuplicateNames)
	}
	return e, nil
}

func checkIdentity(e oncehook.Event) error {
	switch {
	case e.ID == "":
		return refuse.Missing(fieldID)
	case len(e.ID) > oncehook.MaxEventID:
		return refuse.IDTooLong(fieldID)
	case e.Type == "":
		return refuse.Missing(fieldType)
	case len(e.Type) > maxType:
		return refuse.Invalid(fieldType, "is longer than 255 bytes")
	}
	return nil
}

// occurredAt reads the time into e and returns it as it is compared: as a UTC
// instant, null when it is null, and nothing when it is absent.
func (*Provider) occurredAt(object *strictjson.Object, e *oncehook.Event) ([]byte, error) {
	raw, err := object.Raw(fieldOccurredAt)
	if err != nil || raw == nil || strictjson.IsNull(raw) {
		return raw, err
	}
	text, err := object.Text(fieldOccurredAt)
	if err != nil {
		return nil, err
	}
	t, ok := instant.Parse(text)
	if !ok {
		return nil, refuse.Invalid(fieldOccurredAt, "must be an RFC 3339 time with at most nine decimals")
	}
	e.OccurredAt = t
	return strictjson.Quote(t.Format(time.RFC3339Nano)), nil
}

// requiredFields returns the values of the required fields as sent, and reads the subject.
func (p *Provider) requiredFields(object *strictjson.Object, e *oncehook.Event) ([]field, error) {
	fields := make([]field, 0, len(p.required))
	for _, name := range p.required {
		raw, err := object.Raw(name)
		if err != nil {
			return nil, err
		}
		if strictjson.IsEmpty(raw) {
			return nil, refuse.Missing(name)
		}
		if name == p.subject {
			if e.Subject, err = subject(name, raw); err != nil {
				return nil, err
			}
		}
		fields = append(fields, field{name, raw})
	}
	return fields, nil
}

func subject(name string, raw []byte) (string, error) {
	text := string(raw)
	switch raw[0] {
	case '"':
		var err error
		if text, err = strictjson.Unquote(name, raw); err != nil {
			return "", err
		}
	case '{', '[', 't', 'f':
		return "", refuse.Invalid(name, "must be a string or a number, since it names the event's subject")
	}
	if len(text) > maxSubject {
		return "", refuse.Invalid(name, "is longer than 1000 bytes")
	}
	return text, nil
}

type field struct {
	name string
	raw  []byte
}

// compared builds the JSON object that a second copy of the event must repeat.
func compared(object *strictjson.Object, e oncehook.Event, occurred []byte, fields []field) ([]byte, error) {
	tenant, err := object.Raw(fieldTenant)
	if err != nil {
		return nil, err
	}
	if e.Tenant != "" {
		tenant = strictjson.Quote(e.Tenant)
	}
	members := []field{{fieldTenant, tenant}, {fieldType, strictjson.Quote(e.Type)}, {fieldOccurredAt, occurred}}
	var w strictjson.Writer
	for _, m := range append(members, fields...) {
		w.Raw(m.name, m.raw)
	}
	return w.Bytes(), nil
}
