package ingress

import (
	"net/http"

	"github.com/oncehook/oncehook"
)

// acknowledged is the answer to a refusal that its sender's retries cannot mend.
type acknowledged struct {
	Status oncehook.Decision `json:"status"`
	// Code and Detail say why: the sender is proven.
	Code   oncehook.Code `json:"code"`
	Detail string        `json:"detail"`
	// ReceiptID is the first copy's, for a conflict.
	ReceiptID     string   `json:"receipt_id,omitempty"`
	CorrelationID string   `json:"correlation_id"`
	Results       []result `json:"results,omitempty"`
}

// acknowledges reports whether a refusal is answered 2xx. Never without a proof, and
// never while the refusal is only counted: of such a delivery nothing is committed.
func (d *delivery) acknowledges(r *refused) bool {
	if d.source == nil || d.proof.Principal == "" || r.evidence == inSum {
		return false
	}
	p, ok := d.source.Provider.(oncehook.Acknowledger)
	return ok && p.Acknowledges(r.Code)
}

// acknowledge answers a refusal as done with. Operators find it where any other
// refusal is: the log, the metrics, the audit, and the kept delivery or conflict.
func (d *delivery) acknowledge(r *refused) error {
	return d.write(document(http.StatusOK, mediaJSON, acknowledged{
		Status: r.decision, Code: r.Code, Detail: r.Detail, ReceiptID: r.receipt, CorrelationID: d.correlationOf(r), Results: r.results,
	}))
}
