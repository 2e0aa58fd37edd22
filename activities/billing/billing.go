// Package billing settles invoices, posts accounting entries for them and tells
// their customers. Its tables are in the schema billing of the same PostgreSQL,
// so the first two are Local effects; the notice is a Keyed one.
//
// Two events may tell of one payment. So the id of the invoice is each action's
// business key, and whichever event comes second finds the work already done.
package billing

import (
	"context"
	"embed"
	"maps"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook/effect"
)

// Schema is the name of the business schema.
const Schema = "billing"

// Migrations holds the schema's migrations.
//
//go:embed *.sql
var Migrations embed.FS

// Bindings returns the functions of this area's actions. Notices go to the
// destination through the client, whose transport is one of effect.Transport.
func Bindings(client *http.Client, notice effect.Destination) []effect.Binding {
	return []effect.Binding{
		ReadInvoice.Bind(readInvoice),
		SettleInvoice.Bind(settleInvoice),
		PostEntry.Bind(postEntry),
		NotifyCustomer.Bind(notifier{client: client, destination: notice}.notify),
	}
}

// caused returns the arguments that name the event behind a change, with more of
// the statement's own.
func caused(ctx context.Context, action string, more pgx.StrictNamedArgs) pgx.StrictNamedArgs {
	event := effect.Event(ctx)
	args := pgx.StrictNamedArgs{
		"action": action, "tenant": event.Tenant, "event_key": event.Key, "receipt_id": event.ReceiptID, "principal": event.Principal,
		"credential_version": event.CredentialVersion, "idempotency_key": effect.IdempotencyKey(ctx), "now": effect.Now(ctx),
	}
	maps.Copy(args, more)
	return args
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
