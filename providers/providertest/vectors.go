package providertest

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// vector is one known answer; tests/testdata/vectors/README.md explains the fields.
type vector struct {
	ID        string
	Secret    string
	PublicKey string `json:"public_key"`
	Method    string
	URL       string
	Headers   map[string]lines
	Body      string
	BodyBytes string `json:"body_base64"`
	Repeat    *struct {
		Prefix, Unit, Suffix string
		Count                int
	} `json:"body_repeat"`
	Now     int64
	Expect  string
	Derived *derived
}

type derived struct {
	EventID    string `json:"event_id"`
	EventType  string `json:"event_type"`
	Account    string
	Subject    string
	OccurredAt int64 `json:"occurred_at"`
}

// lines are a header's values: one text, or several lines.
type lines []string

func (l *lines) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(l))
	}
	*l = lines{""}
	return json.Unmarshal(b, &(*l)[0])
}

func (v vector) request(t *testing.T) oncehook.Request {
	t.Helper()
	r := oncehook.Request{Method: v.Method, URL: v.URL, Header: http.Header{}, Body: []byte(v.Body), Received: time.Unix(v.Now, 0)}
	for name, values := range v.Headers {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if v.BodyBytes != "" {
		var err error
		r.Body, err = base64.StdEncoding.DecodeString(v.BodyBytes)
		require.NoError(t, err)
	}
	if v.Repeat != nil {
		r.Body = []byte(v.Repeat.Prefix + strings.Repeat(v.Repeat.Unit, v.Repeat.Count) + v.Repeat.Suffix)
	}
	return r
}

// StartupRefusal as the cause of a vector says that its secret is refused when the
// source is made.
const StartupRefusal oncehook.Cause = "(start-up)"

// Vectors checks every known answer in the folder: the verdict, for a refusal its
// cause, and for an event what is read of it. Each refused vector must have a cause
// in the table, and each of the table a vector.
func Vectors(t *testing.T, folder fs.FS, build func(oncehook.Source) (oncehook.Provider, error), causes map[string]oncehook.Cause) {
	files, err := fs.Glob(folder, "*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	refused := map[string]bool{}
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		require.NoError(t, err)
		var v vector
		require.NoError(t, json.Unmarshal(text, &v), file)
		refused[v.ID] = v.Expect != "accept"
		t.Run(v.ID, func(t *testing.T) { v.check(t, build, causes[v.ID]) })
	}
	for id := range causes {
		require.True(t, refused[id], "%s is no refused vector", id)
	}
}

func (v vector) check(t *testing.T, build func(oncehook.Source) (oncehook.Provider, error), cause oncehook.Cause) {
	p, err := build(oncehook.Source{Name: "vectors", Principals: []oncehook.Principal{{
		Name: "sender", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret(v.Secret + v.PublicKey)}},
	}}})
	if cause == StartupRefusal {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	r := v.request(t)
	proof, err := p.Verify(r)
	if v.Expect != "accept" {
		require.NotEmpty(t, cause, "the vector's cause is not stated")
		require.Equal(t, &oncehook.AuthError{Cause: cause}, err)
		require.Zero(t, proof)
		return
	}
	require.NoError(t, err)
	require.Equal(t, "1", proof.CredentialVersion)
	items, err := p.Events(r, proof)
	if v.Derived == nil {
		// The body may be no event: then it is refused, not unproven.
		if err != nil {
			var refusal *oncehook.Refusal
			require.ErrorAs(t, err, &refusal)
		}
		return
	}
	require.NoError(t, err)
	require.Len(t, items, 1)
	e := items[0].Event
	require.Equal(t, v.Derived.EventID, e.ID)
	require.Equal(t, v.Derived.EventType, e.Type)
	require.Equal(t, v.Derived.Account, e.Tenant)
	require.Equal(t, v.Derived.Subject, e.Subject)
	if v.Derived.OccurredAt != 0 {
		require.Equal(t, v.Derived.OccurredAt, e.OccurredAt.Unix())
	}
}
