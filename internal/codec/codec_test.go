package codec_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/keyring"
)

const canary = "canary-7c1f of tenant north"

// rotation is a keyset that a test changes, and the keyrings of processes that
// loaded it at different times.
type rotation struct {
	identity oncehook.Secret
	keyset   *keyring.Keyset
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	identity, raw, err := keyring.Generate()
	require.NoError(t, err)
	keyset, err := keyring.ParseKeyset(raw)
	require.NoError(t, err)
	return &rotation{identity, keyset}
}

func (r *rotation) load(t *testing.T) *codec.Codec {
	t.Helper()
	raw, err := r.keyset.Encode()
	require.NoError(t, err)
	k, err := keyring.Load(r.identity, raw)
	require.NoError(t, err)
	return codec.New(k, "default")
}

func encode(t *testing.T, c *codec.Codec, value any) *commonpb.Payload {
	t.Helper()
	payload, err := c.DataConverter().ToPayload(value)
	require.NoError(t, err)
	return payload
}

func decode(c *codec.Codec, payload *commonpb.Payload) (string, error) {
	var value string
	err := c.DataConverter().FromPayload(payload, &value)
	return value, err
}

func TestAnEncryptedPayloadShowsItsKeyAndNothingElse(t *testing.T) {
	c := newRotation(t).load(t)
	payload := encode(t, c, canary)
	require.Equal(t, codec.Encoding, string(payload.GetMetadata()[converter.MetadataEncoding]))
	require.NotEmpty(t, payload.GetMetadata()[codec.MetadataKeyID])
	wire, err := proto.Marshal(payload)
	require.NoError(t, err)
	require.NotContains(t, string(wire), "canary")
	value, err := decode(c, payload)
	require.NoError(t, err)
	require.Equal(t, canary, value)
}

func TestWhatIsNotEncryptedPassesThrough(t *testing.T) {
	c := newRotation(t).load(t)
	payload, err := converter.GetDefaultDataConverter().ToPayload(canary)
	require.NoError(t, err)
	value, err := decode(c, payload)
	require.NoError(t, err)
	require.Equal(t, canary, value)
	passed, err := c.Decode([]*commonpb.Payload{nil, {}})
	require.NoError(t, err)
	require.Len(t, passed, 2)
}

func TestAPayloadOfAnotherNamespaceOrInstallationOrAnAlteredOneDoesNotOpen(t *testing.T) {
	identity, raw, err := keyring.Generate()
	require.NoError(t, err)
	k, err := keyring.Load(identity, raw)
	require.NoError(t, err)
	own := codec.New(k, "default")
	payload := encode(t, own, canary)

	_, err = decode(codec.New(k, "other"), payload)
	require.ErrorIs(t, err, codec.ErrForeign)
	_, err = decode(newRotation(t).load(t), payload)
	require.ErrorIs(t, err, keyring.ErrPayloadKey)
	for i := range payload.GetData() {
		altered := proto.Clone(payload).(*commonpb.Payload)
		altered.Data[i] ^= 1
		_, err := decode(own, altered)
		require.ErrorIs(t, err, codec.ErrForeign, i)
	}
	for _, id := range []string{"", "x", "-1", "99999999999"} {
		altered := proto.Clone(payload).(*commonpb.Payload)
		altered.Metadata[codec.MetadataKeyID] = []byte(id)
		_, err := decode(own, altered)
		require.ErrorIs(t, err, codec.ErrForeign, id)
	}
}

// A key that one process lacks must not end runs that another could go on with.
func TestAPayloadThatDoesNotOpenFailsTheTaskAndNotTheRun(t *testing.T) {
	payload := encode(t, newRotation(t).load(t), canary)
	_, err := decode(newRotation(t).load(t), payload)
	var task *converter.WorkflowTaskFailureError
	require.ErrorAs(t, err, &task)
}

func TestProcessesOfEveryStageOfARotationReadEachOther(t *testing.T) {
	r := newRotation(t)
	old, _ := r.keyset.Primary(keyring.KindPayload)
	processes := map[string]*codec.Codec{}
	processes["before"] = r.load(t)
	id, err := r.keyset.Add(keyring.KindPayload)
	require.NoError(t, err)
	processes["added"] = r.load(t)
	require.NoError(t, r.keyset.Promote(keyring.KindPayload, id))
	processes["promoted"] = r.load(t)

	read := func(reader, writer string) error {
		value, err := decode(processes[reader], encode(t, processes[writer], canary))
		if err == nil {
			require.Equal(t, canary, value)
		}
		return err
	}
	for _, pair := range [][2]string{
		{"before", "added"}, {"added", "before"}, // while add is rolled out
		{"added", "promoted"}, {"promoted", "added"}, // while promote is
		{"promoted", "before"},
	} {
		require.NoError(t, read(pair[0], pair[1]), pair)
	}
	require.ErrorIs(t, read("before", "promoted"), keyring.ErrPayloadKey, "promoted before add was rolled out")

	written := encode(t, processes["before"], canary)
	require.NoError(t, r.keyset.Retire(keyring.KindPayload, old))
	_, err = decode(r.load(t), written)
	require.ErrorIs(t, err, keyring.ErrPayloadKey)
}

func TestTheFirstPayloadKeyOpensBeforeItSeals(t *testing.T) {
	r := newRotation(t)
	// A keyset from before histories were encrypted has no payload key.
	first, _ := r.keyset.Primary(keyring.KindPayload)
	second, err := r.keyset.Add(keyring.KindPayload)
	require.NoError(t, err)
	require.ErrorIs(t, r.keyset.Retire(keyring.KindPayload, first), keyring.ErrPrimary)
	require.NoError(t, r.keyset.Retire(keyring.KindPayload, second))
	none := withoutPayloadKeys(t, r)

	id, err := none.keyset.Add(keyring.KindPayload)
	require.NoError(t, err)
	added := none.load(t)
	require.False(t, codec.Encrypted(encode(t, added, canary)))
	require.NoError(t, none.keyset.Promote(keyring.KindPayload, id))
	promoted := encode(t, none.load(t), canary)
	require.True(t, codec.Encrypted(promoted))
	value, err := decode(added, promoted)
	require.NoError(t, err)
	require.Equal(t, canary, value)
}

func TestACodecThatIsOffStillReads(t *testing.T) {
	on := newRotation(t).load(t)
	off := on.Off()
	require.False(t, codec.Encrypted(encode(t, off, canary)))
	value, err := decode(off, encode(t, on, canary))
	require.NoError(t, err)
	require.Equal(t, canary, value)
}

func TestFailuresShowTheirTypeAndNoText(t *testing.T) {
	c := newRotation(t).load(t)
	failure := c.FailureConverter().ErrorToFailure(temporal.NewNonRetryableApplicationError(canary, "permanent", errors.New(canary), canary))
	wire, err := proto.Marshal(failure)
	require.NoError(t, err)
	require.NotContains(t, string(wire), "canary")
	require.Equal(t, "permanent", failure.GetApplicationFailureInfo().GetType())
	require.True(t, failure.GetApplicationFailureInfo().GetNonRetryable())
	require.ErrorContains(t, c.FailureConverter().FailureToError(failure), canary)
}
