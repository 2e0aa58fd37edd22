package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Retention says how long things are kept: four clocks, and the outbox.
type Retention struct {
	// Payloads is how long an event's body is kept, by the source's retention class.
	Payloads map[string]time.Duration
	// Keys is how long an event's key, receipt and history are kept after its last
	// copy. A later copy would be a new event.
	Keys time.Duration
	// Audit is how long the evidence is kept.
	Audit time.Duration
	// Actions is how long the ledger of effects is kept.
	Actions time.Duration
	// Outbox is how long a start that was dispatched is kept after its receipt's end.
	Outbox time.Duration
}

const day = 24 * time.Hour

// minKeys is longer than any provider redelivers, by itself or by hand: the
// longest is a month, in which Stripe's events can be sent again.
const minKeys = 45 * day

// maxRetention is 30 years.
const maxRetention = 30 * 366 * day

func defaultPayloads() map[string]time.Duration {
	return map[string]time.Duration{"short": 7 * day, "standard": 30 * day, "long": 400 * day}
}

// Defaults of the clocks.
const (
	DefaultKeys    = 400 * day
	DefaultAudit   = 800 * day
	DefaultActions = 800 * day
	DefaultOutbox  = 7 * day
)

func (r *reader) retention(o *object) Retention {
	classes := o.section("payloads")
	payloads := defaultPayloads()
	for _, class := range retentions {
		payloads[class] = classes.days(class, payloads[class], day)
	}
	classes.done()
	k := Retention{
		Payloads: payloads,
		Keys:     o.days("keys", DefaultKeys, minKeys),
		Audit:    o.days("audit", DefaultAudit, day),
		Actions:  o.days("actions", DefaultActions, minKeys),
		Outbox:   o.days("outbox", DefaultOutbox, day),
	}
	o.done()
	if k.Actions < k.Keys {
		r.problem(o.lineOf("actions"), o.child("actions"),
			"is %s, but keys are kept %s: a ledger that ends before the key lets a repeated event act again", formatDays(k.Actions), formatDays(k.Keys))
	}
	for _, class := range slices.Backward(retentions) {
		if payloads[class] > k.Keys {
			r.problem(classes.lineOf(class), classes.child(class), "is %s, but keys are kept %s: a body without its receipt is of no use",
				formatDays(payloads[class]), formatDays(k.Keys))
			break
		}
	}
	return k
}

// days reads a time in whole days, such as 30d.
func (o *object) days(key string, fallback, least time.Duration) time.Duration {
	value, at, ok := o.scalar(key)
	if !ok {
		return fallback
	}
	digits, isDays := strings.CutSuffix(value, "d")
	n, err := strconv.ParseUint(digits, 10, 16)
	if !isDays || err != nil || time.Duration(n)*day > maxRetention {
		o.r.problem(at.line, at.path, "must be a number of whole days, such as 30d")
		return fallback
	}
	d := time.Duration(n) * day
	if d < least {
		reason := ""
		if least == minKeys {
			reason = ": a provider can send an event again for that long, and it would be a new one"
		}
		o.r.problem(at.line, at.path, "must be %s at least%s", formatDays(least), reason)
		return fallback
	}
	return d
}

func formatDays(d time.Duration) string { return strconv.Itoa(int(d/day)) + "d" }

type retentionView struct {
	Payloads map[string]string `yaml:"payloads"`
	Keys     string            `yaml:"keys"`
	Audit    string            `yaml:"audit"`
	Actions  string            `yaml:"actions"`
	Outbox   string            `yaml:"outbox"`
}

func (c *Config) retentionView() retentionView {
	k := c.Retention
	v := retentionView{
		Payloads: map[string]string{},
		Keys:     formatDays(k.Keys), Audit: formatDays(k.Audit), Actions: formatDays(k.Actions), Outbox: formatDays(k.Outbox),
	}
	for class, keep := range k.Payloads {
		v.Payloads[class] = formatDays(keep)
	}
	return v
}
