package page

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// Events writes a list of events as a table.
func Events(w io.Writer, events []api.EventSummary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FIRST SEEN (UTC)\tSTATUS\tTYPE\tEVENT KEY\tRECEIPT")
	for _, e := range events {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", Time(e.FirstSeen), Clean(e.Status), Clean(e.Type), Clean(e.EventKey), e.ReceiptId)
	}
	return table.Flush()
}
