package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

func wrappedKey(b []byte) keyring.Wrapped { return keyring.Wrapped{Bytes: b} }

func ofTenant(tenant string) change {
	return func(c *store.Candidate) {
		c.Event.Tenant = tenant
		key, err := keys().Identity().Key(c.Source, tenant, c.Event.ID, false)
		if err != nil {
			panic(err)
		}
		c.Key = key
	}
}

func TestProcessesThatMeetATenantAtOnceAgreeOnItsDataKey(t *testing.T) {
	url := database(t)
	db := connect(t, url)
	stores := make([]*store.Ingress, 4)
	for i := range stores {
		stores[i] = openIngress(t, options(url))
		require.NoError(t, stores[i].Schema(t.Context()))
	}
	var wg sync.WaitGroup
	for n := range 10 {
		for i, s := range stores {
			wg.Go(func() {
				_, _ = s.Accept(t.Context(), []store.Candidate{copyOf(fmt.Sprintf("event-%d", i), ofTenant(fmt.Sprintf("tenant-%d", n)))})
			})
		}
	}
	wg.Wait()
	require.Equal(t, 10, number(t, db, `SELECT count(*) FROM oncehook.tenant_keys`))
	require.Equal(t, 40, number(t, db, `SELECT count(*) FROM oncehook.payloads p JOIN oncehook.tenant_keys k ON k.id = p.data_key_id
		JOIN oncehook.receipts r ON r.id = p.delivery_id AND r.tenant = k.tenant`))
}

func TestABodyOpensForItsOwnDeliveryAndTenantOnly(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	c := copyOf("event-1", func(c *store.Candidate) { c.Event.Body = []byte("\x00\xff any bytes") })
	require.Equal(t, oncehook.Accepted, accept(t, s, c)[0].Decision)
	var wrapped, body []byte
	require.NoError(t, db.QueryRow(t.Context(), `SELECT k.wrapped, p.body FROM oncehook.payloads p JOIN oncehook.tenant_keys k ON k.id = p.data_key_id`).Scan(&wrapped, &body))
	key, err := keys().OpenDataKey("north", wrappedKey(wrapped))
	require.NoError(t, err)
	plain, err := key.Open(body, "payloads|north|"+c.ReceiptID.String()+"|body")
	require.NoError(t, err)
	require.Equal(t, c.Event.Body, plain)
	_, err = key.Open(body, "payloads|north|"+copyOf("event-2").ReceiptID.String()+"|body")
	require.ErrorIs(t, err, keyring.ErrSealed)
	_, err = keys().OpenDataKey("south", wrappedKey(wrapped))
	require.ErrorIs(t, err, keyring.ErrUnwrap)
}

func TestAnErasedTenantGetsANewKeyAndTheOldOneStaysRetired(t *testing.T) {
	url := database(t)
	db := connect(t, url)
	accept(t, openIngress(t, options(url)), copyOf("event-1"))
	_, err := db.Exec(t.Context(), `UPDATE oncehook.tenant_keys SET retired_at = now()`)
	require.NoError(t, err)
	accept(t, openIngress(t, options(url)), copyOf("event-2"))
	accept(t, openIngress(t, options(url)), copyOf("event-3"))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM oncehook.tenant_keys WHERE tenant = 'north'`))
	require.Equal(t, 2, number(t, db, `SELECT generation FROM oncehook.tenant_keys WHERE retired_at IS NULL`))
}
