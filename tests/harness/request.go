package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Answer is what a sender saw.
type Answer struct {
	Status        int
	Header        http.Header
	Body          string
	Result        string `json:"-"`
	EventKey      string
	ReceiptID     string
	CorrelationID string
	Code          string
	// Close says that the answer ended its connection.
	Close bool
	// Err is a connection that broke before an answer.
	Err error
}

var sender = &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// Arrival is the body of a depot arrival; occurredAt may be "".
func Arrival(id, tenant, shipment, depot, occurredAt string) string {
	body := map[string]string{"id": id, "tenant": tenant, "type": ArrivalType, "shipment_id": shipment, "depot_id": depot}
	if occurredAt != "" {
		body["occurred_at"] = occurredAt
	}
	text, _ := json.Marshal(body)
	return string(text)
}

// Event is the arrival of event id at depot-1 of a shipment of its own.
func Event(id string) string {
	return Arrival(id, "logistics-sandbox", "shipment-of-"+id, "depot-1", "2026-11-30T10:00:00Z")
}

// Post delivers a body to a source with a bearer token.
func (p *Process) Post(source, token, body string) Answer {
	return Deliver(p.IngressURL+"/hooks/"+source, token, body)
}

// Deliver posts a body. It never fails a test, so that goroutines may call it.
func Deliver(url, token, body string) Answer { return DeliverBy(sender, url, token, body) }

// DeliverBy is Deliver over a client, and thus connections, of one's own.
func DeliverBy(client *http.Client, url, token, body string) Answer {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return Answer{Err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(client, request)
}

// Do sends a request and reads its answer.
func Do(request *http.Request) Answer { return do(sender, request) }

func do(client *http.Client, request *http.Request) Answer {
	response, err := client.Do(request)
	if err != nil {
		return Answer{Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{Err: err}
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Body: string(text), Close: response.Close}
	var fields map[string]any
	if json.Unmarshal(text, &fields) == nil {
		a.EventKey, _ = fields["event_key"].(string)
		a.ReceiptID, _ = fields["receipt_id"].(string)
		a.CorrelationID, _ = fields["correlation_id"].(string)
		a.Code, _ = fields["code"].(string)
		a.Result, _ = fields["status"].(string)
	}
	return a
}

// Is fails the test unless the answer has the status and, on success, the result.
func (a Answer) Is(t *testing.T, status int, result string) Answer {
	t.Helper()
	require.NoError(t, a.Err)
	require.Equal(t, status, a.Status, a.Body)
	if status < 300 {
		require.Equal(t, result, a.Result, a.Body)
		require.NotEmpty(t, a.EventKey)
		require.NotEmpty(t, a.ReceiptID)
		require.NotEmpty(t, a.CorrelationID)
		return a
	}
	require.Equal(t, "application/problem+json", a.Header.Get("Content-Type"))
	require.Equal(t, result, a.Code, a.Body)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, seconds)
	}
	return a
}

// Admin calls the admin API of the process and decodes its JSON.
func (p *Process) Admin(path string, into any) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.AdminURL+path, nil)
	require.NoError(p.t, err)
	request.Header.Set("Authorization", "Bearer "+AdminToken)
	answer := Do(request)
	require.NoError(p.t, answer.Err)
	require.Equal(p.t, http.StatusOK, answer.Status, answer.Body)
	require.NoError(p.t, json.Unmarshal([]byte(answer.Body), into))
}

// IDs makes n event ids with a common prefix.
func IDs(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return ids
}
