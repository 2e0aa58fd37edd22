package signedtime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/signedtime"
)

func TestTheWindowIncludesItsEndsInWholeSeconds(t *testing.T) {
	received := time.Unix(1_000_300, 999_999_999)
	for text, want := range map[string]oncehook.Cause{
		"1000000": "", "1000600": "", "1000300": "", "0001000300": "",
		"999999": oncehook.CauseTimestampOld, "0": oncehook.CauseTimestampOld,
		"1000601": oncehook.CauseTimestampNew, "999999999999": oncehook.CauseTimestampNew,
		"": oncehook.CauseTimestampMalformed, "+1000300": oncehook.CauseTimestampMalformed, "-1": oncehook.CauseTimestampMalformed, " 1000300": oncehook.CauseTimestampMalformed,
		"1000300.0": oncehook.CauseTimestampMalformed, "1e6": oncehook.CauseTimestampMalformed, "1_000_300": oncehook.CauseTimestampMalformed, "0x1": oncehook.CauseTimestampMalformed,
		"9999999999999": oncehook.CauseTimestampMalformed, "٣": oncehook.CauseTimestampMalformed,
	} {
		err := signedtime.Check(text, received)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		authErr, ok := errors.AsType[*oncehook.AuthError](err)
		require.True(t, ok, text)
		require.Equal(t, want, authErr.Cause, text)
	}
}
