package effect

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// ErrNotRemote says that nothing may be sent here: the code is not in a remote
// effect, or its attempt is over.
var ErrNotRemote = errors.New("nothing may be sent: not in a remote effect, or its attempt is over")

type senderKey struct{}

// sender is the permission of one attempt of a remote effect to send, and what it
// learned from what it sent.
type sender struct {
	work      *store.Work
	claim     store.Claim
	remembers time.Duration

	mu   sync.Mutex
	over bool
	// sent counts the sends that may have an effect, refused those of them that
	// are known to have none.
	sent, refused int
	// blind counts the sends through BeforeSend alone, whose answers nobody sees.
	blind int
	// failure is why something could not be sent.
	failure error
}

func senderOf(ctx context.Context) *sender {
	s, _ := ctx.Value(senderKey{}).(*sender)
	return s
}

// BeforeSend is for clients that are not HTTP, and is called immediately before
// each send: it checks that the attempt still has its claim, its time and the
// lifetime of its key, and stores that something was sent. An error means that
// nothing may be sent; the effect's function returns it. The call must end before
// ctx does.
func BeforeSend(ctx context.Context) error {
	s := senderOf(ctx)
	if _, err := s.permit(ctx, false); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blind++
	return nil
}

// permit returns how long a call may take that begins now.
func (s *sender) permit(ctx context.Context, reads bool) (time.Duration, error) {
	if s == nil {
		return 0, oncehook.Permanent(ErrNotRemote)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, oncehook.Permanent(ErrNotRemote)
	}
	call := DefaultStartToClose
	if deadline, ok := ctx.Deadline(); ok {
		call = time.Until(deadline)
	}
	if call <= 0 {
		return 0, context.DeadlineExceeded
	}
	asked := time.Now()
	left, err := s.work.BeforeSend(ctx, s.claim, store.Send{Remembers: s.remembers, Call: call, Reads: reads})
	if err != nil {
		s.failure = err
		return 0, err
	}
	if !reads {
		s.sent++
	}
	// The answer's way here is not the downstream's to use.
	return left - time.Since(asked), nil
}

// learn notes an answer. Below 500, and but for 409, which says that a call with
// this key is under way, a refusal says that the call had no effect.
func (s *sender) learn(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status >= 400 && status <= 499 && status != http.StatusConflict {
		s.refused++
	}
}

// unsent notes that not one byte of a call was sent.
func (s *sender) unsent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
}

// end refuses later sends. It returns whether nothing that was sent can have had
// an effect, and why something could not be sent. definite says that the function
// itself knows its call to be refused.
func (s *sender) end(definite bool) (answered bool, failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	refused := s.refused
	if definite {
		refused += s.blind
	}
	return refused >= s.sent, s.failure
}
