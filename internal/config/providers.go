package config

import (
	"fmt"
	"slices"
	"strings"
)

// RequireProviders returns an error that names, by its line, every source whose
// provider is none of the kinds that the program knows.
func (c *Config) RequireProviders(kinds []string) error {
	var problems []Problem
	for _, s := range c.Sources {
		if slices.Contains(kinds, s.Provider) {
			continue
		}
		path := "sources." + printable(s.Name) + ".provider"
		problems = append(problems, Problem{
			File: c.File, Line: c.lines[path], Path: path,
			Message: fmt.Sprintf("names an unknown kind, %s; known are %s", printable(s.Provider), strings.Join(kinds, ", ")),
		})
	}
	if len(problems) == 0 {
		return nil
	}
	sortProblems(problems)
	return &LoadError{Problems: problems}
}
