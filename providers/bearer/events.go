package bearer

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
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
		return missing(fieldID)
	case len(e.ID) > oncehook.MaxEventID:
		return &oncehook.Refusal{Code: oncehook.CodeIDTooLong, Field: fieldID, Detail: "the field id is longer than 1000 bytes"}
	case e.Type == "":
		return missing(fieldType)
	case len(e.Type) > maxType:
		return invalid(fieldType, "is longer than 255 bytes")
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
	t, ok := parseInstant(text)
	if !ok {
		return nil, invalid(fieldOccurredAt, "must be an RFC 3339 time with at most nine decimals")
	}
	e.OccurredAt = t
	return strictjson.Quote(t.Format(time.RFC3339Nano)), nil
}

// instant is the form of RFC 3339, which time.Parse alone does not insist on, with
// no more decimals than a time.Time keeps.
var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func parseInstant(text string) (time.Time, bool) {
	text = strings.ToUpper(text)
	if !instant.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	return t, err == nil && !t.IsZero() && t.Year() >= 1 && t.Year() <= 9999
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
			return nil, missing(name)
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
		return "", invalid(name, "must be a string or a number, since it names the event's subject")
	}
	if len(text) > maxSubject {
		return "", invalid(name, "is longer than 1000 bytes")
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
	var b bytes.Buffer
	for _, m := range append(members, fields...) {
		if m.raw == nil {
			continue
		}
		separator := byte(',')
		if b.Len() == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		b.Write(strictjson.Quote(m.name))
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func missing(field string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldMissing, Field: field, Detail: "the field " + field + " is missing or empty"}
}

func invalid(field, detail string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldInvalid, Field: field, Detail: "the field " + field + " " + detail}
}
