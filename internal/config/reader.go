package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook"
)

// reader walks a parsed file and collects problems. It reads nodes instead of
// decoding into structs: so every problem has its line, and no message of a
// decoder repeats a value that may be a secret.
type reader struct {
	file       string
	dir        string
	environ    func(string) (string, bool)
	problems   []Problem
	references map[string]reference
	// unmade lets secrets be missing that a reference leads to.
	unmade bool
	// lines holds the line of each secret.
	lines map[string]int
	// variables maps an environment variable in use to the path that it sets.
	variables map[string]string
}

func (r *reader) problem(line int, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) parse(data []byte) *yaml.Node {
	var document yaml.Node
	if err := yaml.Load(data, &document); err != nil {
		line, message := syntaxError(err)
		r.problem(line, "", "is not one valid YAML document: %s", message)
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		r.problem(0, "", "is empty")
		return nil
	}
	return document.Content[0]
}

var (
	quoted      = regexp.MustCompile("(?s)'.*'|`.*`|\".*\"")
	lineOfError = regexp.MustCompile(`\bline (\d+)\b`)
)

// syntaxError keeps a parser's line and reason, and drops what it quotes.
func syntaxError(err error) (int, string) {
	line, message := 0, err.Error()
	if e, ok := asLoadError(err); ok {
		line, message = e.Mark.Line, e.Message
	} else if m := lineOfError.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return line, quoted.ReplaceAllString(message, "…")
}

// object is a mapping whose members are taken one by one. Members of a section
// that is absent can still come from the environment.
type object struct {
	r       *reader
	path    string
	line    int
	members map[string]*yaml.Node
	lines   map[string]int
	order   []string
	known   []string
	// inList is set below a list, where the environment cannot reach.
	inList bool
}

func (r *reader) object(n *yaml.Node, path string, line int, inList bool) *object {
	o := &object{r: r, path: path, line: line, members: map[string]*yaml.Node{}, lines: map[string]int{}, inList: inList}
	if n == nil || isNull(n) {
		return o
	}
	o.line = n.Line
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, path, "must be a mapping of keys to values")
		return o
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, value := n.Content[k], n.Content[k+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			r.problem(key.Line, path, "has a key that is not a plain word")
		case o.members[key.Value] != nil:
			r.problem(key.Line, o.child(key.Value), "is given a second time; first on line %d", o.lines[key.Value])
		default:
			o.members[key.Value] = value
			o.lines[key.Value] = key.Line
			o.order = append(o.order, key.Value)
		}
	}
	return o
}

func (o *object) child(key string) string {
	if o.path == "" {
		return printable(key)
	}
	return o.path + "." + printable(key)
}

func (o *object) lineOf(key string) int {
	if line, ok := o.lines[key]; ok {
		return line
	}
	return o.line
}

// take marks a key as known and returns its value, or nil.
func (o *object) take(key string) *yaml.Node {
	o.known = append(o.known, key)
	return o.members[key]
}

func (o *object) section(key string) *object {
	n := o.take(key)
	return o.r.object(n, o.child(key), o.lineOf(key), o.inList)
}

// done reports every key that nothing has taken.
func (o *object) done() {
	known := map[string]bool{}
	for _, k := range o.known {
		known[k] = true
	}
	for _, key := range o.order {
		if !known[key] {
			o.r.problem(o.lines[key], o.child(key), "is not a known key; here are known: %s", strings.Join(o.known, ", "))
		}
	}
}

// variable returns the environment variable that sets the path.
func variable(path string) string {
	name := []byte(oncehook.EnvPrefix + strings.ToUpper(path))
	for n, c := range name {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			name[n] = '_'
		}
	}
	return string(name)
}

// override returns the environment's value for a key, if it has one. An empty
// variable counts as not set.
func (o *object) override(key string) (value, name string, ok bool) {
	if o.inList {
		return "", "", false
	}
	path := o.child(key)
	name = variable(path)
	value, ok = o.r.environ(name)
	if !ok || value == "" {
		return "", name, false
	}
	if other, taken := o.r.variables[name]; taken && other != path {
		o.r.problem(o.lineOf(key), path, "and %s would both be set by %s: rename one of the two", other, name)
		return "", name, false
	}
	o.r.variables[name] = path
	return value, name, true
}

// where describes the origin of a scalar for messages.
type where struct {
	line int
	path string
}

// scalar returns a key's text, and whether it was given at all.
func (o *object) scalar(key string) (string, where, bool) {
	n := o.take(key)
	at := where{line: o.lineOf(key), path: o.child(key)}
	if value, name, ok := o.override(key); ok {
		return value, where{path: at.path + " (from " + name + ")"}, true
	}
	if n == nil || isNull(n) {
		return "", at, false
	}
	if !isPlain(n) {
		o.r.problem(n.Line, at.path, "must be a single value")
		return "", at, false
	}
	return n.Value, at, true
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func isPlain(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return true
	default:
		return false
	}
}

// printable makes a name from the file safe to print and short.
func printable(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "…"
	}
	q := strconv.Quote(s)
	if q[1:len(q)-1] == s {
		return s
	}
	return q
}
