package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
)

// edit replaces one passage of the full file.
type edit struct{ from, to string }

func TestEveryMistakeNamesItsLineAndWhatToDo(t *testing.T) {
	const cred = `{version: "1", secret: {file: secrets/logistics}}`
	for name, c := range map[string]struct {
		edit edit
		want string
	}{
		"unknown key":                {edit{"work: {local", "work: {locals"}, ":7: work.locals is not a known key; here are known: local, local_slots"},
		"unknown section":            {edit{"work: {", "worker: {"}, ":7: worker is not a known key"},
		"unknown key in a source":    {edit{"    owner:", "    ownr:"}, ":18: sources.logistics.ownr is not a known key"},
		"duplicate key":              {edit{"    slo: \"\"", "    owner: x"}, ":19: sources.logistics.owner is given a second time; first on line 18"},
		"version":                    {edit{"version: 1\n", "version: 2\n"}, ":1: version must be 1"},
		"inline secret":              {edit{"{file: secrets/identity}", identity}, ":4: keys.identity holds the secret itself"},
		"inline credential":          {edit{"{file: secrets/logistics}", logistics}, ":11: sources.logistics.principals[0].credentials[0].secret holds the secret itself"},
		"secret in wrong braces":     {edit{"{file: secrets/logistics}", "{" + logistics + "}"}, "must be one reference: write {file: PATH} or {env: NAME}"},
		"secret as variable":         {edit{"{file: secrets/logistics}", "{env: " + logistics + "}"}, "does not name an environment variable"},
		"two references":             {edit{"{file: secrets/logistics}", "{env: A, file: b}"}, "must be one reference"},
		"secret file away":           {edit{"secrets/logistics", "secrets/none"}, "secrets/none, which cannot be read: no such file or directory"},
		"secret variable unset":      {edit{"ADMIN_TOKEN", "NOT_SET"}, ":6: admin.token refers to the environment variable NOT_SET, which is not set"},
		"empty secret":               {edit{"secrets/logistics", "secrets/empty"}, "is empty in the file"},
		"white secret":               {edit{"secrets/logistics", "secrets/blank"}, "is only white space in the file"},
		"spaced secret":              {edit{"secrets/logistics", "secrets/spaced"}, "begins or ends with white space"},
		"short secret":               {edit{"secrets/logistics", "secrets/short"}, "has 5 bytes and needs at least 16"},
		"short identity":             {edit{"secrets/identity", "secrets/other"}, ":4: keys.identity is too short"},
		"missing secret":             {edit{`, secret: {file: secrets/logistics}`, ""}, "credentials[0].secret is missing"},
		"no tenants":                 {edit{"tenants: [logistics-sandbox, logistics-north]", "tenants: []"}, `:11: sources.logistics.principals[0].tenants is empty: list the tenants that this principal may speak for, or write ["*"] for all`},
		"absent tenants":             {edit{"tenants: [logistics-sandbox, logistics-north], ", ""}, `tenants is empty`},
		"star and names":             {edit{"[logistics-sandbox,", `["*",`}, `mixes "*" with names`},
		"long tenant":                {edit{"logistics-north", strings.Repeat("x", 81)}, "longer than 80 bytes"},
		"no types":                   {edit{"types: [shipment.depot_arrival]", "types: []"}, ":12: sources.logistics.types is empty"},
		"types star and names":       {edit{"[shipment.depot_arrival]", `[a, "*"]`}, `:12: sources.logistics.types mixes`},
		"types twice":                {edit{"[shipment.depot_arrival]", "[a, a]"}, "types[1] repeats a"},
		"no principals":              {edit{"principals: [{", "principals: []\n    x: [{"}, "principals is empty"},
		"principal twice":            {edit{"principals: [", `principals: [{name: logistics-sender, tenants: ["*"], credentials: [{version: "2", secret: {file: secrets/other}}]}, `}, "repeats the principal logistics-sender"},
		"credential version twice":   {edit{cred, cred + `, {version: "1", secret: {file: secrets/other}}`}, "repeats the credential version 1"},
		"one secret, two versions":   {edit{cred, cred + `, {version: "2", secret: {file: secrets/logistics}}`}, "credentials[1].secret holds the same secret as sources.logistics.principals[0].credentials[0].secret"},
		"one secret, two principals": {edit{"principals: [", `principals: [{name: o, tenants: ["*"], credentials: [` + cred + `]}, `}, "holds the same secret as"},
		"no credentials":             {edit{"credentials: [" + cred + "]", "credentials: []"}, "credentials is empty"},
		"bad size":                   {edit{"body: 1MiB", "body: 1MB"}, ":16: sources.logistics.limits.body must be a size"},
		"huge size":                  {edit{"body: 1MiB", "body: 9999999999MiB"}, "must be a size from 1B to 32MiB"},
		"bad rate":                   {edit{"rate: 200", "rate: .inf"}, "limits.rate must be a number"},
		"burst without rate":         {edit{"rate: 200, ", ""}, "limits.burst has no meaning without rate"},
		"bad proxy":                  {edit{"10.0.0.0/8", "10.0.0.0/88"}, ":5: ingress.trusted_proxies[0] must be a network"},
		"bad drain":                  {edit{"drain: 5s", "drain: 5"}, ":5: ingress.drain must be a time from 0s to 10m0s, such as 5s"},
		"long drain":                 {edit{"drain: 5s", "drain: 11m"}, ":5: ingress.drain must be a time"},
		"bad address":                {edit{`"127.0.0.1:8080"`, "localhost"}, ":5: ingress.addr must be host:port"},
		"bad URL":                    {edit{"https://hooks.example.test/", "ftp://x"}, ":5: ingress.public_url must be an http or https URL"},
		"bad bool":                   {edit{"local: true", "local: yes"}, ":7: work.local must be true or false"},
		"bad date":                   {edit{"2026-11-30", "soon"}, "reviewed must be a date"},
		"bad retention":              {edit{"retention: standard", "retention: ever"}, ":17: sources.logistics.retention must be one of short, standard, long"},
		"long source":                {edit{"  logistics:\n", "  " + strings.Repeat("é", 7) + ":\n"}, "cannot be part of an event key: the source is longer than 40 bytes"},
		"source with a slash":        {edit{"  logistics:\n", "  a/b:\n"}, ":9: sources.a/b cannot be part of a URL path"},
		"subject not required":       {edit{"subject: shipment_id", "subject: other"}, "fields.subject must be one of the required fields"},
		"required names id":          {edit{"[shipment_id,", "[ID,"}, "names ID, which is read for itself"},
		"required by case":           {edit{"depot_id]", "Shipment_ID]"}, "twice but for upper and lower case"},
		"default tenant not allowed": {edit{`default_tenant: ""`, "default_tenant: mars"}, "a tenant that no principal of this source may speak for"},
		"list for a mapping":         {edit{"work: {local: true, local_slots: 2}", "work: [1]"}, ":7: work must be a mapping"},
		"mapping for a scalar":       {edit{"addr: \"127.0.0.1:8080\"", "addr: {a: b}"}, "ingress.addr must be a single value"},
		"alias":                      {edit{"retention: standard", "retention: &r standard\n    fields2: *r"}, "fields2 is not a known key"},
		"temporal file away":         {edit{"temporal.toml", "none.toml"}, ":3: temporal.config_file names"},
		"no YAML":                    {edit{"version: 1\n", "version: [1\n"}, "is not one valid YAML document"},
		"second document":            {edit{"sources:", "---\nsources:"}, "is not one valid YAML document"},
		"control character":          {edit{"owner: \"\"", `owner: "a\u0001"`}, "holds a control character"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, full, c.edit.from)
			_, err := load(t, strings.Replace(full, c.edit.from, c.edit.to, 1))
			require.ErrorContains(t, err, c.want)
			for _, secret := range []string{"hunter2secret", identity, admin, logistics, "another-token", "spaced-token"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestSeveralMistakesAreReportedAtOnce(t *testing.T) {
	broken := strings.NewReplacer("types: [shipment.depot_arrival]", "types: []", "local: true", "local: 7", "secrets/identity", "secrets/none").Replace(full)
	_, err := load(t, broken)
	loadErr, ok := err.(*config.LoadError)
	require.True(t, ok)
	require.Len(t, loadErr.Problems, 3)
	require.Len(t, strings.Split(err.Error(), "\n"), 3)
	require.Equal(t, []int{4, 7, 12}, []int{loadErr.Problems[0].Line, loadErr.Problems[1].Line, loadErr.Problems[2].Line}, "in the order of the file")
}

func TestAParserErrorNeverQuotesTheFile(t *testing.T) {
	for _, broken := range []string{
		"*hunter2secret", "&hunter2secret *hunter2secret", "!hunter2secret!x y", "%hunter2secret", "\"hunter2secret\\q\"", "`hunter2secret", "[hunter2secret: hunter2secret: x", "{hunter2secret",
	} {
		_, err := load(t, "version: 1\nadmin:\n  token: "+broken+"\n")
		require.Error(t, err, broken)
		require.NotContains(t, err.Error(), "hunter2secret", broken)
	}
}

func TestTwoPathsNeverShareAVariable(t *testing.T) {
	const source = `{provider: bearer, types: [t], principals: [{name: s, tenants: [t], credentials: [{version: "1", secret: {file: secrets/%s}}]}]}`
	content := "version: 1\nsources:\n  a-b: " + strings.Replace(source, "%s", "other", 1) + "\n  a_b: " + strings.Replace(source, "%s", "logistics", 1) + "\n"
	_, err := load(t, content)
	require.NoError(t, err)
	_, err = load(t, content, "ONCEHOOK_SOURCES_A_B_OWNER", "me")
	require.ErrorContains(t, err, "would both be set by ONCEHOOK_SOURCES_A_B_OWNER")
}

func FuzzLoad(f *testing.F) {
	f.Add(full)
	f.Add("version: 1\nsources: {a: [1, {b: *c}]}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, content string) {
		c, err := load(t, content)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, c.Redacted())
	})
}
