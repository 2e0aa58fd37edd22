package ingress

import (
	"mime"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook"
)

func isJSON(mediaType string) bool {
	kind, subtype, ok := strings.Cut(mediaType, "/")
	return ok && kind != "" && (mediaType == "application/json" || strings.HasSuffix(subtype, "+json"))
}

// checkHeader refuses a body that its header shows to be too large, or not readable
// as the sender's bytes.
func (d *delivery) checkHeader() *refused {
	header := d.c.Request().Header
	for _, value := range header.Values(echo.HeaderContentEncoding) {
		for coding := range strings.SplitSeq(value, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return unproven(oncehook.CodeContentEncodingUnsupported, "send the body without a content encoding")
			}
		}
	}
	takes := isJSON
	if p, ok := d.source.Provider.(oncehook.ContentTyper); ok {
		takes = p.TakesContentType
	}
	values := header.Values(echo.HeaderContentType)
	if len(values) != 1 || !takes(mediaType(values[0])) {
		return unproven(oncehook.CodeContentTypeUnsupported, "send one Content-Type that this source takes, such as application/json")
	}
	if d.c.Request().ContentLength > d.source.BodyLimit {
		return tooLarge()
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
