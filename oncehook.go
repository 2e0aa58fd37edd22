// Package oncehook is the vocabulary of the system: an event and its key, the
// states of a receipt, the outcomes of a side effect, the contract of a
// provider, and the names that are written into histories, tables and
// configuration and therefore never change.
//
// It imports the standard library only; every other package may import it.
package oncehook

import "time"

// Event is one logical event as a provider's adapter read it from an
// authenticated request. All fields come from authenticated content.
type Event struct {
	// ID is the provider's own event id: 1 to MaxEventID bytes of valid UTF-8.
	ID string
	// Tenant is whom the event concerns, or "" when the request names none;
	// the ingress then uses the source's default tenant.
	Tenant string
	// Type is the provider's event type, such as "shipment.depot_arrival".
	Type string
	// Subject is the thing the event is about (a shipment id), or "".
	Subject string
	// OccurredAt is when the provider says that it happened; zero when absent.
	OccurredAt time.Time
	// Sequence is the provider's ordering signal beyond OccurredAt, or "".
	Sequence string
	// Compared is the JSON object of the fields that a second copy must repeat
	// unchanged. Volatile fields and transport headers stay outside it.
	Compared []byte
	// Flags names oddities that do not refuse the event, such as FlagDuplicateNames.
	Flags []string
	// Body is what is stored and later handed to the side effects.
	Body []byte
}

// Flags of an Event and of an audited decision.
const (
	// FlagDuplicateNames marks a body in which an object repeats a member name
	// outside the identity and compared fields.
	FlagDuplicateNames = "duplicate_names"
	// FlagUnordered marks an event without an ordering signal.
	FlagUnordered = "unordered"
	// FlagUnchecked marks a copy whose stored fingerprint can no longer be compared.
	FlagUnchecked = "unchecked"
)

// MaxEventID is the length limit of a provider's event id, in bytes.
const MaxEventID = 1000

// Ref is the whole input of a workflow: a reference to the receipt, never the
// body. It is stored in workflow histories and may only grow.
type Ref struct {
	ReceiptID     string `json:"receipt_id"`
	EventKey      string `json:"event_key"`
	CorrelationID string `json:"correlation_id"`
	Source        string `json:"source"`
	Tenant        string `json:"tenant"`
	Type          string `json:"type"`
	RunNo         int    `json:"run_no"`
	// Local says whether Local effects run as local activities in this run. It
	// is fixed here, since a worker's setting would break the replay of open runs.
	Local bool `json:"local"`
}

// Route says which workflow an event starts.
type Route struct {
	// Provider is the provider kind, such as "bearer".
	Provider string
	// Type is the event type.
	Type string
	// Source restricts the route to one source; "" means every source of the kind.
	Source string
	// Workflow is the workflow type's name.
	Workflow string
}

// Routes is the catalog as plain data, handed to the ingress.
type Routes []Route

// Workflow returns the workflow type for an event, and false when the catalog
// has none. A route that names the source wins over one that does not.
func (r Routes) Workflow(provider, source, eventType string) (string, bool) {
	found := ""
	for _, route := range r {
		if route.Provider != provider || route.Type != eventType {
			continue
		}
		if route.Source == source {
			return route.Workflow, true
		}
		if route.Source == "" {
			found = route.Workflow
		}
	}
	return found, found != ""
}
