package standardwebhooks

import (
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/instant"
	"github.com/oncehook/oncehook/providers/internal/refuse"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Members of the body that are read. The specification advises type, timestamp and
// data; tenant is ours, for senders of one's own.
const (
	fieldTenant    = "tenant"
	fieldType      = "type"
	fieldTimestamp = "timestamp"
	fieldData      = "data"
	fieldDataID    = "id"
)

// Length limits, in bytes.
const (
	maxType    = 255
	maxSubject = 1000
)

// Events reads the request's one event. Its id is the signed webhook-id, the same on
// every retry; the whole body is compared.
func (*Provider) Events(r oncehook.Request, _ oncehook.Proof) ([]oncehook.Item, error) {
	id := r.Header.Get(headerID)
	switch {
	case id == "" || !isID(id):
		return nil, refuse.Missing("webhook-id")
	case len(id) > oncehook.MaxEventID:
		return nil, refuse.IDTooLong("webhook-id")
	}
	object, err := strictjson.Parse(r.Body)
	if err != nil {
		return nil, err
	}
	e := oncehook.Event{ID: id, Body: r.Body}
	if e.Type, err = object.Needed(fieldType, maxType); err != nil {
		return nil, err
	}
	if e.Tenant, err = object.Text(fieldTenant); err != nil {
		return nil, err
	}
	if e.Compared, err = compared(object, &e); err != nil {
		return nil, err
	}
	e.Subject = subject(object)
	if e.OccurredAt.IsZero() {
		e.Flags = append(e.Flags, oncehook.FlagUnordered)
	}
	if object.DuplicateNames {
		e.Flags = append(e.Flags, oncehook.FlagDuplicateNames)
	}
	return []oncehook.Item{{Event: e}}, nil
}

// compared is the body with its time as a UTC instant, which it reads into e. A time
// of another form is compared as it stands.
func compared(object *strictjson.Object, e *oncehook.Event) ([]byte, error) {
	members, err := object.Members()
	if err != nil {
		return nil, err
	}
	timestamp, err := object.Raw(fieldTimestamp)
	if err != nil {
		return nil, err
	}
	if t, ok := instant.Parse(object.Loose(fieldTimestamp, maxType)); ok {
		e.OccurredAt = t
		timestamp = strictjson.Quote(t.Format(time.RFC3339Nano))
	}
	var w strictjson.Writer
	for name, value := range members {
		if name == fieldTimestamp {
			value = timestamp
		}
		w.Raw(name, value)
	}
	return w.Bytes(), nil
}

// subject is data.id, where data is an object that has one.
func subject(object *strictjson.Object) string {
	data, err := object.Child(fieldData)
	if err != nil || data == nil {
		return ""
	}
	return data.Loose(fieldDataID, maxSubject)
}
