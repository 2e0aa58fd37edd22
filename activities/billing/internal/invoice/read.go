// Package invoice reads paid invoices out of Stripe's events, and writes their
// amounts for people.
package invoice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Paid is what a Stripe event of type invoice.paid says.
type Paid struct {
	ID string
	// Customer is "" when the invoice names none.
	Customer string
	// Amount is what was paid, in minor units of the currency. It is not negative.
	Amount int64
	// Currency is three lower-case letters.
	Currency string
	// Livemode is false in Stripe's test mode, where no money moves.
	Livemode bool
}

var (
	errNoBody = errors.New("the event's body is past its retention")
	errThin   = errors.New("a thin event holds no invoice: let the endpoint send snapshot events of type invoice.paid")
)

// maxID bounds ids: Stripe's are at most 255 characters.
const maxID = 255

// Read reads the invoice out of a snapshot event, exactly, or says which fields do
// not fit, without their values. Other members do not matter. A nil body is one
// past its retention.
func Read(body []byte) (Paid, error) {
	if body == nil {
		return Paid{}, errNoBody
	}
	event, err := readObject("", body, "object", "livemode", "data")
	if err != nil {
		return Paid{}, errors.New("the event's body is not a JSON object")
	}
	if event.text("object") == "v2.core.event" {
		return Paid{}, errThin
	}
	event.is("object", "event")
	invoice := Paid{Livemode: event.boolean("livemode")}
	data := event.object("data", "object")
	fields := data.object("object", "object", "id", "status", "customer", "amount_paid", "currency")
	fields.is("object", "invoice")
	fields.is("status", "paid")
	invoice.ID = fields.id("id")
	if fields.values["customer"].Kind() != 'n' {
		invoice.Customer = fields.id("customer")
	}
	invoice.Amount = fields.amount("amount_paid")
	if invoice.Currency = fields.text("currency"); !isCurrency(invoice.Currency) {
		fields.complain("currency", "is not three lower-case letters")
	}
	if problems := *event.problems; len(problems) > 0 {
		return Paid{}, errors.New(strings.Join(problems, "; "))
	}
	return invoice, nil
}

// fields are the members of one object that matter, with the complaints about
// all objects of one body.
type fields struct {
	path     string
	values   map[string]jsontext.Value
	problems *[]string
}

// readObject takes the named members out of an object. A name that is given
// twice is a complaint; it returns an error when value is no object.
func readObject(path string, value jsontext.Value, names ...string) (fields, error) {
	f := fields{path: path, values: map[string]jsontext.Value{}, problems: &[]string{}}
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return f, errors.New("not an object")
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return f, err
		}
		name := token.String()
		member, err := d.ReadValue()
		if err != nil {
			return f, err
		}
		if !slices.Contains(names, name) {
			continue
		}
		if _, twice := f.values[name]; twice {
			f.complain(name, "is given more than once")
		}
		f.values[name] = member.Clone()
	}
	_, err := d.ReadToken()
	return f, err
}

// complain notes one problem of a member; the first is enough.
func (f fields) complain(name, problem string) {
	line := f.path + name + " " + problem
	for _, known := range *f.problems {
		if strings.HasPrefix(known, f.path+name+" ") {
			return
		}
	}
	*f.problems = append(*f.problems, line)
}

// object reads a member that is an object. What it lacks is complained about too.
func (f fields) object(name string, names ...string) fields {
	inner, err := readObject(f.path+name+".", f.values[name], names...)
	if err != nil {
		f.complain(name, f.wrong(name, "an object"))
		// One complaint is enough: nothing more is known of what would be in it.
		return fields{path: inner.path, values: inner.values, problems: &[]string{}}
	}
	*f.problems = append(*f.problems, *inner.problems...)
	inner.problems = f.problems
	return inner
}

// wrong says that a member is missing or not what it must be.
func (f fields) wrong(name, want string) string {
	if f.values[name] == nil {
		return "is missing"
	}
	return "is not " + want
}

// text reads a string. It complains about anything else.
func (f fields) text(name string) string {
	value := f.values[name]
	if value.Kind() != '"' {
		f.complain(name, f.wrong(name, "a string"))
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		f.complain(name, "is not valid Unicode")
		return ""
	}
	return string(text)
}

// is complains unless the member is the string want.
func (f fields) is(name, want string) {
	if f.text(name) != want {
		f.complain(name, fmt.Sprintf("is not %q", want))
	}
}

// id reads a string that can be stored as an id.
func (f fields) id(name string) string {
	id := f.text(name)
	switch {
	case id == "":
		f.complain(name, "is empty")
	case len(id) > maxID:
		f.complain(name, "is longer than 255 bytes")
	case strings.ContainsRune(id, 0):
		f.complain(name, "holds a NUL character")
	}
	return id
}

// amount reads a whole number of minor units, exactly.
func (f fields) amount(name string) int64 {
	value := f.values[name]
	if value.Kind() != '0' {
		f.complain(name, f.wrong(name, "a number"))
		return 0
	}
	amount, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil:
		f.complain(name, "is not a whole number of minor units")
	case amount < 0:
		f.complain(name, "is negative")
	}
	return amount
}

func (f fields) boolean(name string) bool {
	kind := f.values[name].Kind()
	if kind != 't' && kind != 'f' {
		f.complain(name, f.wrong(name, "true or false"))
	}
	return kind == 't'
}
