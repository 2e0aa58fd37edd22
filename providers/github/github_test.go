package github_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

const opened = `{"action":"opened","number":42,"pull_request":{"id":1,"number":42,"updated_at":"2026-11-30T09:29:58Z"},` +
	`"repository":{"id":1296269,"full_name":"octo-demo/hello-world","stargazers_count":80,"updated_at":"2026-11-30T09:00:00Z"},` +
	`"organization":{"id":583231,"login":"octo-demo"},"installation":{"id":99},"sender":{"login":"octocat-demo","id":583232}}`

func subject() providertest.Subject {
	return providertest.Subject{
		Make:   build,
		Secret: func(n int) oncehook.Secret { return oncehook.Secret(strings.Repeat(string(rune('a'+n)), 20)) },
		Body:   func(string) []byte { return []byte(opened) },
		Again: func(body []byte) []byte {
			return []byte(strings.NewReplacer(`"stargazers_count":80`, `"stargazers_count":81`, "09:00:00Z", "09:40:00Z").Replace(string(body)))
		},
		Changed:           func(body []byte) []byte { return []byte(strings.Replace(string(body), "09:29:58Z", "09:29:59Z", 1)) },
		Tenant:            "installation:99",
		Type:              "pull_request.opened",
		CredentialHeaders: []string{"X-Hub-Signature-256"},
		SignedHeaders:     []string{"X-Hub-Signature-256"},
		SignsBody:         true,
		Acknowledges:      true,
		Malformed: map[string]string{
			"empty": "", "too short": "malform", "a line end": "malformed-secret\n", "a space before": " malformed-secret", "an access token": "ghp_malformed0123456789",
			"a fine-grained token": "github_pat_malformed0123456789", "NUL": "malformed\x00secret",
		},
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, subject()) }

func FuzzEvents(f *testing.F) { providertest.FuzzEvents(f, subject()) }

func FuzzVerify(f *testing.F) { providertest.FuzzVerify(f, subject()) }

func request(name, media, body string) oncehook.Request {
	return providertest.Request(http.Header{"X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, "X-Github-Event": {name}, "Content-Type": {media}}, []byte(body))
}

func read(t *testing.T, r oncehook.Request) (oncehook.Event, error) {
	t.Helper()
	items, err := subject().Provider(t).Events(r, oncehook.Proof{})
	if err != nil {
		return oncehook.Event{}, err
	}
	require.Len(t, items, 1)
	return items[0].Event, nil
}

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func TestAFormIsTheSameEventAsItsJSON(t *testing.T) {
	want, err := read(t, request("pull_request", asJSON, opened))
	require.NoError(t, err)
	require.Equal(t, oncehook.Event{
		ID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Tenant: "installation:99", Type: "pull_request.opened", Subject: "octo-demo/hello-world#42",
		OccurredAt: time.Date(2026, 11, 30, 9, 29, 58, 0, time.UTC), Compared: want.Compared, Body: []byte(opened),
	}, want)
	for _, media := range []string{asForm, "Application/X-WWW-Form-URLencoded; charset=utf-8"} {
		e, err := read(t, request("pull_request", media, "payload="+url.QueryEscape(opened)))
		require.NoError(t, err)
		require.Equal(t, want, e)
	}
}

// Whoever writes a comment chooses a part of a signed body; the header that says
// which form it has is not signed.
func TestTextInAJSONBodyIsNeverReadAsAForm(t *testing.T) {
	forged := url.QueryEscape(`{"installation":{"id":7}}`)
	for _, body := range []string{
		`{"action":"created","comment":{"body":"&payload=` + forged + `&"},"installation":{"id":99}}`,
		`{"a&payload=` + forged + `&b":1}`,
	} {
		_, err := read(t, request("issue_comment", asForm, body))
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal, body)
		require.Equal(t, "payload", refusal.Field, body)
		_, err = read(t, request("issue_comment", asJSON, body))
		require.NoError(t, err, body)
	}
}

func TestTheTenantIsTheNarrowestWhoCanBeNamed(t *testing.T) {
	without := func(members ...string) string {
		body := opened
		for _, m := range members {
			body = strings.Replace(body, `"`+m+`":{`, `"`+m+`_":{`, 1)
		}
		return body
	}
	for body, want := range map[string]string{
		opened: "installation:99", without("installation"): "organization:583231", without("installation", "organization"): "repository:1296269",
		without("installation", "organization", "repository"): "", strings.Replace(opened, `"installation":{"id":99}`, `"installation":null`, 1): "organization:583231",
		strings.Replace(opened, `{"id":99}`, `{"id":9007199254740993}`, 1): "installation:9007199254740993",
	} {
		e, err := read(t, request("pull_request", asJSON, body))
		require.NoError(t, err)
		require.Equal(t, want, e.Tenant)
	}
}

func TestTheSubjectAndTimeAreTheResources(t *testing.T) {
	repository := `"repository":{"id":1,"full_name":"o/r","pushed_at":1796031000,"updated_at":"2026-01-01T00:00:00Z"}`
	pushed := time.Date(2026, 11, 30, 9, 30, 0, 0, time.UTC)
	commented := time.Date(2026, 11, 30, 9, 31, 0, 0, time.UTC)
	for body, want := range map[string]struct {
		subject string
		at      time.Time
	}{
		`{"ref":"refs/heads/main",` + repository + `}`:                                                  {"o/r@refs/heads/main", pushed},
		`{"issue":{"number":7,"updated_at":"2026-11-30T09:31:00Z"},"comment":{},` + repository + `}`:    {"o/r#7", commented},
		`{"release":{"updated_at":"2026-11-30T09:31:00Z"},` + repository + `}`:                          {"o/r", commented},
		`{"organization":{"id":1,"login":"o"}}`:                                                         {"o", time.Time{}},
		`{"ref":7,"number":"x","repository":{"full_name":"o/r"},"issue":[],"release":{"updated_at":1}}`: {"o/r#x", time.Time{}},
		`{}`: {"", time.Time{}},
		`{"ref":"refs/heads/main","repository":{"full_name":"o/r","pushed_at":253402300800}}`: {"o/r@refs/heads/main", time.Time{}},
	} {
		e, err := read(t, request("anything", asJSON, body))
		require.NoError(t, err, body)
		require.Equal(t, want.subject, e.Subject, body)
		require.Equal(t, want.at, e.OccurredAt, body)
		require.Equal(t, want.at.IsZero(), len(e.Flags) == 1)
	}
}

func TestRefusalsNameTheField(t *testing.T) {
	change := func(name string, values ...string) oncehook.Request {
		r := request("push", asJSON, opened)
		r.Header[name] = values
		return r
	}
	for name, c := range map[string]struct {
		r     oncehook.Request
		code  oncehook.Code
		field string
	}{
		"no GUID":           {change("X-Github-Delivery"), oncehook.CodeFieldMissing, "X-GitHub-Delivery"},
		"empty GUID":        {change("X-Github-Delivery", ""), oncehook.CodeFieldMissing, "X-GitHub-Delivery"},
		"two GUIDs":         {change("X-Github-Delivery", "a", "b"), oncehook.CodeFieldAmbiguous, "X-GitHub-Delivery"},
		"long GUID":         {change("X-Github-Delivery", strings.Repeat("x", 1001)), oncehook.CodeIDTooLong, "X-GitHub-Delivery"},
		"GUID of no ASCII":  {change("X-Github-Delivery", "\xff"), oncehook.CodeFieldInvalid, "X-GitHub-Delivery"},
		"no event":          {change("X-Github-Event"), oncehook.CodeFieldMissing, "X-GitHub-Event"},
		"two events":        {change("X-Github-Event", "push", "ping"), oncehook.CodeFieldAmbiguous, "X-GitHub-Event"},
		"event with a dot":  {change("X-Github-Event", "pull_request.opened"), oncehook.CodeFieldInvalid, "X-GitHub-Event"},
		"action of number":  {request("push", asJSON, `{"action":1}`), oncehook.CodeFieldInvalid, "action"},
		"long action":       {request("push", asJSON, `{"action":"`+strings.Repeat("x", 101)+`"}`), oncehook.CodeFieldInvalid, "action"},
		"two actions":       {request("push", asJSON, `{"action":"a","action":"b"}`), oncehook.CodeFieldAmbiguous, "action"},
		"installation list": {request("push", asJSON, `{"installation":[]}`), oncehook.CodeFieldInvalid, "installation"},
		"repository id":     {request("push", asJSON, `{"repository":{"id":"x"}}`), oncehook.CodeFieldInvalid, "id"},
		"repository id 1.0": {request("push", asJSON, `{"repository":{"id":1.0}}`), oncehook.CodeFieldInvalid, "id"},
		"anything twice":    {request("push", asJSON, `{"x":1,"X":2}`), oncehook.CodeFieldAmbiguous, ""},
		"a form as JSON":    {request("push", asJSON, "payload=%7B%7D"), oncehook.CodeMalformedJSON, ""},
		"JSON as a form":    {request("push", asForm, opened), oncehook.CodeFieldMissing, "payload"},
		"a broken form":     {request("push", asForm, "payload=%zz"), oncehook.CodeMalformedJSON, ""},
		"two payloads":      {request("push", asForm, "payload=%7B%7D&payload=%7B%7D"), oncehook.CodeFieldAmbiguous, "payload"},
		"an empty payload":  {request("push", asForm, "payload="), oncehook.CodeFieldMissing, "payload"},
	} {
		_, err := read(t, c.r)
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, c.code, refusal.Code, name)
		require.Equal(t, c.field, refusal.Field, name)
	}
}

func TestTheSameFieldIsNamedEachTime(t *testing.T) {
	for range 100 {
		_, err := read(t, request("push", asJSON, `{"repository":[],"organization":1,"installation":"x"}`))
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "installation", refusal.Field)
	}
}

func TestComposedEventsTakeTheTenantThatTheyCanName(t *testing.T) {
	signer := subject().Provider(t).(oncehook.Signer)
	for tenant, want := range map[string]string{
		"": "organization:583231", "installation:7": "installation:7", "organization:7": "organization:7", "repository:7": "repository:7",
	} {
		draft := oncehook.Draft{ID: "guid-1", Type: "issues.closed", Tenant: tenant, Now: providertest.Received}
		body, err := signer.Compose(draft)
		require.NoError(t, err)
		header, err := signer.Sign(body, draft, oncehook.Credential{Version: "1", Secret: subject().Secret(1)})
		require.NoError(t, err)
		e, err := read(t, providertest.Request(header, body))
		require.NoError(t, err)
		require.Equal(t, want, e.Tenant, tenant)
		require.Equal(t, "issues.closed", e.Type)
		require.Equal(t, "octo-demo/hello-world#43", e.Subject)
	}
	for _, other := range []string{"dev", "installation:x", "installation:007", "team:7", ":7"} {
		_, err := signer.Compose(oncehook.Draft{ID: "guid-1", Type: "push", Tenant: other})
		require.Error(t, err, other)
	}
	_, err := signer.Sign(nil, oncehook.Draft{ID: "guid-1", Type: "Push It"}, oncehook.Credential{Secret: subject().Secret(1)})
	require.Error(t, err)
}

func TestAPingIsRecordedWhateverIsListed(t *testing.T) {
	recognizer := subject().Provider(t).(oncehook.TypeRecognizer)
	require.True(t, recognizer.RecognizesType("ping"))
	require.False(t, recognizer.RecognizesType("push"))
}
