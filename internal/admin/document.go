package admin

import (
	_ "embed"
	"encoding/json"
	"fmt"

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
