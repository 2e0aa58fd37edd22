package effect

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/oncehook/oncehook"
)

// Destination is a configured place that effects call.
type Destination struct {
	// Name is its name in the configuration.
	Name string
	URL  string
	// Token is sent as Authorization: Bearer; nil sends none.
	Token oncehook.Secret
}

// NewRequest makes a request to the destination, with its credential. A
// destination that is not configured is a permanent error that names the setting.
func (d Destination) NewRequest(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	if d.URL == "" {
		return nil, oncehook.Permanent(fmt.Errorf("destinations.%s is not configured", d.Name))
	}
	request, err := http.NewRequestWithContext(ctx, method, d.URL, body)
	if err != nil {
		return nil, oncehook.Permanent(fmt.Errorf("destinations.%s makes no request: check its url", d.Name))
	}
	if len(d.Token) > 0 {
		request.Header.Set("Authorization", "Bearer "+string(d.Token))
	}
	return request, nil
}
