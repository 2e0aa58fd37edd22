package harness

import (
	"encoding/json"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers"
)

// BatchKind is a provider for tests: the bearer contract with an array of
// events as its body. A refused event refuses the request.
const BatchKind = "test-batch"

type batch struct{ single oncehook.Provider }

var _ oncehook.Provider = batch{}

func newBatch(source oncehook.Source) (oncehook.Provider, error) {
	single, err := providers.New("bearer", source)
	return batch{single: single}, err
}

func (b batch) Verify(r oncehook.Request) (oncehook.Proof, error) { return b.single.Verify(r) }

func (b batch) Events(r oncehook.Request, proof oncehook.Proof) ([]oncehook.Item, error) {
	var bodies []json.RawMessage
	if err := json.Unmarshal(r.Body, &bodies); err != nil {
		return nil, &oncehook.Refusal{Code: oncehook.CodeMalformedJSON, Detail: "the body is not an array"}
	}
	items := make([]oncehook.Item, 0, len(bodies))
	for _, body := range bodies {
		one := r
		one.Body = body
		parsed, err := b.single.Events(one, proof)
		if err != nil {
			return nil, err
		}
		items = append(items, parsed...)
	}
	return items, nil
}
