package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook/internal/store"
)

const (
	codecPath = "/api/v1/codec/"
	linksPath = codecPath + "links/"
	// maxPayloads bounds a body of payloads, in bytes.
	maxPayloads = 8 << 20
)

// CodecLinkPath is the path of the codec endpoint that a link opens.
func CodecLinkPath(link string) string { return linksPath + link }

// originsOf returns the origins of a URL's pages as a browser writes them, without
// a path, a trailing slash or the scheme's own port. A UI on loopback is reached by its address and as
// localhost.
func originsOf(link string) []string {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return nil
	}
	hosts := []string{u.Host}
	switch host, port := u.Hostname(), u.Port(); host {
	case "127.0.0.1":
		hosts = append(hosts, net.JoinHostPort("localhost", port))
	case "localhost":
		hosts = append(hosts, net.JoinHostPort("127.0.0.1", port))
	}
	origins := make([]string, len(hosts))
	for i, host := range hosts {
		origins[i] = strings.ToLower(u.Scheme + "://" + strings.TrimSuffix(strings.TrimSuffix(host, defaultPort(u.Scheme)), ":"))
	}
	return origins
}

// defaultPort is what browsers leave out.
func defaultPort(scheme string) string {
	if scheme == "https" {
		return ":443"
	}
	return ":80"
}

// codecDoor lets the pages of the Temporal UI, and of no other origin, use the
// codec: it answers their preflights and allows them to read the answers. It also
// bounds bodies. Everything else goes on as it came.
func (s *server) codecDoor(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		if !strings.HasPrefix(request.URL.Path, codecPath) {
			return next(c)
		}
		header := c.Response().Header()
		header.Set("Cache-Control", "no-store")
		header.Add(echo.HeaderVary, echo.HeaderOrigin)
		if request.Body != nil {
			request.Body = http.MaxBytesReader(c.Response(), request.Body, maxPayloads)
		}
		origin, ok := s.fromUI(request)
		if !ok {
			return next(c)
		}
		header.Set(echo.HeaderAccessControlAllowOrigin, origin)
		// For a UI that sends the cookies of a proxy in front of both. Ours has none.
		header.Set(echo.HeaderAccessControlAllowCredentials, "true")
		if request.Method != http.MethodOptions || request.Header.Get(echo.HeaderAccessControlRequestMethod) == "" {
			return next(c)
		}
		header.Set(echo.HeaderAccessControlAllowMethods, http.MethodPost)
		header.Set(echo.HeaderAccessControlAllowHeaders, "Authorization, Authorization-Extras, Content-Type, X-Namespace")
		header.Set(echo.HeaderAccessControlMaxAge, "600")
		return c.NoContent(http.StatusNoContent)
	}
}

// fromUI returns the origin of a request that a page of the Temporal UI made.
func (s *server) fromUI(request *http.Request) (origin string, ok bool) {
	origins := request.Header[echo.HeaderOrigin]
	return strings.Join(origins, ""), len(origins) == 1 && slices.Contains(s.uiOrigins, origins[0])
}

// linked authenticates a request by the codec link in its path, and takes the
// link out of the path, so that it is routed, and logged, like any other. A link
// is good from the Temporal UI's pages only: a page that has learned it elsewhere,
// or reaches this address by another name, can do nothing with it.
func (s *server) linked(ctx context.Context, request *http.Request) (store.Operator, error) {
	link, verb, ok := strings.Cut(strings.TrimPrefix(request.URL.Path, linksPath), "/")
	_, fromUI := s.fromUI(request)
	if !ok || !fromUI || (verb != "decode" && verb != "encode") || request.Method != http.MethodPost || s.Codec == nil {
		return store.Operator{}, store.ErrUnauthenticated
	}
	id, err := s.Codec.OpenLink(link, s.Now())
	if err != nil {
		return store.Operator{}, store.ErrUnauthenticated
	}
	operator, err := s.Store.Operator(ctx, id)
	if err != nil {
		return store.Operator{}, err
	}
	request.URL.Path, request.URL.RawPath, request.RequestURI = codecPath+verb, "", codecPath+verb
	return operator, nil
}
