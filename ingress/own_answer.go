package ingress

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/oncehook/oncehook"
)

// ownHeader is in each answer that net/http writes, in one piece, about a request
// that it could not read.
const ownHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// ownAnswer returns the code in place of an answer of net/http's own, and "" when
// written is none.
func ownAnswer(written []byte) (oncehook.Code, string) {
	status := statusOf(written)
	// An expectation that it does not know is answered without that header.
	if status != http.StatusExpectationFailed && !bytes.Contains(written, []byte(ownHeader)) {
		return "", ""
	}
	switch status {
	case http.StatusBadRequest, http.StatusHTTPVersionNotSupported:
		return oncehook.CodeMalformedRequest, "the request is not well-formed HTTP/1.1"
	case http.StatusExpectationFailed:
		return oncehook.CodeMalformedRequest, "the header Expect may only say 100-continue"
	case http.StatusRequestHeaderFieldsTooLarge:
		return oncehook.CodeHeaderTooLarge, "the request's header is larger than is taken here"
	case http.StatusNotImplemented:
		return oncehook.CodeContentEncodingUnsupported, "send the body without a transfer coding other than chunked"
	default:
		return "", ""
	}
}

// statusOf reads the status of a response's first line; 0 means that it is none.
func statusOf(written []byte) int {
	const version = "HTTP/1.x "
	if len(written) < len(version)+3 || !bytes.HasPrefix(written, []byte("HTTP/1.")) {
		return 0
	}
	status, err := strconv.Atoi(string(written[len(version) : len(version)+3]))
	if err != nil {
		return 0
	}
	return status
}
