package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// actionAudit is the evidence of one end of an action: who sent the event,
// under which credential, and what it came to.
const actionAudit = `
INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, source, tenant, principal, credential_version, action, run_no, actor,
	cause, correlation_id)
VALUES (@at, 'action', @outcome, @receipt_id, @source, @tenant, NULLIF(@principal, ''), NULLIF(@credential_version, ''), @action,
	@run_no, @actor, NULLIF(@cause, ''), @correlation_id)`

// audit returns the arguments of actionAudit.
func (s *Work) audit(c Claim, outcome, cause string) pgx.StrictNamedArgs {
	return pgx.StrictNamedArgs{
		"at": s.now(), "outcome": outcome, "receipt_id": c.ReceiptID, "source": c.Event.Source, "tenant": c.Event.Tenant,
		"principal": c.Event.Principal, "credential_version": c.Event.CredentialVersion, "action": c.Name, "run_no": c.RunNo,
		"actor": s.actor(), "cause": cleanText(cause), "correlation_id": c.Event.CorrelationID,
	}
}

func insertActionAudit(ctx context.Context, tx pgx.Tx, args pgx.StrictNamedArgs) error {
	_, err := tx.Exec(ctx, actionAudit, args)
	return err
}
