package page

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

const (
	dayTime = "2006-01-02 15:04:05.000"
	ofDay   = "15:04:05.000"
)

// Clean makes a text of foreign origin safe and visible on one line: every rune
// that does not print is shown as its code.
func Clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Time shows a time in UTC, to the millisecond.
func Time(t time.Time) string { return t.UTC().Format(dayTime) }

// since shows how much later t is than base: "+57ms", "+3.2s", "+1h2m3s".
func since(base, t time.Time) string {
	d := t.Sub(base)
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	return sign + span(d)
}

func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// counted is "1 attempt", "2 attempts".
func counted[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return Clean(*s)
}
