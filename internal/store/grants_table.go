package store

// objectGrants is what the roles may do with one object of the schema oncehook,
// in the words of GRANT: "SELECT", or "UPDATE (state, version)" for some columns.
// An object that nobody may touch is listed too: that is a decision as well.
type objectGrants struct {
	name                 string
	ingress, work, admin []string
}

func (g objectGrants) to(role DatabaseRole) []string {
	switch role {
	case DatabaseIngress:
		return g.ingress
	case DatabaseWork:
		return g.work
	case DatabaseAdmin:
		return g.admin
	}
	return nil
}

// tableGrants says what each role may do with each table: what its statements
// touch, and no more. A lock (FOR UPDATE) needs UPDATE of some column; ON CONFLICT
// and RETURNING need SELECT of what they name. The ingress has functions only.
// Nobody may change or delete audit, audit_sums, event_keys and receipt_history.
func tableGrants() []objectGrants {
	return []objectGrants{
		{name: "schema_versions"}, // schema_v1 tells
		{name: "installation"},    // as above
		{
			name:  "event_keys",
			admin: []string{"SELECT (key, receipt_id, correlation_id)"},
		},
		{
			name:  "delivery_counts",
			admin: []string{"SELECT"},
		},
		{
			name:  "receipts",
			work:  []string{"SELECT", "UPDATE (state, cause, version, changed_at, run_id)"},
			admin: []string{"SELECT"},
		},
		{
			name:  "receipt_history",
			work:  []string{"INSERT (receipt_id, version, from_state, to_state, run_no, cause, detail, actor, at)"},
			admin: []string{"SELECT"},
		},
		{
			name: "payloads",
			work: []string{"SELECT"},
		},
		{
			name: "payloads_pinned",
			work: []string{"SELECT (delivery_id, data_key_id, body)"},
		},
		{
			name:  "tenant_keys", // the keys themselves come by functions
			admin: []string{"SELECT (tenant)"},
		},
		{
			name: "outbox",
			work: []string{
				"SELECT", "INSERT (kind, receipt_id, run_no, source, tenant, signal, workflow, due_at, last_error, reopened)",
				"UPDATE (claims, lease_until, local, last_error, alert, run_id, dispatched_at, due_at, reopened)", "DELETE",
			},
			admin: []string{"SELECT"},
		},
		{
			name: "actions",
			work: []string{
				"SELECT",
				"INSERT (receipt_id, name, epoch, key, tenant, kind, state, run_no, run_attempts, idempotency_key, business_key, " +
					"last_error, lease_until, waits_for, wait_until, done_by, created_at, changed_at)",
				"UPDATE (state, run_no, claim, attempts, run_attempts, business_key, outcome, reason, last_error, next_attempt_at, " +
					"lease_until, call_deadline, first_sent_at, key_expires_at, unanswered, waits_for, wait_until, result_key_id, result, done_by, changed_at)",
			},
			admin: []string{"SELECT"},
		},
		{
			name: "audit",
			work: []string{
				"SELECT (at, kind, outcome, receipt_id, principal, credential_version)",
				"INSERT (at, kind, outcome, receipt_id, source, tenant, principal, credential_version, action, run_no, actor, cause, correlation_id)",
			},
			admin: []string{
				"SELECT",
				"INSERT (at, kind, outcome, receipt_id, delivery_id, source, tenant, action, run_no, actor, cause, flags, count, correlation_id)",
			},
		},
		{
			name:  "audit_sums",
			admin: []string{"SELECT (minute, source, outcome, cause, address_block, count, first_at, last_at)"},
		},
		{name: "key_reports"}, // report_keys_v1 writes
		{
			name:  "key_uses",
			admin: []string{"SELECT (key, first_seen_at)"}, // the doctor's, of a key's age
		},
		{name: "conflicts"},
		{name: "conflict_resolutions"},
		{
			name: "rejected_deliveries", // bodies and headers are for nobody to read
			admin: []string{
				"SELECT (id, at, source, tenant, principal, credential_version, peer, code, field, expires_at, resubmitted_at, resubmitted_as)",
			},
		},
		{
			name: "reconciler",
			work: []string{
				"SELECT", "UPDATE (holder, lease_until, swept_at, undispatched_at, undispatched_id, running_at, running_id)",
			},
			admin: []string{"SELECT (swept_at)"},
		},
		{
			name:  "switches",
			admin: []string{"SELECT"},
		},
		{
			name: "operators",
			admin: []string{
				"SELECT", "INSERT (id, name, role, sources, tenants, created_by, created_at)",
				"UPDATE (role, sources, tenants, disabled_at)",
			},
		},
		{
			name: "operator_tokens",
			admin: []string{
				"SELECT", "INSERT (hash, operator_id, created_by, created_at, expires_at)", "UPDATE (revoked_at)",
			},
		},
	}
}

// functionGrants says which role may call which function. A function runs with its
// owner's rights, so this is what a role can do beyond its tables.
func functionGrants() []objectGrants {
	execute := []string{"EXECUTE"}
	return []objectGrants{
		{name: "schema_v1", ingress: execute, work: execute, admin: execute},
		{name: "accept_v1", ingress: execute},
		{name: "own_keys_v1", ingress: execute},
		{name: "known_keys_v1", ingress: execute},
		{name: "tenant_key_v1", ingress: execute, work: execute, admin: execute},
		{name: "offer_tenant_key_v1", ingress: execute, work: execute},
		{name: "data_key_v1", work: execute, admin: execute},
		{name: "report_keys_v1", ingress: execute, work: execute, admin: execute},
		{name: "reject_v1", ingress: execute},
		{name: "record_v1", ingress: execute},
		{name: "count_v1", ingress: execute},
		{name: "prepare_partitions_v1", work: execute},
		{name: "check_receipt_transition"}, // triggers need no grant
		{name: "refuse_change"},
	}
}

// businessGrants is what work may do in a business schema, whose tables are the
// effects' own. A table that is called audit is evidence there too.
func businessGrants(o schemaObject) []string {
	switch {
	case o.kind == kindSchema:
		return []string{"USAGE"}
	case o.kind == kindFunction:
		return []string{"EXECUTE"}
	case o.kind == kindSequence:
		return []string{"USAGE"}
	case o.name == "schema_versions":
		return nil
	case o.name == "audit":
		return []string{"SELECT", "INSERT"}
	default:
		return []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	}
}
