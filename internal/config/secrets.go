package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook"
)

// Least lengths of secrets, in bytes.
const (
	minToken   = 16
	minPresent = 1
)

// maxSecretFile bounds what is read as a secret.
const maxSecretFile = 1 << 20

// reference says where a secret comes from; it is no secret itself.
type reference struct {
	Env  string `yaml:"env,omitempty"`
	File string `yaml:"file,omitempty"`
}

const howToRefer = "write {file: PATH} or {env: NAME}"

var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// secret reads {env: NAME} or {file: path} and what that refers to. The
// environment may replace the whole setting by its value.
func (o *object) secret(key string, least int, required bool) oncehook.Secret {
	n := o.take(key)
	at := where{line: o.lineOf(key), path: o.child(key)}
	if value, name, ok := o.override(key); ok {
		return o.r.accept(reference{Env: name}, oncehook.Secret(value), at, least)
	}
	if n == nil || isNull(n) {
		if required {
			o.r.problem(at.line, at.path, "is missing: %s", howToRefer)
		}
		return nil
	}
	ref, ok := o.r.reference(n, at)
	if !ok {
		return nil
	}
	return o.r.resolve(ref, at, least)
}

func (r *reader) reference(n *yaml.Node, at where) (reference, bool) {
	if n.Kind == yaml.ScalarNode {
		r.problem(n.Line, at.path, "holds the secret itself: a secret is given by reference only, %s, and replace this one, which others may have read here", howToRefer)
		return reference{}, false
	}
	// The content of a malformed reference may be the secret: nothing of it is repeated.
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || !isPlain(n.Content[0]) || !isPlain(n.Content[1]) || n.Content[1].Value == "" {
		r.problem(n.Line, at.path, "must be one reference: %s", howToRefer)
		return reference{}, false
	}
	value := n.Content[1].Value
	switch n.Content[0].Value {
	case "env":
		if !variableName.MatchString(value) {
			r.problem(n.Line, at.path, "does not name an environment variable: write {env: NAME}, in capitals, not its content")
			return reference{}, false
		}
		return reference{Env: value}, true
	case "file":
		return reference{File: r.absolute(value)}, true
	default:
		r.problem(n.Line, at.path, "must be one reference: %s", howToRefer)
		return reference{}, false
	}
}

// absolute resolves a path from the configuration file's folder.
func (r *reader) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.dir, path)
}

func (r *reader) resolve(ref reference, at where, least int) oncehook.Secret {
	if ref.Env != "" {
		value, ok := r.environ(ref.Env)
		switch {
		case !ok && r.unmade:
			r.references[at.path] = ref
			return nil
		case !ok:
			r.problem(at.line, at.path, "refers to the environment variable %s, which is not set%s", ref.Env, maker(at.path))
			return nil
		}
		return r.accept(ref, oncehook.Secret(value), at, least)
	}
	content, err := readSecret(ref.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.unmade:
		r.references[at.path] = ref
		return nil
	case errors.Is(err, fs.ErrNotExist):
		r.problem(at.line, at.path, "refers to the file %s, which cannot be read: %s%s", printablePath(ref.File), cause(err), maker(at.path))
		return nil
	case err != nil:
		r.problem(at.line, at.path, "refers to the file %s, which cannot be read: %s", printablePath(ref.File), cause(err))
		return nil
	}
	return r.accept(ref, content, at, least)
}

func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxSecretFile))
}

// accept checks a secret and remembers where it came from.
func (r *reader) accept(ref reference, secret oncehook.Secret, at where, least int) oncehook.Secret {
	secret = trimLineEnd(secret)
	from := "the file " + printablePath(ref.File)
	if ref.Env != "" {
		from = "the environment variable " + ref.Env
	}
	trimmed := bytes.TrimSpace(secret)
	switch {
	case len(secret) == 0:
		r.problem(at.line, at.path, "is empty in %s: put a random secret of at least %d bytes there", from, max(least, minToken))
	case len(trimmed) == 0:
		r.problem(at.line, at.path, "is only white space in %s: put a random secret of at least %d bytes there", from, max(least, minToken))
	case len(trimmed) != len(secret):
		r.problem(at.line, at.path, "begins or ends with white space in %s: remove it (one line end at the end is ignored)", from)
	case len(secret) < least:
		r.problem(at.line, at.path, "is too short in %s: it has %d bytes and needs at least %d", from, len(secret), least)
	default:
		r.references[at.path], r.lines[at.path] = ref, at.line
		return secret
	}
	return nil
}

func trimLineEnd(secret []byte) []byte {
	secret = bytes.TrimSuffix(secret, []byte("\n"))
	return bytes.TrimSuffix(secret, []byte("\r"))
}

func printablePath(path string) string {
	if notText(path) != "" {
		return printable(path)
	}
	return path
}
