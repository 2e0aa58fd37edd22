package admin

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v4"
)

//go:embed openapi.yaml
var source []byte

// Document returns the API's OpenAPI document as JSON.
func Document() ([]byte, error) {
	var document any
	if err := yaml.Load(source, &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	return encoded, nil
}

func (s *server) serveDocument(c echo.Context) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, document)
}
