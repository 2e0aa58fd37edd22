package store

// delivery is a candidate whose body is sealed.
type delivery struct {
	*Candidate
	dataKeyID int64
	sealed    []byte
}

// deliveryOverhead is what a delivery takes in the queue beside its body, roughly, in bytes.
const deliveryOverhead = 1 << 10

// unit is one request's deliveries on their way through a commit.
type unit struct {
	deliveries []delivery
	bytes      int64
	// done is closed when results or err are set.
	done    chan struct{}
	results []AcceptResult
	err     error
}

func (u *unit) size() (int, int64) { return len(u.deliveries), u.bytes }

func (u *unit) succeed(results []AcceptResult) {
	u.results = results
	close(u.done)
}

func (u *unit) fail(err error) {
	u.err = err
	close(u.done)
}
