// Package receiver is a downstream for a laptop: it takes notices over HTTP,
// honours their idempotency keys as a careful service does, and shows what it got.
package receiver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
)

// Path is where notices are posted and listed.
const Path = "/notices"

// Bounds of what is kept. The oldest notice, and the memory of its key, goes first.
const (
	MaxNotices = 1000
	MaxBody    = 16 << 10
)

// HeaderReplayed marks an answer that was given before to the same key.
const HeaderReplayed = "Idempotent-Replayed"

// Notice is one notice as it was first received.
type Notice struct {
	ID             string          `json:"id"`
	IdempotencyKey string          `json:"idempotency_key"`
	CorrelationID  string          `json:"correlation_id"`
	ReceivedAt     time.Time       `json:"received_at"`
	Body           json.RawMessage `json:"body"`
	// Replays counts the copies that came later and changed nothing.
	Replays int `json:"replays"`
}

// Receiver remembers notices, and their keys, in memory and where it has one in a
// file. It is safe for concurrent use.
type Receiver struct {
	now func() time.Time

	mu      sync.Mutex
	file    *file // nil: in memory only
	known   map[string]*remembered
	order   []*remembered // oldest first
	total   int
	replays int
}

type remembered struct {
	Notice
	digest [sha256.Size]byte
	answer []byte
}

// New makes an empty Receiver with a clock, which forgets all when it ends.
func New(now func() time.Time) *Receiver {
	return &Receiver{now: now, known: map[string]*remembered{}}
}

// Handler serves POST and GET /notices, and a page for people at /.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.post)
	mux.HandleFunc("GET "+Path, r.list)
	mux.HandleFunc("GET /{$}", r.page)
	return mux
}

// post answers 201 to a new key, the same again to the same key and body, and 422
// to the same key with another body.
func (r *Receiver) post(w http.ResponseWriter, request *http.Request) {
	key := request.Header.Get(oncehook.HeaderIdempotencyKey)
	if key == "" || len(key) > 255 {
		refuse(w, http.StatusBadRequest, "the header "+oncehook.HeaderIdempotencyKey+" is missing or longer than 255 bytes")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, MaxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "the body is larger than 16 KiB or broke off")
		return
	}
	if !json.Valid(body) {
		refuse(w, http.StatusBadRequest, "the body is not JSON")
		return
	}
	notice, replayed, ok, err := r.take(key, request.Header.Get(oncehook.HeaderCorrelationID), body)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the notice cannot be kept: send it again")
		return
	}
	if !ok {
		refuse(w, http.StatusUnprocessableEntity, "the key was used before with another body")
		return
	}
	if replayed {
		w.Header().Set(HeaderReplayed, "true")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(notice.answer)
}

// take finds the notice of the key or makes it; ok is false when its body differs.
// After an error nothing is remembered of it.
func (r *Receiver) take(key, correlationID string, body []byte) (notice *remembered, replayed, ok bool, err error) {
	digest := sha256.Sum256(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.tidy(); err != nil {
		return nil, false, false, err
	}
	if notice := r.known[key]; notice != nil {
		if notice.digest != digest {
			return nil, false, false, nil
		}
		if err := r.append(line{Replay: key}); err != nil {
			return nil, false, false, err
		}
		notice.Replays++
		r.replays++
		return notice, true, true, nil
	}
	id := fmt.Sprintf("notice-%06d", r.total+1)
	notice = &remembered{
		Notice: Notice{ID: id, IdempotencyKey: key, CorrelationID: correlationID, ReceivedAt: r.now().UTC(), Body: bytes.Clone(body)},
		digest: digest, answer: answerOf(id),
	}
	if err := r.append(line{Notice: &notice.Notice, Digest: hex.EncodeToString(digest[:])}); err != nil {
		return nil, false, false, err
	}
	r.total++
	r.remember(notice)
	return notice, false, true, nil
}

func answerOf(id string) []byte { return []byte(`{"id":"` + id + `"}`) }

func (r *Receiver) remember(notice *remembered) {
	r.known[notice.IdempotencyKey] = notice
	r.order = append(r.order, notice)
	if len(r.order) > MaxNotices {
		delete(r.known, r.order[0].IdempotencyKey)
		r.order = r.order[1:]
	}
}

// Summary is everything that is remembered, newest first.
type Summary struct {
	// Total counts the notices since the first start, Replays the copies beyond the first.
	Total   int      `json:"total"`
	Replays int      `json:"replays"`
	Notices []Notice `json:"notices"`
}

// Summary returns what is remembered now.
func (r *Receiver) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Summary{Total: r.total, Replays: r.replays, Notices: []Notice{}}
	for n := len(r.order) - 1; n >= 0; n-- {
		s.Notices = append(s.Notices, r.order[n].Notice)
	}
	return s
}

func (r *Receiver) list(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, r.Summary())
}

func refuse(w http.ResponseWriter, status int, detail string) {
	answer(w, status, map[string]any{"status": status, "detail": detail})
}

func answer(w http.ResponseWriter, status int, document any) {
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(content, '\n'))
}
