package strictjson

import (
	"iter"
	"strings"

	"github.com/oncehook/oncehook"
)

// Child returns a member that must be an object: nil when it is absent or null.
func (o *Object) Child(name string) (*Object, error) {
	raw, err := o.Raw(name)
	if err != nil || raw == nil || IsNull(raw) {
		return nil, err
	}
	if raw[0] != '{' {
		return nil, refusal(oncehook.CodeFieldInvalid, name, "must be a JSON object")
	}
	return Parse(raw)
}

// Needed returns a member that must be a string of 1 to most bytes.
func (o *Object) Needed(name string, most int) (string, error) {
	text, err := o.Text(name)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", refusal(oncehook.CodeFieldMissing, name, "is missing or empty")
	case len(text) > most:
		return "", refusal(oncehook.CodeFieldInvalid, name, "is too long")
	}
	return text, nil
}

// maxDigits holds every 64-bit number.
const maxDigits = 20

// Digits returns a member that must be a whole number, as its digits: "" when it is
// absent or null.
func (o *Object) Digits(name string) (string, error) {
	raw, err := o.Raw(name)
	if err != nil || raw == nil || IsNull(raw) {
		return "", err
	}
	if len(raw) > maxDigits || strings.Trim(string(raw), "0123456789") != "" {
		return "", refusal(oncehook.CodeFieldInvalid, name, "must be a whole number")
	}
	return string(raw), nil
}

// Loose returns a member that is a string or a number as text, and "" for one that
// is anything else, not there, or longer than most bytes.
func (o *Object) Loose(name string, most int) string {
	raw, err := o.Raw(name)
	if err != nil || raw == nil {
		return ""
	}
	text := string(raw)
	switch raw[0] {
	case '"':
		if text, err = Unquote(name, raw); err != nil {
			return ""
		}
	case '{', '[', 't', 'f', 'n':
		return ""
	}
	if len(text) > most {
		return ""
	}
	return text
}

// Members returns the members in order. It refuses names that are given twice or
// differ in letter case only.
func (o *Object) Members() (iter.Seq2[string, []byte], error) {
	folded := make(map[string]bool, len(o.members))
	for _, m := range o.members {
		// Upper case first: it joins letters that have one lower case each.
		fold := strings.ToLower(strings.ToUpper(m.name))
		if folded[fold] {
			return nil, &oncehook.Refusal{Code: oncehook.CodeFieldAmbiguous, Detail: "the body gives a field more than once, or under names that differ in letter case only"}
		}
		folded[fold] = true
	}
	return func(yield func(string, []byte) bool) {
		for _, m := range o.members {
			if !yield(m.name, m.value) {
				return
			}
		}
	}, nil
}
