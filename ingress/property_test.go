package ingress_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oncehook/oncehook/providers/providertest"
)

// Random bodies out of what bodies are made of, whole and torn, with random
// credentials, sources and headers, against a real store.
func TestRandomRequestsGetAnAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	names := rapid.SampledFrom([]string{`"id"`, `"ID"`, `"tenant"`, `"type"`, `"occurred_at"`, `"shipment_id"`, `"depot_id"`, `"\u0069d"`, `"x"`, `"\ud800"`, `""`})
	values := rapid.OneOf(
		rapid.SampledFrom([]string{`"north"`, `"south"`, `"` + arrival + `"`, `"2026-11-30T10:00:00Z"`, `""`, "null", "0", "-1e999", "18446744073709551616", "true", "[]", "{}", `{"a":1,"a":[null]}`, `"\u0000"`, `"\udc00"`, "\"\xff\"", `"` + providertest.Marker + `"`}),
		rapid.Map(rapid.String(), func(text string) string { return fmt.Sprintf("%q", text) }),
	)
	member := rapid.Custom(func(t *rapid.T) string { return names.Draw(t, "name") + ":" + values.Draw(t, "value") })
	body := rapid.Custom(func(t *rapid.T) string {
		text := "{" + strings.Join(rapid.SliceOfN(member, 0, 8).Draw(t, "members"), ",") + "}"
		if rapid.Bool().Draw(t, "sound") {
			text = event(rapid.StringMatching(`[a-c]`).Draw(t, "id"), `"depot-1"`, values.Draw(t, "depot"))
		}
		if rapid.IntRange(0, 9).Draw(t, "torn") == 0 {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + string(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")) + text[at:]
		}
		return text
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := body.Draw(rt, "body")
		source := rapid.SampledFrom([]string{"logistics", "any%20thing", "nobody"}).Draw(rt, "source")
		credential := rapid.SampledFrom([]string{token, otherToken, "forged"}).Draw(rt, "token")
		s.answered(s.post(source, text, bearerOf(credential), header("X-Any", "\xff\x80")), fmt.Sprintf("%q", text))
	})
}
