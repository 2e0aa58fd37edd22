package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASessionIsLimitedByItsRoleUnlessTheURLSaysOtherwise(t *testing.T) {
	for name, test := range map[string]struct{ parameters, lock, statement string }{
		"defaults":             {"", "1s", "3s"},
		"lock limit raised":    {"&lock_timeout=20s", "20s", "22s"},
		"both limits given":    {"&statement_timeout=7000&lock_timeout=5s", "5s", "7s"},
		"limits switched off":  {"&statement_timeout=0&lock_timeout=0", "0", "0"},
		"unit of another kind": {"&lock_timeout=1min", "1min", "62s"},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			db := connect(t, url)
			_, err := db.Exec(t.Context(), `
				CREATE TABLE public.seen (lock text, statement text, idle text, zone text, application text);
				CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					INSERT INTO public.seen VALUES (current_setting('lock_timeout'), current_setting('statement_timeout'),
						current_setting('idle_in_transaction_session_timeout'), current_setting('TimeZone'), current_setting('application_name'));
					RETURN NULL;
				END $$;
				CREATE TRIGGER see AFTER INSERT ON oncehook.receipts FOR EACH ROW EXECUTE FUNCTION public.see()`)
			require.NoError(t, err)
			accept(t, openIngress(t, options(url+test.parameters)), copyOf("event-1"))
			var lock, statement, idle, zone, application string
			require.NoError(t, db.QueryRow(t.Context(), `SELECT * FROM public.seen`).Scan(&lock, &statement, &idle, &zone, &application))
			require.Equal(t, []string{test.lock, test.statement, "3s", "UTC", "oncehook"}, []string{lock, statement, idle, zone, application})
		})
	}
}
