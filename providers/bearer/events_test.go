package bearer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/bearer"
)

const sound = `{"id":"e1","tenant":"north","type":"arrival","shipment_id":"s1","depot_id":"d1","occurred_at":"2026-01-02T03:04:05.123456789+02:00","note":"free"}`

// with replaces one passage of the sound body.
func with(from, to string) string { return strings.Replace(sound, from, to, 1) }

func events(t *testing.T, body string) (oncehook.Event, error) {
	t.Helper()
	items, err := provider(t).Events(request(nil, body), oncehook.Proof{})
	if err != nil {
		return oncehook.Event{}, err
	}
	require.Len(t, items, 1)
	require.Nil(t, items[0].Refusal)
	return items[0].Event, nil
}

func TestABodyIsOneEvent(t *testing.T) {
	e, err := events(t, sound)
	require.NoError(t, err)
	require.Equal(t, oncehook.Event{
		ID: "e1", Tenant: "north", Type: "arrival", Subject: "s1",
		OccurredAt: time.Date(2026, 1, 2, 1, 4, 5, 123456789, time.UTC),
		Compared:   []byte(`{"tenant":"north","type":"arrival","occurred_at":"2026-01-02T01:04:05.123456789Z","depot_id":"d1","shipment_id":"s1"}`),
		Body:       []byte(sound),
	}, e)
}

func TestRefusalsNameTheFieldAndNothingOfTheBody(t *testing.T) {
	const inside = "private-content"
	for name, c := range map[string]struct {
		body  string
		code  oncehook.Code
		field string
	}{
		"no id":                   {with(`"id":"e1",`, ""), oncehook.CodeFieldMissing, "id"},
		"empty id":                {with(`"e1"`, `""`), oncehook.CodeFieldMissing, "id"},
		"null id":                 {with(`"e1"`, `null`), oncehook.CodeFieldMissing, "id"},
		"number id":               {with(`"e1"`, `1152921506151679042`), oncehook.CodeFieldInvalid, "id"},
		"id with NUL":             {with(`"e1"`, `"private-content\u0000"`), oncehook.CodeFieldInvalid, "id"},
		"id with lone surrogate":  {with(`"e1"`, `"private-content\udfff"`), oncehook.CodeFieldInvalid, "id"},
		"id too long":             {with("e1", strings.Repeat("é", 500)+"x"), oncehook.CodeIDTooLong, "id"},
		"id twice":                {with(`"id"`, `"id":"private-content","id"`), oncehook.CodeFieldAmbiguous, "id"},
		"id twice by escape":      {with(`"id"`, `"\u0069d":"private-content","id"`), oncehook.CodeFieldAmbiguous, "id"},
		"id by case":              {with(`"id"`, `"Id":"private-content","id"`), oncehook.CodeFieldAmbiguous, "id"},
		"tenant by case alone":    {with(`"tenant"`, `"TENANT"`), oncehook.CodeFieldAmbiguous, "tenant"},
		"occurred_at by case":     {with(`"occurred_at"`, `"Occurred_At"`), oncehook.CodeFieldAmbiguous, "occurred_at"},
		"required by case":        {with(`"depot_id"`, `"Depot_ID":1,"depot_id"`), oncehook.CodeFieldAmbiguous, "depot_id"},
		"required twice":          {with(`"depot_id"`, `"depot_id":1,"depot_id"`), oncehook.CodeFieldAmbiguous, "depot_id"},
		"no type":                 {with(`"type":"arrival",`, ""), oncehook.CodeFieldMissing, "type"},
		"object type":             {with(`"arrival"`, `{"private-content":1}`), oncehook.CodeFieldInvalid, "type"},
		"long type":               {with("arrival", strings.Repeat("x", 256)), oncehook.CodeFieldInvalid, "type"},
		"number tenant":           {with(`"north"`, "7"), oncehook.CodeFieldInvalid, "tenant"},
		"required absent":         {with(`"depot_id":"d1",`, ""), oncehook.CodeFieldMissing, "depot_id"},
		"required null":           {with(`"d1"`, "null"), oncehook.CodeFieldMissing, "depot_id"},
		"required empty":          {with(`"d1"`, `""`), oncehook.CodeFieldMissing, "depot_id"},
		"subject object":          {with(`"s1"`, `["private-content"]`), oncehook.CodeFieldInvalid, "shipment_id"},
		"subject true":            {with(`"s1"`, `true`), oncehook.CodeFieldInvalid, "shipment_id"},
		"subject with NUL":        {with(`"s1"`, `"\u0000"`), oncehook.CodeFieldInvalid, "shipment_id"},
		"subject with surrogate":  {with(`"s1"`, `"\ud800"`), oncehook.CodeFieldInvalid, "shipment_id"},
		"subject too long":        {with(`"s1"`, `"`+strings.Repeat("x", 1001)+`"`), oncehook.CodeFieldInvalid, "shipment_id"},
		"time is no time":         {with("2026-01-02T03:04:05.123456789+02:00", "private-content"), oncehook.CodeFieldInvalid, "occurred_at"},
		"time with a comma":       {with(".123456789", ",5"), oncehook.CodeFieldInvalid, "occurred_at"},
		"time without zone":       {with("+02:00", ""), oncehook.CodeFieldInvalid, "occurred_at"},
		"time of one-digit hour":  {with("T03:", "T3:"), oncehook.CodeFieldInvalid, "occurred_at"},
		"time finer than kept":    {with("456789", "4567891"), oncehook.CodeFieldInvalid, "occurred_at"},
		"time is a number":        {with(`"2026-01-02T03:04:05.123456789+02:00"`, "1767323045"), oncehook.CodeFieldInvalid, "occurred_at"},
		"time is empty":           {with("2026-01-02T03:04:05.123456789+02:00", ""), oncehook.CodeFieldInvalid, "occurred_at"},
		"time is the zero time":   {with("2026-01-02T03:04:05.123456789+02:00", "0001-01-01T00:00:00Z"), oncehook.CodeFieldInvalid, "occurred_at"},
		"not JSON":                {`{"id":private-content}`, oncehook.CodeMalformedJSON, ""},
		"invalid UTF-8":           {with("free", "\xff"), oncehook.CodeMalformedJSON, ""},
		"an array of good events": {"[" + sound + "]", oncehook.CodeMalformedJSON, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := events(t, c.body)
			refusal, ok := errors.AsType[*oncehook.Refusal](err)
			require.True(t, ok)
			require.Equal(t, c.code, refusal.Code)
			require.Equal(t, c.field, refusal.Field)
			require.Contains(t, refusal.Detail, c.field)
			require.NotContains(t, refusal.Error(), inside)
		})
	}
}

func TestWhatTheContractAllowsIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		check func(*testing.T, oncehook.Event)
	}{
		"no tenant":        {with(`"tenant":"north",`, ""), func(t *testing.T, e oncehook.Event) { require.Empty(t, e.Tenant) }},
		"null tenant":      {with(`"north"`, "null"), func(t *testing.T, e oncehook.Event) { require.Empty(t, e.Tenant) }},
		"id of 1000 bytes": {with("e1", strings.Repeat("é", 500)), func(t *testing.T, e oncehook.Event) { require.Len(t, e.ID, 1000) }},
		"surrogate pair":   {with("e1", `\ud83d\ude00`), func(t *testing.T, e oncehook.Event) { require.Equal(t, "😀", e.ID) }},
		"lower-case time": {with("T03:04:05.123456789+02:00", "t03:04:05z"), func(t *testing.T, e oncehook.Event) {
			require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), e.OccurredAt)
		}},
		"number as subject": {with(`"s1"`, "820982911946154508"), func(t *testing.T, e oncehook.Event) {
			require.Equal(t, "820982911946154508", e.Subject)
			require.Contains(t, string(e.Compared), `"shipment_id":820982911946154508`)
		}},
		"NUL and surrogate elsewhere": {with("free", `\u0000\ud800`), func(t *testing.T, e oncehook.Event) { require.Empty(t, e.Flags) }},
		"NUL in a required field":     {with("d1", `\u0000`), func(t *testing.T, e oncehook.Event) { require.Contains(t, string(e.Compared), `\u0000`) }},
		"no time": {with(`"occurred_at":"2026-01-02T03:04:05.123456789+02:00",`, ""), func(t *testing.T, e oncehook.Event) {
			require.True(t, e.OccurredAt.IsZero())
			require.Equal(t, []string{oncehook.FlagUnordered}, e.Flags)
			require.NotContains(t, string(e.Compared), "occurred_at")
		}},
		"null time": {with(`"2026-01-02T03:04:05.123456789+02:00"`, "null"), func(t *testing.T, e oncehook.Event) {
			require.Equal(t, []string{oncehook.FlagUnordered}, e.Flags)
			require.Contains(t, string(e.Compared), `"occurred_at":null`)
		}},
		"repeated names elsewhere": {with(`"note"`, `"note":1,"note"`), func(t *testing.T, e oncehook.Event) {
			require.Equal(t, []string{oncehook.FlagDuplicateNames}, e.Flags)
		}},
		"repeated names deep": {with(`"free"`, `[{"a":1,"a":2}]`), func(t *testing.T, e oncehook.Event) {
			require.Equal(t, []string{oncehook.FlagDuplicateNames}, e.Flags)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := events(t, c.body)
			require.NoError(t, err)
			require.Equal(t, c.body, string(e.Body))
			c.check(t, e)
		})
	}
}

func TestWhatIsOutsideTheFingerprintIsNotCompared(t *testing.T) {
	e, err := events(t, sound)
	require.NoError(t, err)
	for name, body := range map[string]string{
		"an added field":      with(`"note"`, `"more":1,"note"`),
		"another free field":  with("free", "other"),
		"another offset":      with("T03:04:05.123456789+02:00", "T01:04:05.123456789Z"),
		"white space, escape": " " + with(`"north"`, `"nort\u0068" `),
	} {
		again, err := events(t, body)
		require.NoError(t, err, name)
		require.Equal(t, string(e.Compared), string(again.Compared), name)
	}
}

func TestTheOrderOfRequiredFieldsInTheConfigurationIsNotCompared(t *testing.T) {
	s := source()
	s.Fields.Required = []string{"depot_id", "shipment_id"}
	p, err := bearer.New(s)
	require.NoError(t, err)
	items, err := p.Events(request(nil, sound), oncehook.Proof{})
	require.NoError(t, err)
	e, err := events(t, sound)
	require.NoError(t, err)
	require.Equal(t, e.Compared, items[0].Event.Compared)
}

func TestComposeFillsSamplesAndSetWins(t *testing.T) {
	p := provider(t)
	body, err := p.Compose(oncehook.Draft{ID: "e1", Tenant: "north", Type: "arrival"})
	require.NoError(t, err)
	require.Equal(t, `{"id":"e1","tenant":"north","type":"arrival","depot_id":"depot-demo-1","shipment_id":"shipment-demo-1"}`, string(body))

	body, err = p.Compose(oncehook.Draft{ID: "e1", Type: "arrival", Set: map[string]string{"depot_id": `d"7`, "occurred_at": "2026-01-02T03:04:05Z", "a": "b"}})
	require.NoError(t, err)
	require.Equal(t, `{"id":"e1","type":"arrival","depot_id":"d\"7","shipment_id":"shipment-demo-1","a":"b","occurred_at":"2026-01-02T03:04:05Z"}`, string(body))
}
