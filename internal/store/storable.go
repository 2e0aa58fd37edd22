package store

import (
	"strings"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// storableCandidate returns a *oncehook.Refusal that names the field which the
// database would refuse. The ingress has refused such input already; this keeps
// one delivery from failing the others of its batch.
func storableCandidate(c *Candidate) error {
	for _, field := range []struct{ name, value string }{
		{"key", string(c.Key)},
		{"source", c.Source},
		{"tenant", c.Event.Tenant},
		{"id", c.Event.ID},
		{"type", c.Event.Type},
		{"subject", c.Event.Subject},
		{"sequence", c.Event.Sequence},
		{"workflow", c.Workflow},
		{"principal", c.Principal},
		{"credential_version", c.CredentialVersion},
		{"peer", c.Peer},
		{"traceparent", c.Traceparent},
	} {
		if !storable(field.value) {
			return unstorable(field.name, "is not valid UTF-8 or holds a NUL")
		}
	}
	for _, flag := range c.Event.Flags {
		if flag == "" || !storable(flag) || strings.Contains(flag, ",") {
			return unstorable("flags", "holds a malformed flag")
		}
	}
	for _, f := range c.Fingerprints {
		if f.Recipe == "" || !storable(f.Recipe) || len(f.Value) == 0 {
			return unstorable("fingerprint", "is malformed")
		}
	}
	_, class := RetentionClasses()[c.Retention]
	switch {
	case c.Key == "" || len(c.Key) > oncehook.MaxKey:
		return unstorable("key", "is empty or too long")
	case c.Event.Tenant == "":
		return unstorable("tenant", "is empty")
	case len(c.Event.ID) > oncehook.MaxEventID:
		return unstorable("id", "is too long")
	case c.ReceiptID == uuid.Nil || c.CorrelationID == uuid.Nil:
		return unstorable("receipt_id", "is not set")
	case len(c.Fingerprints) == 0:
		return unstorable("fingerprint", "is missing")
	case !class:
		return unstorable("retention", "is not a retention class")
	case c.Event.OccurredAt.Year() < 0 || c.Event.OccurredAt.Year() > 9999:
		return unstorable("occurred_at", "is outside the years 0 to 9999")
	}
	return nil
}

func unstorable(field, what string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldInvalid, Field: field, Detail: "the " + field + " " + what}
}

// plain makes any text storable, for evidence: what PostgreSQL cannot hold is
// replaced, and what is longer than limit bytes is cut.
func plain(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	if storable(text) {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
