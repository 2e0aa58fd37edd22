package store

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// maxText bounds error texts and reasons, in bytes.
const maxText = 1024

// cleanText makes text fit for a text column: valid UTF-8 without NUL, at most maxText bytes.
func cleanText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if len(text) <= maxText {
		return text
	}
	cut := maxText - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// bodyAAD names the place of a delivery's body.
func bodyAAD(tenant string, delivery uuid.UUID) string {
	return "payloads|" + tenant + "|" + delivery.String() + "|body"
}

// resultAAD names the place of an action's result.
func resultAAD(tenant string, id ActionID) string {
	return "actions|" + tenant + "|" + id.ReceiptID.String() + "|" + id.Name + "|" + strconv.Itoa(id.Epoch) + "|result"
}
