package store

import (
	"sync"

	"github.com/oncehook/oncehook"
)

// inFlight counts the queued copies of each event.
type inFlight struct {
	mu     sync.Mutex
	copies map[oncehook.Key]int
}

func (f *inFlight) has(key oncehook.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copies[key] > 0
}

func (f *inFlight) add(u *unit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range u.deliveries {
		f.copies[u.deliveries[i].Key]++
	}
}

func (f *inFlight) remove(u *unit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range u.deliveries {
		key := u.deliveries[i].Key
		if f.copies[key]--; f.copies[key] <= 0 {
			delete(f.copies, key)
		}
	}
}
