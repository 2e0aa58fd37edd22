// Package strictjson reads the top-level members of a JSON object from bytes that
// may be anything: duplicate and case-variant names are seen, values keep the
// bytes they came in, and no error repeats a part of the input.
package strictjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oncehook/oncehook"
)

// Object is a parsed JSON object.
type Object struct {
	members []member
	// DuplicateNames reports that an object, at any depth, repeats a member name.
	DuplicateNames bool
}

type member struct {
	name  string
	value []byte
}

// Names may repeat and strings may hold lone surrogates: both are legal JSON
// that must not be lost. Raw invalid UTF-8 is not, and is checked before.
func lenient() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// Parse reads exactly one JSON object, nested at most 10,000 deep. Values alias
// body. Every error is a *oncehook.Refusal with the code malformed_json.
func Parse(body []byte) (*Object, error) {
	if !utf8.Valid(body) {
		return nil, malformed("the body is not valid UTF-8")
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), lenient()...)
	open, err := dec.ReadToken()
	if err != nil {
		return nil, syntax(err)
	}
	if open.Kind() != jsontext.KindBeginObject {
		return nil, malformed("the body is JSON but not an object")
	}
	o := &Object{}
	seen := map[string]bool{}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, syntax(err)
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, syntax(err)
		}
		end := int(dec.InputOffset())
		m.value = body[end-len(value) : end : end]
		o.DuplicateNames = o.DuplicateNames || seen[m.name] || repeatsName(m.value)
		seen[m.name] = true
		o.members = append(o.members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntax(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("the body goes on after the JSON object")
	}
	return o, nil
}

// repeatsName reports whether an object inside a valid value repeats a name.
func repeatsName(value []byte) bool {
	if value[0] != '{' && value[0] != '[' {
		return false
	}
	return !jsontext.Value(value).IsValid(jsontext.AllowInvalidUTF8(true))
}

// Raw returns the bytes of a member's value, or nil when the member is absent.
// A name given twice, or given in other letter case, is refused as ambiguous.
func (o *Object) Raw(name string) ([]byte, error) {
	var value []byte
	for _, m := range o.members {
		switch {
		case m.name == name && value == nil:
			value = m.value
		case m.name == name:
			return nil, refusal(oncehook.CodeFieldAmbiguous, name, "is given more than once")
		case strings.EqualFold(m.name, name):
			return nil, refusal(oncehook.CodeFieldAmbiguous, name, "is given under a name that differs in letter case only")
		}
	}
	return value, nil
}

// Text returns a member that must be a string: "" when it is absent, null or
// empty. A text holds no U+0000 and no lone surrogate, since text columns cannot.
func (o *Object) Text(name string) (string, error) {
	raw, err := o.Raw(name)
	if err != nil || raw == nil || IsNull(raw) {
		return "", err
	}
	if raw[0] != '"' {
		return "", refusal(oncehook.CodeFieldInvalid, name, "must be a JSON string; a number must be sent as a string, so that no digit is lost")
	}
	return Unquote(name, raw)
}

// Unquote decodes the string value of a member under the rules of Text.
func Unquote(name string, raw []byte) (string, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	switch {
	case err != nil:
		return "", refusal(oncehook.CodeFieldInvalid, name, "holds a lone surrogate")
	case bytes.IndexByte(text, 0) >= 0:
		return "", refusal(oncehook.CodeFieldInvalid, name, "holds the character U+0000")
	}
	return string(text), nil
}

// Quote returns text as a JSON string.
func Quote(text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		// Only invalid UTF-8 errs, and is then already replaced.
		return quoted
	}
	return quoted
}

// IsNull reports whether a value is null.
func IsNull(raw []byte) bool { return string(raw) == "null" }

// IsEmpty reports whether a value is absent, null or the empty string.
func IsEmpty(raw []byte) bool { return len(raw) == 0 || IsNull(raw) || string(raw) == `""` }

func refusal(code oncehook.Code, field, detail string) error {
	return &oncehook.Refusal{Code: code, Field: field, Detail: "the field " + field + " " + detail}
}

func malformed(detail string) error {
	return &oncehook.Refusal{Code: oncehook.CodeMalformedJSON, Detail: detail}
}

// syntax keeps the place of an error only: its text may quote the body.
func syntax(err error) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return malformed("the body is not valid JSON at byte " + strconv.FormatInt(e.ByteOffset, 10))
	}
	return malformed("the body ends before the JSON object does")
}
