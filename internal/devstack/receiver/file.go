package receiver

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// maxLines is when the file is written anew with what is remembered only.
const maxLines = 4 * MaxNotices

// line is one line of the file: the counts that it begins with, a notice, or the
// key of a copy.
type line struct {
	Counts *counts `json:"counts,omitempty"`
	Notice *Notice `json:"notice,omitempty"`
	// Digest is the SHA-256 of the notice's body as it came, in hex.
	Digest string `json:"digest,omitempty"`
	// Counted says that the counts before it have the notice in them.
	Counted bool   `json:"counted,omitempty"`
	Replay  string `json:"replay,omitempty"`
}

type counts struct {
	Total   int `json:"total"`
	Replays int `json:"replays"`
}

// file is where a Receiver keeps what it remembers: JSON lines, each written whole
// before the answer. It is not synced: it outlives the process, not the machine.
type file struct {
	path  string
	f     *os.File
	lines int
}

// Open makes a Receiver that remembers what an earlier one wrote to the file at
// path, and goes on with it. A line that broke off is left out. A file that is
// there is read to its end: one process may have it open.
func Open(path string, now func() time.Time) (*Receiver, error) {
	r := New(now)
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the notices: %w", err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, 4*MaxBody+4096)
	for scanner.Scan() {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) == nil {
			r.recall(l)
		}
	}
	r.file = &file{path: path}
	if err := r.rewrite(); err != nil {
		return nil, err
	}
	return r, nil
}

// Close closes the file.
func (r *Receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil || r.file.f == nil {
		return nil
	}
	return r.file.f.Close()
}

// recall repeats what a line tells of.
func (r *Receiver) recall(l line) {
	switch {
	case l.Counts != nil:
		r.total, r.replays = l.Counts.Total, l.Counts.Replays
	case l.Notice != nil:
		digest, err := hex.DecodeString(l.Digest)
		if err != nil || len(digest) != sha256.Size {
			return
		}
		r.remember(&remembered{Notice: *l.Notice, digest: [sha256.Size]byte(digest), answer: answerOf(l.Notice.ID)})
		if !l.Counted {
			r.total++
		}
	case r.known[l.Replay] != nil:
		r.known[l.Replay].Replays++
		r.replays++
	}
}

// append writes one line, before what it tells of is remembered.
func (r *Receiver) append(l line) error {
	if r.file == nil {
		return nil
	}
	encoded, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := r.file.f.Write(append(encoded, '\n')); err != nil {
		return err
	}
	r.file.lines++
	return nil
}

// tidy keeps the file from growing without end.
func (r *Receiver) tidy() error {
	if r.file == nil || r.file.lines < maxLines {
		return nil
	}
	return r.rewrite()
}

// rewrite replaces the file, whole or not at all, by what is remembered now.
func (r *Receiver) rewrite() error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	err := encoder.Encode(line{Counts: &counts{r.total, r.replays}})
	for _, n := range r.order {
		err = errors.Join(err, encoder.Encode(line{Notice: &n.Notice, Digest: hex.EncodeToString(n.digest[:]), Counted: true}))
	}
	if err != nil {
		return fmt.Errorf("write the notices: %w", err)
	}
	made := r.file.path + ".new"
	if err := os.WriteFile(made, content.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the notices: %w", err)
	}
	if err := os.Rename(made, r.file.path); err != nil {
		return fmt.Errorf("write the notices: %w", err)
	}
	f, err := os.OpenFile(r.file.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write the notices: %w", err)
	}
	if r.file.f != nil {
		_ = r.file.f.Close()
	}
	r.file.f, r.file.lines = f, 1+len(r.order)
	return nil
}
