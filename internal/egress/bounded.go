package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// ErrBody says that a response has more than MaxBody bytes.
var ErrBody = errors.New("the downstream's answer is larger than 1 MiB")

// bounded marks requests without TLS and bounds the bodies of responses.
type bounded struct{ base http.RoundTripper }

// RoundTrip sends one request.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		request = request.WithContext(context.WithValue(request.Context(), plainKey{}, true))
	}
	response, err := b.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: MaxBody}
	return response, nil
}

// boundedBody fails instead of ending early: half an answer is no answer.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrBody
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrBody
	}
	return n, err
}
