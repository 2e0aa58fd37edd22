package telemetry

import (
	"container/list"
	"sync"
)

// runsKept bounds the runs that a process remembers: more than it has at once.
const runsKept = 4096

// Runs remembers which event a Temporal run belongs to, for lines that name the
// run alone. Its methods work on a nil receiver and are safe for concurrent use.
type Runs struct {
	mu     sync.Mutex
	byRun  map[string]*list.Element
	recent list.List // of remembered, the most recent first
}

type remembered struct {
	runID string
	event Event
}

// Remember keeps the event of a run; the run that was longest not seen goes for it.
func (r *Runs) Remember(runID string, e Event) {
	if r == nil || runID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, ok := r.byRun[runID]; ok {
		r.recent.MoveToFront(element)
		return
	}
	if r.byRun == nil {
		r.byRun = map[string]*list.Element{}
	}
	r.byRun[runID] = r.recent.PushFront(remembered{runID, e})
	if r.recent.Len() > runsKept {
		oldest := r.recent.Back()
		r.recent.Remove(oldest)
		delete(r.byRun, oldest.Value.(remembered).runID)
	}
}

// Event returns the event of a run, or the zero Event.
func (r *Runs) Event(runID string) Event {
	if r == nil {
		return Event{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, ok := r.byRun[runID]; ok {
		return element.Value.(remembered).event
	}
	return Event{}
}
