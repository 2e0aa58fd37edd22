package page

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// RejectedList writes a list of rejected deliveries as a table.
func RejectedList(w io.Writer, rejected []api.RejectedDelivery) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "AT (UTC)\tSOURCE\tTENANT\tCODE\tFIELD\tPRINCIPAL\tID")
	for _, r := range rejected {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", Time(r.At), Clean(r.Source), orDash(r.Tenant), Clean(r.Code),
			orDash(r.Field), Clean(r.Principal), r.Id)
	}
	return table.Flush()
}

// Rejected writes what is known of a rejected delivery.
func Rejected(w io.Writer, r api.RejectedDelivery) error {
	p := &printer{w: w}
	p.line("rejected delivery %s", r.Id)
	p.line("")
	p.field("code", "%s", Clean(r.Code))
	if r.Field != nil {
		p.field("field", "%s", Clean(*r.Field))
	}
	p.field("at", "%s UTC", Time(r.At))
	p.field("source", "%s, tenant %s", Clean(r.Source), orDash(r.Tenant))
	p.field("principal", "%s, credential %s", Clean(r.Principal), Clean(r.CredentialVersion))
	p.field("from", "%s", Clean(r.Peer))
	p.field("correlation", "%s", r.CorrelationId)
	p.field("kept until", "%s UTC", Time(r.ExpiresAt))
	if r.ResubmittedAt != nil {
		p.field("resubmitted", "%s UTC", Time(*r.ResubmittedAt))
	}
	if r.ResubmittedAs != nil {
		p.field("became", "receipt %s", *r.ResubmittedAs)
	}
	return p.err
}

// Refusals writes counts of refusals as a table.
func Refusals(w io.Writer, refusals []api.RefusalCount) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COUNT\tSOURCE\tOUTCOME\tCAUSE\tFROM\tFIRST (UTC)\tLAST (UTC)")
	for _, r := range refusals {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Count, orDash(&r.Source), Clean(r.Outcome), Clean(r.Cause),
			orDash(&r.AddressBlock), Time(r.FirstAt), Time(r.LastAt))
	}
	return table.Flush()
}
