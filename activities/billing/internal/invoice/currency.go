package invoice

import (
	"strconv"
	"strings"
)

// Decimals returns how many digits of an amount in minor units stand after the
// point, as Stripe writes amounts: its lists of zero- and three-decimal
// currencies, in which ISK and UGX keep two digits for compatibility.
func Decimals(currency string) int {
	switch currency {
	case "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf":
		return 0
	case "bhd", "jod", "kwd", "omr", "tnd":
		return 3
	default:
		return 2
	}
}

// Display writes an amount of minor units for people: 1999 usd is "19.99 USD",
// 500 jpy is "500 JPY". The amount is not negative.
func Display(amount int64, currency string) string {
	digits := strconv.FormatInt(amount, 10)
	if places := Decimals(currency); places > 0 {
		if missing := places + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		point := len(digits) - places
		digits = digits[:point] + "." + digits[point:]
	}
	return digits + " " + strings.ToUpper(currency)
}

// isCurrency reports whether text is a currency code as Stripe writes it.
func isCurrency(text string) bool {
	if len(text) != 3 {
		return false
	}
	for _, letter := range []byte(text) {
		if letter < 'a' || letter > 'z' {
			return false
		}
	}
	return true
}
