package workflows_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/workflows"
)

func newCodec(t testing.TB) *codec.Codec {
	t.Helper()
	identity, keyset, err := keyring.Generate()
	require.NoError(t, err)
	k, err := keyring.Load(identity, keyset)
	require.NoError(t, err)
	return codec.New(k, "default")
}

// encrypt encrypts a recorded history as the codec would have at the time, and
// returns how many payloads that were.
func encrypt(t testing.TB, c *codec.Codec, history *historypb.History) int {
	t.Helper()
	count := 0
	require.NoError(t, proxy.VisitPayloads(context.Background(), history, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			count += len(payloads)
			return c.Encode(payloads)
		},
	}))
	return count
}

func replayEncrypted(t testing.TB, c *codec.Codec, history *historypb.History) error {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: c.DataConverter(), FailureConverter: c.FailureConverter(),
		Interceptors: []interceptor.WorkerInterceptor{
			registry(t, effect.Destination{}).WorkerInterceptor(nil, effect.WithDataConverter(c.DataConverter())),
		},
		DisableRegistrationAliasing: true,
	})
	require.NoError(t, err)
	workflows.Register(replayer)
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history)
}

func TestEncryptedRunsReplayAsPlainOnesDo(t *testing.T) {
	t.Parallel()
	own, other := newCodec(t), newCodec(t)
	for name, history := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replayEncrypted(t, own, history), "from before the codec was on")
			require.Greater(t, encrypt(t, own, history), 3)
			require.NoError(t, replayEncrypted(t, own, history))
			require.NoError(t, replayEncrypted(t, own.Off(), history), "after it was switched off")
			require.Error(t, replayEncrypted(t, other, history))
		})
	}
}
