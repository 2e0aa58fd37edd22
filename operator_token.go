package oncehook

import "strings"

// OperatorTokenPrefix is how every token of the admin API begins, so that people
// and scanners of leaked secrets know it.
const OperatorTokenPrefix = "oh_"

const (
	// minOperatorTokenRest and maxOperatorToken bound what is looked up at all.
	minOperatorTokenRest = 32
	maxOperatorToken     = 200
)

// OperatorTokenForm says what IsOperatorToken wants, for messages to people.
const OperatorTokenForm = OperatorTokenPrefix + " and at least 32 random characters"

// IsOperatorToken reports whether a secret has the form of an operator's token.
func IsOperatorToken(token Secret) bool {
	rest, ok := strings.CutPrefix(string(token), OperatorTokenPrefix)
	return ok && len(rest) >= minOperatorTokenRest && len(token) <= maxOperatorToken
}
