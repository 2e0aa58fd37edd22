package billing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing/internal/invoice"
	"github.com/oncehook/oncehook/effect"
)

// NoticeDestination is the configured destination to which notices go.
const NoticeDestination = "customer-notice"

// noticeKeyLifetime is how long that destination must honour an idempotency key.
const noticeKeyLifetime = 24 * time.Hour

// NotifyCustomer tells the customer, through NoticeDestination, that an invoice is
// paid. The destination honours the idempotency key, so a copy of the request
// tells nobody twice.
var NotifyCustomer = effect.Keyed[Notify, Notified]("billing.notify_customer", noticeKeyLifetime)

// Notify is the input of NotifyCustomer. It is empty: whom to tell what is in the
// event, and stays out of histories.
type Notify struct{}

// Notified is the result of NotifyCustomer.
type Notified struct {
	// Status is the HTTP status that the destination answered.
	Status int `json:"status"`
}

// notice is the body of the request. The same event makes the same bytes, as a
// destination that compares copies needs.
type notice struct {
	Kind     string `json:"kind"`
	Tenant   string `json:"tenant"`
	Invoice  string `json:"invoice"`
	Customer string `json:"customer,omitempty"`
	// Amount is in minor units of the currency, Display the same for people.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Display  string `json:"display"`
	Livemode bool   `json:"livemode"`
	EventKey string `json:"event_key"`
}

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// notifier sends notices, through a client of effect.Transport.
type notifier struct {
	client      *http.Client
	destination effect.Destination
}

func (n notifier) notify(ctx context.Context, _ Notify) (Notified, error) {
	event := effect.Event(ctx)
	paid, err := invoice.Read(event.Body)
	if err != nil {
		return Notified{}, oncehook.Permanent(err)
	}
	body, err := json.Marshal(notice{
		Kind: "invoice.paid", Tenant: event.Tenant, Invoice: paid.ID, Customer: paid.Customer, Amount: paid.Amount,
		Currency: paid.Currency, Display: invoice.Display(paid.Amount, paid.Currency), Livemode: paid.Livemode, EventKey: string(event.Key),
	})
	if err != nil {
		return Notified{}, oncehook.Permanent(errors.New("the notice cannot be encoded"))
	}
	request, err := n.destination.NewRequest(ctx, http.MethodPost, bytes.NewReader(body))
	if err != nil {
		return Notified{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := n.client.Do(request)
	if err != nil {
		return Notified{}, fmt.Errorf("send the notice: %w", withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	if err := effect.CheckResponse(response); err != nil {
		return Notified{}, err
	}
	return Notified{Status: response.StatusCode}, nil
}

// withoutURL drops the address, which is configuration, from what operators read.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
