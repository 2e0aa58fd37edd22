package harness

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is an exported span.
type Span struct {
	Name, TraceID, SpanID, ParentID string
	// Links are the trace ids that it points to.
	Links      []string
	Attributes map[string]string
}

// Collector takes spans over OTLP/HTTP, as an OpenTelemetry collector does.
type Collector struct {
	server *httptest.Server

	mu    sync.Mutex
	spans []Span
	raw   []byte
}

// StartCollector starts a collector for the test.
func StartCollector(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	c.server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.server.Close)
	return c
}

// Env makes a process export to the collector, without delay.
func (c *Collector) Env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.server.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request coltracepb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		http.Error(w, "not spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	for _, of := range request.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Name: s.GetName(), TraceID: hex.EncodeToString(s.GetTraceId()), SpanID: hex.EncodeToString(s.GetSpanId()),
					ParentID: hex.EncodeToString(s.GetParentSpanId()), Attributes: attributesOf(s.GetAttributes()),
				}
				for _, link := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(link.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
}

func attributesOf(list []*commonpb.KeyValue) map[string]string {
	attributes := map[string]string{}
	for _, a := range list {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return attributes
}

// Spans returns what was exported so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Raw returns every byte that was exported so far.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.raw...)
}
