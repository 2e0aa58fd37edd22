package config

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

func asLoadError(err error) (*yaml.LoadError, bool) { return errors.AsType[*yaml.LoadError](err) }

func (o *object) text(key, fallback string) string {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	if reason := notText(value); reason != "" {
		o.r.problem(at.line, at.path, "%s", reason)
		return fallback
	}
	return value
}

// notText says why a value is no line of text, or "".
func notText(value string) string {
	if !utf8.ValidString(value) {
		return "is not valid UTF-8"
	}
	if strings.IndexFunc(value, unicode.IsControl) >= 0 {
		return "holds a control character"
	}
	if strings.TrimSpace(value) != value {
		return "begins or ends with white space"
	}
	return ""
}

func (o *object) boolean(key string, fallback bool) bool {
	value, at, ok := o.scalar(key)
	switch {
	case !ok:
		return fallback
	case value == "true":
		return true
	case value == "false":
		return false
	default:
		o.r.problem(at.line, at.path, "must be true or false")
		return fallback
	}
}

func (o *object) integer(key string, fallback, least, most int) int {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		o.r.problem(at.line, at.path, "must be a whole number from %d to %d", least, most)
		return fallback
	}
	return n
}

func (o *object) number(key string) float64 {
	value, at, ok := o.scalar(key)
	if !ok {
		return 0
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		o.r.problem(at.line, at.path, "must be a number from 0")
		return 0
	}
	return f
}

// size reads bytes: a whole number, alone or with B, KiB or MiB.
func (o *object) size(key string, fallback, most int64) int64 {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	digits, unit := value, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if d, found := strings.CutSuffix(value, suffix); found {
			digits, unit = d, factor
		}
	}
	digits = strings.TrimSuffix(digits, "B")
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
	if err != nil || n < 1 || n*unit > most {
		o.r.problem(at.line, at.path, "must be a size from 1B to %s, such as 512KiB or 1MiB", formatSize(most))
		return fallback
	}
	return n * unit
}

func formatSize(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KiB"
	default:
		return strconv.FormatInt(n, 10) + "B"
	}
}

// address reads host:port; the host may be empty and the port 0.
func (o *object) address(key, fallback string) string {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || notText(value) != "" {
		o.r.problem(at.line, at.path, "must be host:port, such as %s", fallback)
		return fallback
	}
	return value
}

// link reads an absolute http or https URL, or "". A trailing slash is dropped.
func (o *object) link(key string) string {
	value, at, ok := o.scalar(key)
	if !ok || value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || notText(value) != "" {
		o.r.problem(at.line, at.path, "must be an http or https URL without user, query and fragment")
		return ""
	}
	return strings.TrimRight(value, "/")
}

// date reads YYYY-MM-DD, or "".
func (o *object) date(key string) string {
	value, at, ok := o.scalar(key)
	if !ok || value == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, value); err != nil {
		o.r.problem(at.line, at.path, "must be a date such as 2026-11-30")
		return ""
	}
	return value
}

// instant reads an RFC 3339 time; absent is the zero time.
func (o *object) instant(key string) time.Time {
	value, at, ok := o.scalar(key)
	if !ok || value == "" {
		return time.Time{}
	}
	t, err := time.Parse(credentialExpiry, value)
	if err != nil {
		o.r.problem(at.line, at.path, "must be a time such as 2026-11-30T18:00:00Z")
		return time.Time{}
	}
	return t
}

// list returns the elements of a sequence, and whether the key was given.
func (o *object) list(key string) ([]*yaml.Node, bool) {
	n := o.take(key)
	if n == nil || isNull(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		o.r.problem(n.Line, o.child(key), "must be a list")
		return nil, false
	}
	return n.Content, true
}

// texts reads a list of distinct, non-empty texts.
func (o *object) texts(key string) []string {
	nodes, _ := o.list(key)
	var out []string
	seen := map[string]bool{}
	for k, n := range nodes {
		path := o.child(key) + "[" + strconv.Itoa(k) + "]"
		switch {
		case !isPlain(n) || n.Value == "":
			o.r.problem(n.Line, path, "must be a text that is not empty")
		case notText(n.Value) != "":
			o.r.problem(n.Line, path, "%s", notText(n.Value))
		case seen[n.Value]:
			o.r.problem(n.Line, path, "repeats %s", printable(n.Value))
		default:
			seen[n.Value] = true
			out = append(out, n.Value)
		}
	}
	return out
}

// prefixes reads a list of networks; a single address stands for itself.
func (o *object) prefixes(key string) []netip.Prefix {
	nodes, _ := o.list(key)
	var out []netip.Prefix
	for k, n := range nodes {
		path := o.child(key) + "[" + strconv.Itoa(k) + "]"
		if p, err := netip.ParsePrefix(n.Value); err == nil && isPlain(n) {
			out = append(out, p.Masked())
		} else if a, err := netip.ParseAddr(n.Value); err == nil && isPlain(n) && a.Zone() == "" {
			out = append(out, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		} else {
			o.r.problem(n.Line, path, "must be a network such as 10.0.0.0/8 or an address")
		}
	}
	return out
}
