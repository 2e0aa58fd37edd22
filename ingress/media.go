package ingress

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
)

// contentTyper is implemented by providers that take other media types than JSON.
type contentTyper interface {
	// TakesContentType reports whether a media type, in lower case and without
	// parameters, is the provider's.
	TakesContentType(mediaType string) bool
}

func isJSON(mediaType string) bool {
	kind, subtype, ok := strings.Cut(mediaType, "/")
	return ok && kind != "" && (mediaType == "application/json" || strings.HasSuffix(subtype, "+json"))
}

// checkMedia refuses what cannot be read as the sender's bytes.
func (d *delivery) checkMedia() *refused {
	header := d.c.Request().Header
	for _, value := range header.Values(echo.HeaderContentEncoding) {
		for coding := range strings.SplitSeq(value, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return unproven(oncehook.CodeContentEncodingUnsupported, "send the body without a content encoding")
			}
		}
	}
	takes := isJSON
	if p, ok := d.source.Provider.(contentTyper); ok {
		takes = p.TakesContentType
	}
	values := header.Values(echo.HeaderContentType)
	if len(values) != 1 || !takes(mediaType(values[0])) {
		return unproven(oncehook.CodeContentTypeUnsupported, "send one Content-Type that this source takes, such as application/json")
	}
	return nil
}

// mediaType is the part before the parameters, of which any are allowed.
func mediaType(contentType string) string {
	base, _, _ := strings.Cut(contentType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	if parsed, _, err := mime.ParseMediaType(base); err == nil {
		return parsed
	}
	return ""
}

// firstRead bounds what a mere Content-Length makes us allocate.
const firstRead = 64 << 10

// readBody reads the whole body within the source's limit and the deadline.
func (d *delivery) readBody() ([]byte, *refused) {
	r, limit := d.c.Request(), d.source.BodyLimit
	if r.ContentLength > limit {
		return nil, d.tooLarge()
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), firstRead)) + bytes.MinRead)
	// The bare writer: only it can tell the server to close the connection.
	if _, err := io.Copy(&body, http.MaxBytesReader(d.c.Response().Writer, r.Body, limit)); err != nil {
		return nil, d.unread(err)
	}
	// The server goes on reading to notice a sender that leaves, and would take the
	// deadline for that.
	if err := d.control().SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, d.unread(err)
	}
	return body.Bytes(), nil
}

// unread says why a body could not be read whole.
func (d *delivery) unread(err error) *refused {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return d.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return unproven(oncehook.CodeRequestTimeout, "the body did not arrive within "+d.Timeouts.Body.String())
	default:
		return unproven(oncehook.CodeMalformedJSON, "the body ended early or its transfer encoding is broken")
	}
}

func (d *delivery) tooLarge() *refused {
	return unproven(oncehook.CodeBodyTooLarge, "the body is larger than this source takes")
}
