package codec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/keyring"
)

func TestALinkNamesItsOperatorUntilItsEnd(t *testing.T) {
	r := newRotation(t)
	c := r.load(t)
	operator, end := uuid.New(), time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	link, err := c.Link(operator, end)
	require.NoError(t, err)
	found, err := c.OpenLink(link, end.Add(-time.Second))
	require.NoError(t, err)
	require.Equal(t, operator, found)
	_, err = c.OpenLink(link, end)
	require.ErrorIs(t, err, codec.ErrLink)

	k, err := keyring.Load(r.identity, encoded(t, r))
	require.NoError(t, err)
	_, err = codec.New(k, "other").OpenLink(link, end.Add(-time.Hour))
	require.ErrorIs(t, err, codec.ErrLink)
}

func TestNothingElseIsALink(t *testing.T) {
	c := newRotation(t).load(t)
	now := time.Now()
	link, err := c.Link(uuid.New(), now.Add(time.Hour))
	require.NoError(t, err)
	payload := encode(t, c, canary)
	for _, other := range []string{
		"", "x", "....", strings.Repeat("A", 20000), link + "A", link[1:], link[:len(link)-2], link + "=",
		strings.Repeat("A", len(link)), string(payload.GetData()),
	} {
		_, err := c.OpenLink(other, now)
		require.ErrorIs(t, err, codec.ErrLink)
	}
	for i := range len(link) {
		altered := []byte(link)
		if altered[i]++; string(altered) == link {
			continue
		}
		_, err := c.OpenLink(string(altered), now)
		require.ErrorIs(t, err, codec.ErrLink, i)
	}
}
