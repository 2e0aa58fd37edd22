package ingress

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// Media types of answers.
const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
)

// result is the answer to one event.
type result struct {
	Status        oncehook.Decision `json:"status"`
	EventKey      oncehook.Key      `json:"event_key"`
	ReceiptID     string            `json:"receipt_id"`
	CorrelationID string            `json:"correlation_id"`
}

// problem is the answer to a refused request (RFC 9457).
type problem struct {
	Code          oncehook.Code `json:"code"`
	Title         string        `json:"title"`
	Status        int           `json:"status"`
	Detail        string        `json:"detail"`
	Retryable     bool          `json:"retryable"`
	CorrelationID string        `json:"correlation_id"`
	Results       []result      `json:"results,omitempty"`
}

// answerResults answers a committed unit.
func (d *delivery) answerResults(unit []store.Candidate, accepted []store.AcceptResult) *refused {
	results := make([]result, len(accepted))
	conflict := -1
	for n, a := range accepted {
		results[n] = result{Status: a.Decision, EventKey: unit[n].Key, ReceiptID: a.ReceiptID.String(), CorrelationID: a.CorrelationID.String()}
		if a.Decision == oncehook.Conflict {
			if conflict < 0 {
				conflict = n
			}
			continue
		}
		d.Metrics.Delivery(d.c.Request().Context(), d.source.Name, string(a.Decision))
		d.traceDecision(a.Decision, results[n].CorrelationID)
	}
	if conflict < 0 {
		return d.succeed(results)
	}
	refusal := &refused{
		decision: oncehook.Conflict, evidence: inUnit, correlation: results[conflict].CorrelationID, receipt: results[conflict].ReceiptID,
		Refusal: oncehook.Refusal{Code: oncehook.CodeEventConflict, Field: "id", Detail: "an event with this id was received before with other business fields; this copy is kept as evidence and not applied"},
	}
	if len(results) > 1 {
		refusal.results = results
	}
	return refusal
}

// succeed answers accepted and duplicate events.
func (d *delivery) succeed(results []result) *refused {
	status := http.StatusOK
	for _, r := range results {
		if r.Status == oncehook.Accepted {
			status = http.StatusAccepted
		}
	}
	if p, ok := d.source.Provider.(oncehook.Replier); ok {
		replied := make([]oncehook.Result, len(results))
		for n, r := range results {
			replied[n] = oncehook.Result{Outcome: r.Status, EventKey: r.EventKey, ReceiptID: r.ReceiptID, CorrelationID: r.CorrelationID}
		}
		return d.reply(p.Reply(replied))
	}
	var content any = map[string][]result{"results": append([]result{}, results...)}
	if len(results) == 1 {
		content = results[0]
	}
	return d.reply(document(status, mediaJSON, content))
}

// answerRefusal answers in the provider's own terms where it has some for what
// the event's content decided; everything else is a problem document.
func (d *delivery) answerRefusal(r *refused) error {
	p, ok := d.replier()
	if ok && (r.evidence == withBody || r.evidence == inRow || r.evidence == inUnit) {
		return d.write(p.Reply([]oncehook.Result{{Outcome: r.decision, CorrelationID: d.correlationOf(r), Refusal: &r.Refusal}}))
	}
	if d.acknowledges(r) {
		return d.acknowledge(r)
	}
	status := r.Code.Status()
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		d.c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(r.retryAfterSeconds(d.id)))
	}
	return d.write(document(status, mediaProblem, problem{
		Code: r.Code, Title: r.Code.Title(), Status: status, Detail: r.Detail,
		Retryable: r.Code.Retryable(), CorrelationID: d.correlationOf(r), Results: r.results,
	}))
}

func (d *delivery) replier() (oncehook.Replier, bool) {
	if d.source == nil {
		return nil, false
	}
	p, ok := d.source.Provider.(oncehook.Replier)
	return p, ok
}

func document(status int, media string, content any) oncehook.Reply {
	body, err := json.Marshal(content)
	if err != nil {
		// Texts and numbers always have a JSON form.
		return oncehook.Reply{Status: http.StatusInternalServerError}
	}
	return oncehook.Reply{Status: status, Header: http.Header{echo.HeaderContentType: {media}}, Body: body}
}

// reply ends the stages with a literal answer.
func (d *delivery) reply(r oncehook.Reply) *refused { return &refused{reply: &r} }

func (d *delivery) write(r oncehook.Reply) error {
	header := d.c.Response().Header()
	for name, values := range r.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if !d.whole.IsZero() {
		d.Metrics.AckSeconds(d.c.Request().Context(), d.source.Name, sinceSeconds(d.whole))
	}
	if d.whole.IsZero() && d.c.Request().Body != http.NoBody {
		// The body was not read whole: the connection ends with the answer, so that
		// the server does not wait for the rest first.
		header.Set(echo.HeaderConnection, "close")
		d.endSoon()
	}
	header.Set(echo.HeaderContentLength, strconv.Itoa(len(r.Body)))
	d.c.Response().WriteHeader(r.Status)
	// A sender that has left cannot be told; what is committed stays so.
	_, _ = d.c.Response().Write(r.Body)
	return nil
}
