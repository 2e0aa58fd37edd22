package config

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing wrong with a configuration file.
type Problem struct {
	File string
	// Line is 1-based; 0 when the problem belongs to no line.
	Line int
	// Path is the dotted path of the setting, or "".
	Path    string
	Message string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(p.Line))
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteByte(' ')
	}
	b.WriteString(p.Message)
	return b.String()
}

// LoadError is everything wrong with a configuration, one problem per line.
type LoadError struct{ Problems []Problem }

func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for n, p := range e.Problems {
		lines[n] = p.String()
	}
	return strings.Join(lines, "\n")
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
}

// cause is why a file operation failed, without the path, which the caller names.
func cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
