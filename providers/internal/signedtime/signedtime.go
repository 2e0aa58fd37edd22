// Package signedtime bounds how old, or how far ahead, a signed request may be.
package signedtime

import (
	"strconv"
	"time"

	"github.com/oncehook/oncehook"
)

// Tolerance is the replay window in both directions, its ends included: what the
// reference libraries of Stripe and Standard Webhooks take.
const Tolerance = 5 * time.Minute

// most is the length of a text of seconds: it ends in the year 33658.
const most = 12

// Check reads unix seconds as their sender wrote them, digits and nothing else, and
// refuses a time outside the window around received.
func Check(text string, received time.Time) error {
	if !isDecimal(text) {
		return &oncehook.AuthError{Cause: oncehook.CauseTimestampMalformed}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return &oncehook.AuthError{Cause: oncehook.CauseTimestampMalformed}
	}
	age := received.Unix() - seconds
	switch {
	case age > int64(Tolerance/time.Second):
		return &oncehook.AuthError{Cause: oncehook.CauseTimestampOld}
	case age < -int64(Tolerance/time.Second):
		return &oncehook.AuthError{Cause: oncehook.CauseTimestampNew}
	}
	return nil
}

func isDecimal(text string) bool {
	if text == "" || len(text) > most {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
