package effect

import (
	"net/url"
	"strconv"
	"strings"
)

// withoutURL takes the path and query of called URLs out of the text of an error:
// net/http puts them there, and they may hold a secret. The host stays.
func withoutURL(err error, text string) string {
	switch e := err.(type) { //nolint:errorlint // walks the whole tree itself
	case nil:
		return text
	case *url.Error:
		text = withoutURL(e.Err, hostOnly(e.URL, text))
	case interface{ Unwrap() error }:
		text = withoutURL(e.Unwrap(), text)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			text = withoutURL(one, text)
		}
	}
	return text
}

func hostOnly(called, text string) string {
	if called == "" {
		return text
	}
	host := "the URL"
	if u, err := url.Parse(called); err == nil && u.Host != "" {
		host = u.Scheme + "://" + u.Host
	}
	quoted := strconv.Quote(called) // as the error prints it
	text = strings.ReplaceAll(text, quoted[1:len(quoted)-1], host)
	return strings.ReplaceAll(text, called, host)
}
