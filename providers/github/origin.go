package github

import (
	"slices"

	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Members that say where an event comes from. GitHub renders them with counters and
// times of their own, so that of them only the ids are compared.
const (
	fieldInstallation = "installation"
	fieldOrganization = "organization"
	fieldRepository   = "repository"
)

// surroundings are compared by id, or, as the sender and the enterprise, not at all.
var surroundings = []string{fieldInstallation, fieldOrganization, fieldRepository, "enterprise", "sender"}

// origin holds the ids of an event's surroundings as digits, "" where there are none.
type origin struct{ installation, organization, repository string }

func readOrigin(object *strictjson.Object) (origin, error) {
	var o origin
	for _, member := range []struct {
		name string
		id   *string
	}{{fieldInstallation, &o.installation}, {fieldOrganization, &o.organization}, {fieldRepository, &o.repository}} {
		child, err := object.Child(member.name)
		if err != nil {
			return o, err
		}
		if child == nil {
			continue
		}
		if *member.id, err = child.Digits("id"); err != nil {
			return o, err
		}
	}
	return o, nil
}

// tenant is the App's installation, else the organization, else the repository.
func (o origin) tenant() string {
	switch {
	case o.installation != "":
		return fieldInstallation + ":" + o.installation
	case o.organization != "":
		return fieldOrganization + ":" + o.organization
	case o.repository != "":
		return fieldRepository + ":" + o.repository
	}
	return ""
}

// compared is the body with its surroundings reduced to their ids, and the event's name.
func compared(object *strictjson.Object, event string, o origin) ([]byte, error) {
	members, err := object.Members()
	if err != nil {
		return nil, err
	}
	// Flat, since a level more could pass a parser's depth.
	var w strictjson.Writer
	w.Text(headerEvent, event)
	w.Text("installation.id", o.installation)
	w.Text("organization.id", o.organization)
	w.Text("repository.id", o.repository)
	for name, value := range members {
		if !slices.Contains(surroundings, name) {
			w.Raw(name, value)
		}
	}
	return w.Bytes(), nil
}
