package github

import (
	"time"

	"github.com/oncehook/oncehook/providers/internal/instant"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// numbered are the resources that have a number within the repository.
var numbered = []string{"pull_request", "issue", "discussion"}

// subject names what the event is about: owner/name#number for what has a number,
// owner/name@ref for a push, and the repository, or else the organization, for the rest.
func subject(object *strictjson.Object) string {
	place := child(object, fieldRepository).Loose("full_name", maxSubject)
	if place == "" {
		return child(object, fieldOrganization).Loose("login", maxSubject)
	}
	number := object.Loose("number", maxSubject)
	for _, name := range numbered {
		if number == "" {
			number = child(object, name).Loose("number", maxSubject)
		}
	}
	ref := object.Loose("ref", maxSubject)
	switch {
	case number != "":
		place += "#" + number
	case ref != "":
		place += "@" + ref
	}
	if len(place) > maxSubject {
		return ""
	}
	return place
}

// dated are the resources whose updated_at orders events about them, the subject's
// own first: a comment changes its issue as well.
var dated = []string{
	"pull_request", "issue", "discussion", "comment", "review", "workflow_job", "workflow_run",
	"check_run", "check_suite", "deployment_status", "deployment", "release", "milestone", "alert",
}

// occurredAt is when the resource last changed, or for a push when it reached the
// repository: zero where GitHub says neither.
func occurredAt(object *strictjson.Object) time.Time {
	for _, name := range dated {
		if t, ok := instant.Parse(child(object, name).Loose("updated_at", maxAction)); ok {
			return t
		}
	}
	if object.Loose("ref", maxSubject) == "" {
		return time.Time{}
	}
	pushed := child(object, fieldRepository).Loose("pushed_at", maxAction)
	if t, ok := instant.Parse(pushed); ok {
		return t
	}
	// A push writes this one as unix seconds.
	t, _ := instant.ParseUnix(pushed)
	return t
}

// child returns a member that is an object, or an empty one.
func child(object *strictjson.Object, name string) *strictjson.Object {
	c, err := object.Child(name)
	if err != nil || c == nil {
		return &strictjson.Object{}
	}
	return c
}
