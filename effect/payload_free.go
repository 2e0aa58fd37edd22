package effect

import (
	"bytes"
	"regexp"
	"strings"
)

// Errors are written down in clear: in the action's row, in the log and in what
// operators read. Those of parsers and of databases like to quote what they could
// not take, and that is a part of the payload, which is stored encrypted only.

const (
	// elided stands for a part of the payload.
	elided = "…"
	// quotedLeast is the shortest quotation, runLeast the shortest other repetition
	// of the payload that is taken out: words like "invoice" are in both by chance.
	quotedLeast = 4
	runLeast    = 20
)

var quotation = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'[^']*'|`[^`]*`")

// payloadFree returns an error's text without what it repeats of the body.
func payloadFree(text string, body []byte) string {
	if len(body) == 0 || text == "" {
		return text
	}
	return quotation.ReplaceAllStringFunc(withoutRuns(text, body), func(quoted string) string {
		inner := quoted[1 : len(quoted)-1]
		if len(inner) >= quotedLeast && bytes.Contains(body, []byte(inner)) {
			return quoted[:1] + elided + quoted[len(quoted)-1:]
		}
		return quoted
	})
}

// withoutRuns takes out every run of at least runLeast bytes that the body has too.
func withoutRuns(text string, body []byte) string {
	if len(text) < runLeast || len(body) < runLeast {
		return text
	}
	repeated := repetitions(text, body)
	var out strings.Builder
	for at := range len(text) {
		switch {
		case !repeated[at]:
			out.WriteByte(text[at])
		case at == 0 || !repeated[at-1]:
			out.WriteString(elided)
		}
	}
	return strings.ToValidUTF8(out.String(), elided)
}

// hashBase is the base of the rolling hash, a polynomial modulo 2^64.
const hashBase = 1_099_511_628_211

// repetitions marks the bytes of the text that lie in a run of the body's. The
// body, which may be large, is gone through once.
func repetitions(text string, body []byte) []bool {
	windows := map[uint64][]int{}
	for at := range len(text) - runLeast + 1 {
		h := windowHash([]byte(text[at : at+runLeast]))
		windows[h] = append(windows[h], at)
	}
	first := uint64(1) // the weight of a window's first byte
	for range runLeast - 1 {
		first *= hashBase
	}
	repeated := make([]bool, len(text))
	for at, h := 0, windowHash(body[:runLeast]); ; at++ {
		if places, ok := windows[h]; ok && text[places[0]:places[0]+runLeast] == string(body[at:at+runLeast]) {
			for _, place := range places {
				for n := range runLeast {
					repeated[place+n] = true
				}
			}
			delete(windows, h)
		}
		if at+runLeast == len(body) {
			return repeated
		}
		h = (h-uint64(body[at])*first)*hashBase + uint64(body[at+runLeast])
	}
}

func windowHash(window []byte) uint64 {
	h := uint64(0)
	for _, c := range window {
		h = h*hashBase + uint64(c)
	}
	return h
}
