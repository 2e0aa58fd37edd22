package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// of makes the candidate concern another tenant.
func of(tenant string) change {
	return func(c *store.Candidate) {
		key, err := keys().Identity().Key(c.Source, tenant, c.Event.ID, false)
		if err != nil {
			panic(err)
		}
		c.Event.Tenant, c.Key = tenant, key
	}
}

// stopped is a clock at which many receipts share one time.
func stopped() time.Time { return time.Now().Truncate(time.Hour) }

func TestPagesShowEveryEventOnceTheNewestFirst(t *testing.T) {
	t.Parallel()
	url := database(t)
	o := options(url)
	o.Now = stopped
	in, admin := openIngress(t, o), openAdmin(t, options(url))
	var want []uuid.UUID
	for n := range 7 {
		c := copyOf(fmt.Sprint("event-", n))
		accept(t, in, c)
		want = append([]uuid.UUID{c.ReceiptID}, want...)
	}
	var got []uuid.UUID
	page := store.Page{Size: 3}
	for {
		list, err := admin.Events(t.Context(), everything, store.EventFilter{}, page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list.Events), 3)
		for _, e := range list.Events {
			got = append(got, e.ReceiptID)
		}
		if list.Next == "" {
			break
		}
		page.Cursor = list.Next
	}
	require.Equal(t, want, got, "receipts of one time are ordered by id")
}

func TestFiltersAndScopesNarrowAList(t *testing.T) {
	t.Parallel()
	url := database(t)
	in, admin := openIngress(t, options(url)), openAdmin(t, options(url))
	accept(t, in, copyOf("a"))
	accept(t, in, copyOf("b", of("south")))
	accept(t, in, copyOf("c", from("acme"), withoutWorkflow, func(c *store.Candidate) { c.Event.Type = "order.created" }))

	all := []string{store.Everything}
	for name, c := range map[string]struct {
		scope  store.Scope
		filter store.EventFilter
		want   []string
	}{
		"everything":        {everything, store.EventFilter{}, []string{"c", "b", "a"}},
		"source":            {everything, store.EventFilter{Source: "acme"}, []string{"c"}},
		"tenant":            {everything, store.EventFilter{Tenant: "south"}, []string{"b"}},
		"type":              {everything, store.EventFilter{Type: "order.created"}, []string{"c"}},
		"state":             {everything, store.EventFilter{State: oncehook.StateReceived}, []string{"b", "a"}},
		"all of them":       {everything, store.EventFilter{Source: "logistics", Tenant: "north", Type: "shipment.depot_arrival", State: oncehook.StateReceived}, []string{"a"}},
		"nothing like it":   {everything, store.EventFilter{Source: "' OR true --"}, nil},
		"no scope":          {store.Scope{}, store.EventFilter{}, nil},
		"one source":        {store.Scope{Sources: []string{"acme"}, Tenants: all}, store.EventFilter{}, []string{"c"}},
		"one tenant":        {store.Scope{Sources: all, Tenants: []string{"south"}}, store.EventFilter{}, []string{"b"}},
		"outside the scope": {store.Scope{Sources: all, Tenants: []string{"south"}}, store.EventFilter{Tenant: "north"}, nil},
	} {
		list, err := admin.Events(t.Context(), c.scope, c.filter, store.Page{Size: 50})
		require.NoError(t, err, name)
		require.Equal(t, c.want, ids(list), name)
		require.Empty(t, list.Next)
	}
}

func ids(page store.EventPage) []string {
	var list []string
	for _, e := range page.Events {
		list = append(list, e.EventID)
	}
	return list
}

func TestACursorThatNoPageReturnedIsRefused(t *testing.T) {
	t.Parallel()
	admin := openAdmin(t, options(database(t)))
	for _, cursor := range []string{"x", "!!", "MTIz", "fDAx", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OXx4", "LTF8MDFhMjJjYzAtMWZlMi03NGE5LWI5OWMtMjdmZjk1ZWNiZTNk"} {
		_, err := admin.Events(t.Context(), everything, store.EventFilter{}, store.Page{Cursor: cursor, Size: 1})
		require.ErrorIs(t, err, store.ErrCursor, cursor)
	}
}

func TestTheStatusThatPeopleSeeIsDerived(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	for name, c := range map[string]struct {
		sql  string
		want oncehook.Status
	}{
		"plain":              {`SELECT $1::uuid`, "processing"},
		"last attempt":       {`UPDATE oncehook.actions SET last_error = 'boom', next_attempt_at = now() WHERE receipt_id = $1`, oncehook.StatusRetryableFailure},
		"of an earlier run":  {`UPDATE oncehook.actions SET last_error = 'boom', run_no = 0 WHERE receipt_id = $1`, "processing"},
		"parked":             {`UPDATE oncehook.actions SET last_error = 'boom', waits_for = 'invoice 42' WHERE receipt_id = $1`, oncehook.StatusParked},
		"uncertain":          {`UPDATE oncehook.actions SET state = 'uncertain', waits_for = 'x' WHERE receipt_id = $1`, oncehook.StatusUncertain},
		"over is over":       {`UPDATE oncehook.receipts SET state = 'succeeded', version = version + 1 WHERE id = $1`, "succeeded"},
		"start not possible": {`UPDATE oncehook.outbox SET last_error = 'down', dispatched_at = NULL, lease_until = now() + interval '1 hour' WHERE receipt_id = $1`, oncehook.StatusRetryableFailure},
	} {
		t.Run(name, func(t *testing.T) {
			event := s.queued(t, "event "+name)
			s.claimAction(t, event.ReceiptID, 1)
			_, err := s.db.Exec(t.Context(), c.sql, event.ReceiptID)
			require.NoError(t, err)
			receipt, err := admin.Receipt(t.Context(), everything, event.ReceiptID)
			require.NoError(t, err)
			require.Equal(t, c.want, receipt.Status)
		})
	}
}

func TestAHoldShowsOnWhatItCoversUntilItIsReleased(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	north, south := copyOf("a"), copyOf("b", of("south"))
	accept(t, s.ingress, north)
	accept(t, s.ingress, south)
	_, err := s.db.Exec(t.Context(), `INSERT INTO oncehook.switches (id, kind, tenant, reason, set_by) VALUES (gen_random_uuid(), 'hold', 'south', 'r', 'o')`)
	require.NoError(t, err)
	status := func(c store.Candidate) oncehook.Status {
		receipt, err := admin.Receipt(t.Context(), everything, c.ReceiptID)
		require.NoError(t, err)
		return receipt.Status
	}
	require.EqualValues(t, "received", status(north))
	require.Equal(t, oncehook.StatusHeld, status(south))
	_, err = s.db.Exec(t.Context(), `UPDATE oncehook.switches SET released_at = now()`)
	require.NoError(t, err)
	require.EqualValues(t, "received", status(south))
}
