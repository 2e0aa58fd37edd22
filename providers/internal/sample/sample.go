// Package sample makes events for people to send: it takes an embedded example and
// changes single values in it.
package sample

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Load returns samples/<name>.json, and false when there is none.
func Load(files embed.FS, name string) ([]byte, bool) {
	if strings.ContainsAny(name, "/\\") {
		return nil, false
	}
	body, err := files.ReadFile("samples/" + name + ".json")
	return body, err == nil
}

// Names returns what Load finds, sorted.
func Names(files embed.FS) []string {
	entries, err := files.ReadDir("samples")
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for n, e := range entries {
		names[n] = strings.TrimSuffix(e.Name(), ".json")
	}
	return names
}

// Change is one value of a body to write.
type Change struct {
	// Path names the member, with dots between the levels: data.object.id.
	Path string
	// Value is JSON; nil removes the member.
	Value []byte
}

// Apply makes the changes, then those that a person asked for, and lays the body
// out with two spaces per level, as senders do that show it to people. A person's
// value takes the kind of what it replaces where it can be read so, and is a string
// otherwise.
func Apply(body []byte, changes []Change, asked map[string]string) ([]byte, error) {
	var err error
	for _, c := range changes {
		if body, err = set(body, strings.Split(c.Path, "."), func([]byte) []byte { return c.Value }); err != nil {
			return nil, fmt.Errorf("set %s: %w", c.Path, err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(asked)) {
		if body, err = set(body, strings.Split(path, "."), func(old []byte) []byte { return like(old, asked[path]) }); err != nil {
			return nil, fmt.Errorf("set %s: %w", path, err)
		}
	}
	out := jsontext.Value(body)
	if err := out.Indent(jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("lay the body out: %w", err)
	}
	return out, nil
}

// like reads a text as the kind of JSON value that old is.
func like(old []byte, text string) []byte {
	value := jsontext.Value(text)
	if len(old) == 0 || !value.IsValid() {
		return strictjson.Quote(text)
	}
	value = jsontext.Value(strings.TrimSpace(text))
	kind, was := value.Kind(), jsontext.Value(old).Kind()
	isBool := func(k jsontext.Kind) bool { return k == 't' || k == 'f' }
	if was != '"' && (kind == was || kind == 'n' || was == 'n' || isBool(kind) && isBool(was)) {
		return value
	}
	return strictjson.Quote(text)
}

// set replaces the member at a path by what change makes of its present value, nil
// when there is none. Objects on the way are made where they are missing.
func set(body []byte, path []string, change func(old []byte) []byte) ([]byte, error) {
	object, err := strictjson.Parse(body)
	if err != nil {
		return nil, err
	}
	members, err := object.Members()
	if err != nil {
		return nil, err
	}
	var w strictjson.Writer
	found := false
	for name, value := range members {
		if name == path[0] {
			found = true
			if value, err = changed(value, path[1:], change); err != nil {
				return nil, err
			}
		}
		w.Raw(name, value)
	}
	if !found {
		value, err := changed(nil, path[1:], change)
		if err != nil {
			return nil, err
		}
		w.Raw(path[0], value)
	}
	return w.Bytes(), nil
}

func changed(value []byte, rest []string, change func([]byte) []byte) ([]byte, error) {
	if len(rest) == 0 {
		return change(value), nil
	}
	if value == nil || strictjson.IsNull(value) {
		if change(nil) == nil {
			return value, nil
		}
		value = []byte("{}")
	}
	return set(value, rest, change)
}
