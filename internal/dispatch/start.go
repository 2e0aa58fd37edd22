package dispatch

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// startOptions says how one run is started. A first run never shares the event
// key with any other run; a later one, which only replay writes, may follow it.
func startOptions(s store.Start, eager bool) client.StartWorkflowOptions {
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if s.Ref.RunNo > 1 {
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return client.StartWorkflowOptions{
		ID:                       s.Ref.EventKey,
		TaskQueue:                oncehook.TaskQueue,
		WorkflowIDReusePolicy:    reuse,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		// Without it the SDK hides another's run behind a success.
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         eager,
		Memo: map[string]any{
			oncehook.MemoReceiptID:     s.Ref.ReceiptID,
			oncehook.MemoRunNo:         s.Ref.RunNo,
			oncehook.MemoCorrelationID: s.Ref.CorrelationID,
		},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			keyword(oncehook.SearchAttributeSource, s.Ref.Source),
			keyword(oncehook.SearchAttributeTenant, s.Ref.Tenant),
			keyword(oncehook.SearchAttributeEventType, s.Ref.Type),
			keyword(oncehook.SearchAttributeCorrelationID, s.Ref.CorrelationID),
		),
		StaticSummary: summary(s.Ref),
	}
}

func keyword(name, value string) temporal.SearchAttributeUpdate {
	return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(attribute(value))
}

// maxAttribute is what Temporal's SQL visibility stores of a Keyword, in bytes.
const maxAttribute = 255

// attribute makes a value fit for a Keyword search attribute. One that is too
// long keeps its beginning and gets a hash, so that two stay two.
func attribute(value string) string {
	clean := printable(value)
	if len(clean) <= maxAttribute {
		return clean
	}
	sum := sha256.Sum256([]byte(value))
	suffix := "~" + hex.EncodeToString(sum[:16])
	return cut(clean, maxAttribute-len(suffix)) + suffix
}

// maxSummaryPart bounds each part of a summary; Temporal takes 400 bytes in all.
const maxSummaryPart = 80

// summary is the line of a run in the Temporal UI. It says nothing personal:
// neither the subject nor the event id.
func summary(ref oncehook.Ref) string {
	part := func(s string) string { return cut(printable(s), maxSummaryPart) }
	line := part(ref.Type) + " from " + part(ref.Source) + " (" + part(ref.Tenant) + ")"
	if ref.RunNo > 1 {
		line += ", run " + strconv.Itoa(ref.RunNo)
	}
	return line
}

// printable replaces what does not print by U+FFFD: control characters, and
// bytes that are not UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// cut keeps at most limit bytes of s, whole characters only.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
