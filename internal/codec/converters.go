package codec

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// DataConverter returns the SDK's default converter with the codec behind it. The
// client, the worker and the replayer of a history need the same one.
func (c *Codec) DataConverter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}

// FailureConverter returns a converter that moves messages and stack traces of
// failures into payloads, which the codec encrypts. The types of failures, by
// which Temporal decides on retries, stay readable.
func (c *Codec) FailureConverter() converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          c.DataConverter(),
		EncodeCommonAttributes: c.Encrypts(),
	})
}
