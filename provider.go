package oncehook

import (
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// Provider is a sender's contract: who sent a request, and which events it carries.
//
// Implementations are pure: no I/O, no clock but Request.Received, safe for
// concurrent use. They never panic on any input, and no error of theirs holds a
// secret or a part of the body.
type Provider interface {
	// Verify proves who sent the raw bytes. Every failure is an *AuthError; the
	// sender sees one silent 401, operators see its cause.
	Verify(Request) (Proof, error)
	// Events reads the events of a verified request, in order, each with its own
	// refusal if it has one. A *Refusal as the error refuses the request as a whole.
	Events(Request, Proof) ([]Item, error)
}

// HeaderVerifier is implemented by providers whose proof is in the header alone, so
// that a forgery is refused before its body is read.
type HeaderVerifier interface {
	// VerifyHeader gives the same failure as Verify would give for the request with
	// any body. Nil decides nothing: Verify still has to prove the sender.
	VerifyHeader(Request) error
}

// Signer is implemented by providers whose requests `oncehook send` can make.
type Signer interface {
	// Compose builds a body as the provider would send it.
	Compose(Draft) ([]byte, error)
	// Sign returns the headers, content type included, that authenticate body. Of the
	// draft it takes what the provider writes in headers: id, type, tenant, time.
	Sign(body []byte, draft Draft, credential Credential) (http.Header, error)
}

// Acknowledger is implemented by providers whose senders would only retry, or
// disable the endpoint, for a refusal that no retry can mend.
type Acknowledger interface {
	// Acknowledges reports whether an authentic delivery that is refused by the code
	// is answered 2xx. The refusal stays visible to operators.
	Acknowledges(code Code) bool
}

// ContentTyper is implemented by providers that take other media types than JSON.
type ContentTyper interface {
	// TakesContentType reports whether a media type, in lower case and without
	// parameters, is the provider's.
	TakesContentType(mediaType string) bool
}

// TypeRecognizer is implemented by providers that send events to every endpoint,
// whatever it is subscribed to, such as a greeting.
type TypeRecognizer interface {
	// RecognizesType reports whether events of the type are recorded also where the
	// source does not list it.
	RecognizesType(eventType string) bool
}

// Sampler is implemented by signers that ship examples of events.
type Sampler interface {
	// Samples returns the event types of the examples, sorted.
	Samples() []string
}

// URLSigner is implemented by providers whose senders sign the public URL too, so
// that nothing is authentic until ingress.public_url is what they were given.
type URLSigner interface {
	// SignsURL reports whether the source's senders do.
	SignsURL() bool
}

// Challenger answers a provider's handshake before the body is read.
type Challenger interface {
	// Challenge returns the reply to a handshake, and false when the request is none.
	Challenge(Request) (Reply, bool)
}

// Replier answers results in the provider's own terms instead of JSON.
type Replier interface {
	// Reply turns the results of a request into its answer.
	Reply(results []Result) Reply
}

// Budgeted states how long the provider waits for an answer.
type Budgeted interface {
	// AckBudget is the provider's timeout for one delivery.
	AckBudget() time.Duration
}

// Request is one HTTP request, read whole.
type Request struct {
	Method string
	// URL is the public URL as the sender sees it.
	URL    string
	Header http.Header
	Body   []byte
	Peer   netip.Addr
	// Received is when the request arrived: the only clock an adapter may read.
	Received time.Time
}

// Proof is who sent a request and for whom that principal may speak.
type Proof struct {
	Principal         string
	CredentialVersion string
	// Tenants lists the allowed tenants; AllTenants must be written out.
	Tenants []string
}

// AllTenants in a tenant list allows every tenant.
const AllTenants = "*"

// MaySpeakFor reports whether the principal is allowed to send for the tenant.
func (p Proof) MaySpeakFor(tenant string) bool {
	return slices.Contains(p.Tenants, tenant) || slices.Contains(p.Tenants, AllTenants)
}

// Cause says, for operators, why a request could not be authenticated.
type Cause string

// Causes shared by providers.
const (
	CauseCredentialMissing   Cause = "credential_missing"
	CauseCredentialMalformed Cause = "credential_malformed"
	CauseWrongSecret         Cause = "wrong_secret"
	CauseCredentialExpired   Cause = "credential_expired"
	// CauseTimestampMalformed, CauseTimestampOld and CauseTimestampNew are about a
	// signed time: unreadable, before and after the replay window.
	CauseTimestampMalformed Cause = "timestamp_malformed"
	CauseTimestampOld       Cause = "timestamp_too_old"
	CauseTimestampNew       Cause = "timestamp_too_new"
	// CauseSchemeUnsupported marks signatures of which none is of a known scheme.
	CauseSchemeUnsupported Cause = "scheme_unsupported"
)

// AuthError is a failed verification.
type AuthError struct{ Cause Cause }

func (e *AuthError) Error() string { return "unauthenticated: " + string(e.Cause) }

// Item is one event of a request, or the reason why it is none.
type Item struct {
	Event   Event
	Refusal *Refusal
}

// Draft is what a person asks `oncehook send` to compose.
type Draft struct {
	ID     string
	Tenant string
	Type   string
	// Set replaces or adds top-level fields.
	Set map[string]string
	Now time.Time
}

// Result is the answer to one event of a request.
type Result struct {
	// Outcome is Accepted, Duplicate, or the decision that refused the event.
	Outcome       Decision
	EventKey      Key
	ReceiptID     string
	CorrelationID string
	// Refusal is set for every outcome but Accepted and Duplicate.
	Refusal *Refusal
}

// Reply is a literal HTTP answer.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Credential is one secret of a principal.
type Credential struct {
	Version string
	Secret  Secret
	// Expires ends the credential; zero means never.
	Expires time.Time
}

// Principal is who may authenticate at a source, and for which tenants.
type Principal struct {
	Name        string
	Tenants     []string
	Credentials []Credential
}

// Fields says which fields of a body the generic providers read.
type Fields struct {
	// Required fields must be present and not empty; they are compared.
	Required []string
	// Subject names the required field that holds the event's subject.
	Subject string
}

// Source is a configured endpoint as its provider's constructor sees it.
type Source struct {
	Name       string
	Principals []Principal
	Fields     Fields
}
