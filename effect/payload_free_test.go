package effect

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnErrorsTextRepeatsNothingOfThePayload(t *testing.T) {
	const body = `{"type":"invoice.paid","note":"canary","customer":"Ada Lovelace, 12 Example Street","amount":42}`
	_, number := strconv.Atoi("canary")
	for name, c := range map[string]struct{ text, want string }{
		"what a parser quotes":          {number.Error(), `strconv.Atoi: parsing "…": invalid syntax`},
		"what a database quotes":        {`ERROR: invalid input syntax for type integer: "canary" (SQLSTATE 22P02)`, `ERROR: invalid input syntax for type integer: "…" (SQLSTATE 22P02)`},
		"single quotes":                 {`no customer 'Ada Lovelace'`, `no customer '…'`},
		"a long run":                    {`cannot bill Ada Lovelace, 12 Example Street today`, `cannot bill … today`},
		"the whole":                     {"bad event: " + body, "bad event: …"},
		"words by chance":               {`the invoice has no amount`, `the invoice has no amount`},
		"names that are not the body's": {`relation "invoices" does not exist`, `relation "invoices" does not exist`},
		"short quotations":              {`field "x" is 42`, `field "x" is 42`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, payloadFree(c.text, []byte(body)))
		})
	}
	require.Equal(t, "canary", payloadFree("canary", nil))
}

func TestCleaningALongTextIsQuick(t *testing.T) {
	body := []byte(strings.Repeat("abcdefghi ", 100_000))
	began := time.Now()
	payloadFree(strings.Repeat("abcdefghj ", 200), body)
	require.Less(t, time.Since(began), 5*time.Second)
}
