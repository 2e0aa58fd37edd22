// Package instant reads times as providers write them.
package instant

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// form is that of RFC 3339, which time.Parse alone does not insist on, with no more
// decimals than a time.Time keeps.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Parse reads an RFC 3339 time as a UTC instant in the years 1 to 9999.
func Parse(text string) (time.Time, bool) {
	text = strings.ToUpper(text)
	if !form.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	return t, err == nil && !t.IsZero() && t.Year() >= 1 && t.Year() <= 9999
}

// latest is the last second of the year 9999.
const latest = 253402300799

// ParseUnix reads digits as seconds since 1970, up to the year 9999.
func ParseUnix(digits string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds < 0 || seconds > latest {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}
