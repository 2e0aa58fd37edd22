// Package refuse makes the refusals that providers share. Each names a field and
// repeats nothing of its value.
package refuse

import "github.com/oncehook/oncehook"

// Missing refuses an event without a field.
func Missing(field string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldMissing, Field: field, Detail: "the field " + field + " is missing or empty"}
}

// Invalid refuses a field; detail goes on after its name.
func Invalid(field, detail string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldInvalid, Field: field, Detail: "the field " + field + " " + detail}
}

// Ambiguous refuses a field that is given more than once.
func Ambiguous(field, detail string) error {
	return &oncehook.Refusal{Code: oncehook.CodeFieldAmbiguous, Field: field, Detail: "the field " + field + " " + detail}
}

// IDTooLong refuses an event id over oncehook.MaxEventID.
func IDTooLong(field string) error {
	return &oncehook.Refusal{Code: oncehook.CodeIDTooLong, Field: field, Detail: "the field " + field + " is longer than 1000 bytes"}
}

// NoRetryMends reports whether a refusal of an authentic delivery stays the same
// however often the sender retries, while its body is kept here: a conflict beside
// the first copy, everything that the body itself decides as a rejected delivery,
// which an operator can submit again once types or tenants are configured. Beyond the
// store's cap of such deliveries the audit alone has it: to refuse then would lose the
// events of the listed types too, once the sender gives the endpoint up.
//
// A forbidden tenant is not among them. Its body is not kept, so only the sender's
// retry, after the configuration was mended, brings the event back.
func NoRetryMends(code oncehook.Code) bool {
	switch code {
	case oncehook.CodeEventConflict, oncehook.CodeTypeUnrecognized,
		oncehook.CodeMalformedJSON, oncehook.CodeFieldMissing, oncehook.CodeFieldInvalid, oncehook.CodeFieldAmbiguous,
		oncehook.CodeIDTooLong, oncehook.CodeTenantMissing:
		return true
	default:
		return false
	}
}
