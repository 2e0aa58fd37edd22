package accept_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// patient raises the time an accept may wait for another's commit above what a
// test holds it.
var patient = map[string]string{"lock_timeout": "60s", "statement_timeout": "90s"}

// beforeCommit holds every accept that inserts a receipt before its COMMIT.
func beforeCommit(s *harness.System) *harness.Barrier {
	return s.Barrier("INSERT", "oncehook.receipts", "", true)
}

// waitingCopies counts the accepts that wait for the first copy's transaction.
const waitingCopies = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'transactionid' AND application_name LIKE 'oncehook%'`

func post(answers chan<- harness.Answer, p *harness.Process, body string) {
	go func() { answers <- p.Post("logistics", harness.LogisticsToken, body) }()
}

func silent(t *testing.T, answers <-chan harness.Answer) {
	t.Helper()
	select {
	case a := <-answers:
		require.FailNow(t, "a copy was answered before the first one committed", "%d %s", a.Status, a.Body)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestADuplicateInAnotherProcessIsAnsweredOnlyAfterTheFirstCommitted(t *testing.T) {
	s := harness.New(t, harness.Options{Parameters: patient})
	one, two := s.Serve(), s.Serve()
	barrier := beforeCommit(s)

	first, copies := make(chan harness.Answer, 1), make(chan harness.Answer, 2)
	post(first, one, harness.Event("held"))
	barrier.Reached(1)
	post(copies, two, harness.Event("held"))
	s.Eventually(1, 30*time.Second, waitingCopies)
	post(copies, one, harness.Event("held")) // behind the first in its own process
	silent(t, copies)
	silent(t, first)

	barrier.Release()
	accepted := (<-first).Is(t, http.StatusAccepted, "accepted")
	for range 2 {
		duplicate := (<-copies).Is(t, http.StatusOK, "duplicate")
		require.Equal(t, accepted.ReceiptID, duplicate.ReceiptID)
		require.Equal(t, accepted.CorrelationID, duplicate.CorrelationID)
	}
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.receipts`))
}

func TestAfterARollbackOfTheFirstCopyExactlyOneOfTheOthersIsAccepted(t *testing.T) {
	s := harness.New(t, harness.Options{Parameters: patient})
	one, two := s.Serve(), s.Serve()
	barrier := beforeCommit(s)

	first, copies := make(chan harness.Answer, 1), make(chan harness.Answer, 2)
	post(first, one, harness.Event("rolled-back"))
	barrier.Reached(1)
	post(copies, two, harness.Event("rolled-back"))
	s.Eventually(1, 30*time.Second, waitingCopies)
	post(copies, two, harness.Event("rolled-back"))
	silent(t, copies)

	barrier.Abort()
	(<-first).Is(t, http.StatusServiceUnavailable, "unavailable")
	silent(t, copies) // the next one to insert now stands at the barrier itself
	barrier.Release()
	results := []string{}
	for range 2 {
		a := <-copies
		require.NoError(t, a.Err)
		results = append(results, a.Result)
	}
	require.ElementsMatch(t, []string{"accepted", "duplicate"}, results)
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.event_keys`))
}

func TestACopyThatWaitsPastTheLockTimeoutIsToldToTryLater(t *testing.T) {
	s := harness.New(t, harness.Options{})
	holder, hasty := s.With(patient).Serve(), s.Serve()
	barrier := beforeCommit(s)

	first := make(chan harness.Answer, 1)
	post(first, holder, harness.Event("slow"))
	barrier.Reached(1)
	hasty.Post("logistics", harness.LogisticsToken, harness.Event("slow")).Is(t, http.StatusServiceUnavailable, "unavailable")
	hasty.Post("logistics", harness.LogisticsToken, harness.Event("slow")).Is(t, http.StatusServiceUnavailable, "unavailable")

	barrier.Release()
	(<-first).Is(t, http.StatusAccepted, "accepted")
	hasty.Post("logistics", harness.LogisticsToken, harness.Event("slow")).Is(t, http.StatusOK, "duplicate")
}

func TestARequestOfThreeEventsCommitsAsOneBesideSingleOnes(t *testing.T) {
	s := harness.New(t, harness.Options{Parameters: patient})
	one, two := s.Serve(), s.Serve()
	barrier := beforeCommit(s)

	// `batch` events and `logistics` events have keys of their own source.
	body := "[" + strings.Join([]string{harness.Event("a"), harness.Event("b"), harness.Event("c")}, ",") + "]"
	batch, single, copyOfB := make(chan harness.Answer, 1), make(chan harness.Answer, 1), make(chan harness.Answer, 1)
	go func() { batch <- one.Post("batch", harness.BatchToken, body) }()
	barrier.Reached(1)
	go func() { copyOfB <- two.Post("batch", harness.BatchToken, "["+harness.Event("b")+"]") }()
	s.Eventually(1, 30*time.Second, waitingCopies)
	go func() { single <- one.Post("logistics", harness.LogisticsToken, harness.Event("b")) }()
	silent(t, copyOfB)
	require.Equal(t, 0, s.Count(`SELECT count(*) FROM oncehook.receipts`), "nothing of the three is visible before the commit")

	barrier.Release()
	all := <-batch
	require.Equal(t, http.StatusAccepted, all.Status, all.Body)
	require.Equal(t, 3, strings.Count(all.Body, `"accepted"`), all.Body)
	duplicate := <-copyOfB
	require.Equal(t, http.StatusOK, duplicate.Status, duplicate.Body)
	require.Contains(t, duplicate.Body, `"duplicate"`)
	(<-single).Is(t, http.StatusAccepted, "accepted")
	require.Equal(t, 4, s.Count(`SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, 1, s.Count(`SELECT count(DISTINCT transaction_id::text) FROM oncehook.audit WHERE source = 'batch' AND outcome = 'accepted'`),
		"the three were one transaction")
}

func TestConcurrentCopiesOverTwoProcessesAreOneAcceptedEvent(t *testing.T) {
	s := harness.New(t, harness.Options{})
	processes := []*harness.Process{s.Serve(), s.Serve()}
	for _, copies := range []int{2, 10, 100} {
		t.Run(fmt.Sprint(copies), func(t *testing.T) {
			body := harness.Event(fmt.Sprintf("copies-%d", copies))
			answers := make(chan harness.Answer, copies)
			for i := range copies {
				post(answers, processes[i%2], body)
			}
			statuses := map[int]int{}
			receipts := map[string]bool{}
			for range copies {
				a := <-answers
				require.NoError(t, a.Err)
				statuses[a.Status]++
				receipts[a.ReceiptID] = true
			}
			require.Equal(t, map[int]int{http.StatusAccepted: 1, http.StatusOK: copies - 1}, statuses)
			require.Len(t, receipts, 1)
			for receipt := range receipts {
				require.Equal(t, copies-1, s.Count(`SELECT duplicates FROM oncehook.delivery_counts WHERE receipt_id = $1`, receipt))
			}
		})
	}
}
