package metrics

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
)

// other stands for a value that is no word, or one too many.
const other = "other"

const (
	// wordBytes is the longest value of a label, wordsMost how many a label has.
	wordBytes = 64
	wordsMost = 512
)

// words keeps the values of labels bounded, whatever reaches them. Values come
// from the configuration and from fixed lists; this is the second fence.
type words struct {
	mu   sync.RWMutex
	seen map[string]map[string]bool
}

func (w *words) label(label, value string) attribute.KeyValue {
	return attribute.String(label, w.bounded(label, value))
}

func (w *words) bounded(label, value string) string {
	w.mu.RLock()
	known := w.seen[label][value]
	w.mu.RUnlock()
	switch {
	case known:
		return value
	case !isWord(value):
		return other
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]map[string]bool{}
	}
	values := w.seen[label]
	if values == nil {
		values = map[string]bool{}
		w.seen[label] = values
	}
	if !values[value] && len(values) >= wordsMost {
		return other
	}
	values[value] = true
	return value
}

// isWord reports whether the value looks like a name that somebody chose: short
// and of the letters of sources, actions and error types. "" is one: no source.
func isWord(value string) bool {
	if len(value) > wordBytes {
		return false
	}
	for _, c := range []byte(value) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}
