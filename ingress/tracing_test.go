package ingress_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/oncehook/oncehook/providers/providertest"
)

const sendersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

// traced starts a system whose spans are recorded.
func traced(t *testing.T, options ...sdktrace.TracerProviderOption) (*system, func() sdktrace.ReadOnlySpan) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(spans))...).Tracer("test")
	s := start(t, func(s *setup) { s.Tracer = tracer })
	return s, func() sdktrace.ReadOnlySpan {
		ended := spans.Ended()
		require.NotEmpty(t, ended)
		return ended[len(ended)-1]
	}
}

func TestASpanTellsTheDecisionAndNothingThatASenderWrote(t *testing.T) {
	t.Parallel()
	s, last := traced(t)
	mark := providertest.Marker
	for name, c := range map[string]struct {
		send            func() answer
		outcome, source string
	}{
		"accepted":  {func() answer { return s.post("logistics", event("e1")) }, "accepted", "logistics"},
		"forged":    {func() answer { return s.post("logistics", event("e1"), bearerOf(mark)) }, "unauthenticated", "logistics"},
		"rejected":  {func() answer { return s.post("logistics", `{"`+mark) }, "rejected", "logistics"},
		"no source": {func() answer { return s.post(mark, event("e1")) }, "unauthenticated", ""},
		"forbidden": {func() answer { return s.post("logistics", event("e1", "north", mark)) }, "tenant_forbidden", "logistics"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.send()
			told := attribute.NewSet(last().Attributes()...)
			for key, want := range map[string]string{"outcome": c.outcome, "source": c.source, "correlation_id": a.text("correlation_id")} {
				have, ok := told.Value(attribute.Key("oncehook." + key))
				require.True(t, ok, key)
				require.Equal(t, want, have.AsString(), key)
			}
			status, _ := told.Value("http.response.status_code")
			require.EqualValues(t, a.status, status.AsInt64())
			require.NotContains(t, fmt.Sprint(last().Name(), told.ToSlice(), last().Events(), last().Status()), mark)
			require.NotContains(t, fmt.Sprint(told.ToSlice()), "north", "a tenant")
		})
	}
}

func TestASendersTraceIsALinkAndNeverOurs(t *testing.T) {
	t.Parallel()
	s, last := traced(t)
	kept := func() string {
		var text string
		require.NoError(t, s.db.QueryRow(t.Context(), `SELECT traceparent FROM oncehook.outbox ORDER BY id DESC LIMIT 1`).Scan(&text))
		return text
	}
	for n, sent := range []string{"00-" + sendersTrace + "-00f067aa0ba902b7-00", "", "00-x-y-01", strings.Repeat("0", 5000)} {
		a := s.post("logistics", event(fmt.Sprintf("e%d", n)), header("Traceparent", sent), header("Tracestate", "a=b"))
		require.Equal(t, http.StatusAccepted, a.status, a.body)
		require.NotEqual(t, sendersTrace, last().SpanContext().TraceID().String())
		require.False(t, last().Parent().IsValid())
		require.True(t, last().SpanContext().IsSampled(), "a stranger does not switch traces off")
		require.Len(t, last().Links(), map[bool]int{true: 1, false: 0}[n == 0])
		require.Contains(t, kept(), last().SpanContext().TraceID().String(), "the outbox keeps our place")
	}
}

func TestATraceThatIsNotSampledStaysSo(t *testing.T) {
	t.Parallel()
	s, _ := traced(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	require.Equal(t, http.StatusAccepted, s.post("logistics", event("e1"), header("Traceparent", "00-"+sendersTrace+"-00f067aa0ba902b7-01")).status)
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.outbox WHERE traceparent LIKE '%-00'`))
}
