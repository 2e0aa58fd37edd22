package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// output is the flag of verbs that show something in more than one form.
type output struct {
	Output string `short:"o" enum:"table,json,yaml" default:"table" help:"How to show it: table, json or yaml."`
}

// write shows value as JSON or YAML, or calls table.
func (o output) write(w io.Writer, value any, table func() error) error {
	if o.Output == "table" {
		return table()
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if o.Output == "json" {
		_, err := w.Write(encoded.Bytes())
		return err
	}
	return writeYAML(w, encoded.Bytes())
}

// writeYAML writes a JSON document as YAML. Every JSON document is YAML already,
// so only its style changes: names keep their order and numbers their digits.
func writeYAML(w io.Writer, document []byte) error {
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return fmt.Errorf("encode as YAML: %w", err)
	}
	restyle(&node)
	encoded, err := yaml.Marshal(&node)
	if err != nil {
		return fmt.Errorf("encode as YAML: %w", err)
	}
	_, err = w.Write(encoded)
	return err
}

func restyle(n *yaml.Node) {
	empty := len(n.Content) == 0
	if n.Kind != yaml.ScalarNode && !empty {
		n.Style &^= yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode {
		n.Style &^= yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		restyle(child)
	}
}
