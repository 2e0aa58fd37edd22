package oncehook

import "net/http"

// Code is the stable machine code of a refusal. Codes are a contract.
type Code string

// The codes of the ingress and the admin API.
const (
	CodeMalformedJSON              Code = "malformed_json"
	CodeMalformedRequest           Code = "malformed_request"
	CodeUnauthenticated            Code = "unauthenticated"
	CodeTenantForbidden            Code = "tenant_forbidden"
	CodeForbidden                  Code = "forbidden"
	CodeSourceUnknown              Code = "source_unknown"
	CodeNotFound                   Code = "not_found"
	CodeMethodNotAllowed           Code = "method_not_allowed"
	CodeRequestTimeout             Code = "request_timeout"
	CodeHeaderTooLarge             Code = "header_too_large"
	CodeEventConflict              Code = "event_conflict"
	CodeBodyTooLarge               Code = "body_too_large"
	CodeContentTypeUnsupported     Code = "content_type_unsupported"
	CodeContentEncodingUnsupported Code = "content_encoding_unsupported"
	CodeFieldMissing               Code = "field_missing"
	CodeFieldInvalid               Code = "field_invalid"
	CodeFieldAmbiguous             Code = "field_ambiguous"
	CodeTypeUnrecognized           Code = "type_unrecognized"
	CodeIDTooLong                  Code = "id_too_long"
	CodeTenantMissing              Code = "tenant_missing"
	CodeRateLimited                Code = "rate_limited"
	CodeInternal                   Code = "internal"
	CodeUnavailable                Code = "unavailable"
)

type codeFacts struct {
	status    int
	title     string
	retryable bool
}

var codes = map[Code]codeFacts{
	CodeMalformedJSON:              {http.StatusBadRequest, "The body is not a JSON object", false},
	CodeMalformedRequest:           {http.StatusBadRequest, "The request is not well-formed HTTP", false},
	CodeUnauthenticated:            {http.StatusUnauthorized, "The request could not be authenticated", false},
	CodeTenantForbidden:            {http.StatusForbidden, "The principal may not speak for this tenant", false},
	CodeForbidden:                  {http.StatusForbidden, "The operator may not do this", false},
	CodeSourceUnknown:              {http.StatusNotFound, "There is no such source", false},
	CodeNotFound:                   {http.StatusNotFound, "There is no such thing", false},
	CodeMethodNotAllowed:           {http.StatusMethodNotAllowed, "The method is not allowed here", false},
	CodeRequestTimeout:             {http.StatusRequestTimeout, "The request was not received in time", true},
	CodeHeaderTooLarge:             {http.StatusRequestHeaderFieldsTooLarge, "The header is too large", false},
	CodeEventConflict:              {http.StatusConflict, "The event was received before with other content", false},
	CodeBodyTooLarge:               {http.StatusRequestEntityTooLarge, "The body is too large", false},
	CodeContentTypeUnsupported:     {http.StatusUnsupportedMediaType, "The content type is not supported", false},
	CodeContentEncodingUnsupported: {http.StatusUnsupportedMediaType, "The content encoding is not supported", false},
	CodeFieldMissing:               {http.StatusUnprocessableEntity, "A required field is missing or empty", false},
	CodeFieldInvalid:               {http.StatusUnprocessableEntity, "A field has an invalid value", false},
	CodeFieldAmbiguous:             {http.StatusUnprocessableEntity, "A field is given more than once", false},
	CodeTypeUnrecognized:           {http.StatusUnprocessableEntity, "The event type is not recognized", false},
	CodeIDTooLong:                  {http.StatusUnprocessableEntity, "The event id is too long", false},
	CodeTenantMissing:              {http.StatusUnprocessableEntity, "The event names no tenant", false},
	CodeRateLimited:                {http.StatusTooManyRequests, "Too many new events for this source and tenant", true},
	CodeInternal:                   {http.StatusInternalServerError, "Something went wrong here", true},
	CodeUnavailable:                {http.StatusServiceUnavailable, "The event could not be recorded now", true},
}

// Status returns the HTTP status of the code; an unknown code is a 500.
func (c Code) Status() int {
	if f, ok := codes[c]; ok {
		return f.status
	}
	return http.StatusInternalServerError
}

// Title returns the fixed human title of the code.
func (c Code) Title() string { return codes[c].title }

// Retryable reports whether the same request may succeed later.
func (c Code) Retryable() bool { return codes[c].retryable }

// Refusal says why an authentic request or one of its events is not accepted.
// It is an error. Detail names the field and never repeats its value.
type Refusal struct {
	Code   Code
	Field  string
	Detail string
}

func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Detail }
