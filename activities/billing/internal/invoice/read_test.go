package invoice

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// snapshot is a Stripe event of a paid invoice, with old replaced by new.
func snapshot(old, new string) string {
	return strings.Replace(`{"id":"evt_1","object":"event","type":"invoice.paid","livemode":true,"data":{"object":{`+
		`"id":"in_1","object":"invoice","status":"paid","customer":"cus_1","amount_paid":1999,"currency":"usd"}}}`, old, new, 1)
}

func TestPaidInvoicesAreReadExactlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	paid := Paid{ID: "in_1", Customer: "cus_1", Amount: 1999, Currency: "usd", Livemode: true}
	for name, body := range map[string]string{
		"plain":                   snapshot("", ""),
		"other members":           snapshot(`"currency"`, `"lines":{"data":[{"amount":1e3}]},"currency"`),
		"bad text aside":          snapshot(`"currency"`, "\"note\":\"\\u0000\\ud800\xff\",\"currency\""),
		"names given twice aside": snapshot(`"currency"`, `"note":1,"note":2,"currency"`),
		"other case is another":   snapshot(`"currency"`, `"Currency":"eur","currency"`),
	} {
		got, err := Read([]byte(body))
		require.NoError(t, err, name)
		require.Equal(t, paid, got, name)
	}
	largest, err := Read([]byte(snapshot("1999", strconv.Itoa(math.MaxInt64))))
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64, largest.Amount)
	nobody, err := Read([]byte(snapshot(`"cus_1"`, "null")))
	require.NoError(t, err)
	require.Empty(t, nobody.Customer)

	for name, c := range map[string]struct{ body, problem string }{
		"gone":               {"", "past its retention"},
		"no object":          {`[1]`, "not a JSON object"},
		"cut":                {`{"object":"event","data"`, "not a JSON object"},
		"thin":               {`{"object":"v2.core.event","type":"v1.invoice.paid"}`, "thin event"},
		"no event":           {snapshot(`"object":"event"`, `"object":"list"`), `object is not "event"`},
		"no mode":            {snapshot(`"livemode":true,`, ``), "livemode is missing"},
		"mode is text":       {snapshot(`true`, `"true"`), "livemode is not true or false"},
		"no data":            {snapshot(`"data"`, `"date"`), "data is missing"},
		"data is a list":     {`{"object":"event","livemode":true,"data":[]}`, "data is not an object"},
		"no invoice":         {snapshot(`"object":"invoice"`, `"object":"charge"`), `data.object.object is not "invoice"`},
		"not paid":           {snapshot(`"status":"paid"`, `"status":"open"`), `data.object.status is not "paid"`},
		"no id":              {snapshot(`"id":"in_1",`, ``), "data.object.id is missing"},
		"empty id":           {snapshot(`"in_1"`, `""`), "data.object.id is empty"},
		"number as id":       {snapshot(`"in_1"`, `1`), "data.object.id is not a string"},
		"long id":            {snapshot(`in_1`, strings.Repeat("x", 256)), "data.object.id is longer"},
		"NUL in id":          {snapshot(`in_1`, `in_\u0000`), "data.object.id holds a NUL"},
		"lone surrogate":     {snapshot(`in_1`, `in_\ud800`), "data.object.id is not valid Unicode"},
		"id twice":           {snapshot(`"id":"in_1"`, `"id":"in_1","id":"in_2"`), "data.object.id is given more than once"},
		"amount twice":       {snapshot(`"amount_paid"`, `"amount_paid":1,"amount_paid"`), "data.object.amount_paid is given more than once"},
		"expanded customer":  {snapshot(`"cus_1"`, `{"id":"cus_1"}`), "data.object.customer is not a string"},
		"no customer member": {snapshot(`"customer":"cus_1",`, ``), "data.object.customer is missing"},
		"no amount":          {snapshot(`"amount_paid":1999,`, ``), "data.object.amount_paid is missing"},
		"amount is text":     {snapshot(`1999`, `"1999"`), "data.object.amount_paid is not a number"},
		"fraction":           {snapshot(`1999`, `19.99`), "data.object.amount_paid is not a whole number"},
		"whole fraction":     {snapshot(`1999`, `1999.0`), "data.object.amount_paid is not a whole number"},
		"exponent":           {snapshot(`1999`, `2e3`), "data.object.amount_paid is not a whole number"},
		"too large":          {snapshot(`1999`, `9223372036854775808`), "data.object.amount_paid is not a whole number"},
		"negative":           {snapshot(`1999`, `-1`), "data.object.amount_paid is negative"},
		"upper-case code":    {snapshot(`"usd"`, `"USD"`), "data.object.currency is not three lower-case letters"},
		"no code":            {snapshot(`,"currency":"usd"`, ``), "data.object.currency is missing"},
	} {
		var body []byte
		if c.body != "" {
			body = []byte(c.body)
		}
		_, err := Read(body)
		require.ErrorContains(t, err, c.problem, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}

func TestAllProblemsOfABodyAreNamedAndNoneOfItsValues(t *testing.T) {
	t.Parallel()
	body := snapshot(`"status":"paid","customer":"cus_1","amount_paid":1999,"currency":"usd"`,
		`"status":"secret-1","customer":"","amount_paid":"secret-2","currency":"secret-3"`)
	_, err := Read([]byte(body))
	require.EqualError(t, err, `data.object.status is not "paid"; data.object.customer is empty; data.object.amount_paid is not a number; `+
		`data.object.currency is not three lower-case letters`)
}

func TestAmountsAreShownByTheirCurrencysDigits(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		amount   int64
		currency string
	}{
		"19.99 USD":                {1999, "usd"},
		"0.05 USD":                 {5, "usd"},
		"0.00 EUR":                 {0, "eur"},
		"500 JPY":                  {500, "jpy"},
		"0 KRW":                    {0, "krw"},
		"1.230 KWD":                {1230, "kwd"},
		"0.010 BHD":                {10, "bhd"},
		"5.00 ISK":                 {500, "isk"},
		"5.00 UGX":                 {500, "ugx"},
		"92233720368547758.07 CHF": {math.MaxInt64, "chf"},
	} {
		require.Equal(t, want, Display(c.amount, c.currency))
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(snapshot("", "")))
	f.Add([]byte(`{"object":"event","data":{"object":[]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		invoice, err := Read(body)
		if err == nil && (invoice.ID == "" || invoice.Amount < 0 || !isCurrency(invoice.Currency)) {
			t.Fatal("an invoice without an id, an amount or a currency")
		}
	})
}
