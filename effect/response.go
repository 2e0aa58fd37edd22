package effect

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
)

// CheckResponse judges an HTTP answer by its status:
//
//	2xx                       nil
//	408, 409, 425, 429, 5xx   RetryAfter, by the answer's Retry-After. With 409 a
//	                          downstream says that a call with this key is under way
//	anything else             Permanent
//
// The error holds the status alone: nothing of the URL or the body.
func CheckResponse(response *http.Response) error {
	code := response.StatusCode
	if code >= 200 && code <= 299 {
		return nil
	}
	err := fmt.Errorf("the downstream answered %s", strings.TrimSpace(strconv.Itoa(code)+" "+http.StatusText(code)))
	switch code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return oncehook.RetryAfter(err, retryAfter(response, time.Now()))
	}
	if code >= 500 && code <= 599 {
		return oncehook.RetryAfter(err, retryAfter(response, time.Now()))
	}
	return oncehook.Permanent(err)
}

// maxRetryAfter keeps a downstream's word within what durations can hold.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfter reads the header's seconds or date; zero when there is none.
func retryAfter(response *http.Response, now time.Time) time.Duration {
	value := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
