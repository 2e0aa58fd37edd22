package stripe

import (
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/instant"
	"github.com/oncehook/oncehook/providers/internal/refuse"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Values of the member object: a snapshot holds the resource as it was, a thin
// event only names it.
const (
	objectSnapshot = "event"
	objectThin     = "v2.core.event"
)

// Length limits, in bytes.
const (
	maxWord    = 255
	maxSubject = 1000
)

// shape is how one kind of body is read.
type shape struct {
	tenant string
	// compared are the members that a second copy must repeat. Stripe renders the
	// data once, when the event is made. Outside are pending_webhooks, which counts
	// down with deliveries; request and reason, which tell who caused the event; and
	// api_version, which shows in the data where it matters.
	compared []string
	time     func(*strictjson.Object) (time.Time, error)
	subject  func(*strictjson.Object) (string, error)
}

func shapeOf(object string) (shape, bool) {
	switch object {
	case objectSnapshot:
		return shape{"account", []string{"account", "context", "created", "data", "livemode"}, unixTime, dataObjectID}, true
	case objectThin:
		return shape{"context", []string{"changes", "context", "data", "livemode", "related_object", "snapshot_event"}, rfc3339Time, relatedObjectID}, true
	default:
		return shape{}, false
	}
}

// Events reads the request's one event.
func (*Provider) Events(r oncehook.Request, _ oncehook.Proof) ([]oncehook.Item, error) {
	object, err := strictjson.Parse(r.Body)
	if err != nil {
		return nil, err
	}
	kind, err := object.Needed("object", maxWord)
	if err != nil {
		return nil, err
	}
	s, ok := shapeOf(kind)
	if !ok {
		return nil, refuse.Invalid("object", "is neither event nor v2.core.event")
	}
	e, err := s.read(object)
	if err != nil {
		return nil, err
	}
	e.Body = r.Body
	return []oncehook.Item{{Event: e}}, nil
}

func (s shape) read(object *strictjson.Object) (oncehook.Event, error) {
	var e oncehook.Event
	var err error
	if e.ID, err = object.Text("id"); err != nil {
		return e, err
	}
	switch {
	case e.ID == "":
		return e, refuse.Missing("id")
	case len(e.ID) > oncehook.MaxEventID:
		return e, refuse.IDTooLong("id")
	}
	if e.Type, err = object.Needed("type", maxWord); err != nil {
		return e, err
	}
	if e.Tenant, err = object.Text(s.tenant); err != nil {
		return e, err
	}
	if e.OccurredAt, err = s.time(object); err != nil {
		return e, err
	}
	if e.Subject, err = s.subject(object); err != nil {
		return e, err
	}
	if e.Compared, err = s.compare(object, e); err != nil {
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

func (s shape) compare(object *strictjson.Object, e oncehook.Event) ([]byte, error) {
	var w strictjson.Writer
	w.Text("type", e.Type)
	if !e.OccurredAt.IsZero() {
		w.Text("occurred_at", e.OccurredAt.Format(time.RFC3339Nano))
	}
	for _, name := range s.compared {
		raw, err := object.Raw(name)
		if err != nil {
			return nil, err
		}
		w.Raw(name, raw)
	}
	return w.Bytes(), nil
}

func unixTime(object *strictjson.Object) (time.Time, error) {
	digits, err := object.Digits("created")
	if err != nil || digits == "" {
		return time.Time{}, err
	}
	t, ok := instant.ParseUnix(digits)
	if !ok {
		return time.Time{}, refuse.Invalid("created", "must be a time in unix seconds")
	}
	return t, nil
}

func rfc3339Time(object *strictjson.Object) (time.Time, error) {
	text, err := object.Text("created")
	if err != nil || text == "" {
		return time.Time{}, err
	}
	t, ok := instant.Parse(text)
	if !ok {
		return time.Time{}, refuse.Invalid("created", "must be an RFC 3339 time")
	}
	return t, nil
}

// dataObjectID is the id of the snapshot's resource; some have none.
func dataObjectID(object *strictjson.Object) (string, error) {
	data, err := object.Child("data")
	if err != nil || data == nil {
		return "", err
	}
	resource, err := data.Child("object")
	if err != nil || resource == nil {
		return "", err
	}
	return resource.Loose("id", maxSubject), nil
}

func relatedObjectID(object *strictjson.Object) (string, error) {
	related, err := object.Child("related_object")
	if err != nil || related == nil {
		return "", err
	}
	return related.Loose("id", maxSubject), nil
}
