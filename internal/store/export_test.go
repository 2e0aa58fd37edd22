package store

// DeclaredTables and DeclaredFunctions are the table of privileges: by role, and
// then by object.
func DeclaredTables() map[DatabaseRole]map[string][]string    { return byRole(tableGrants()) }
func DeclaredFunctions() map[DatabaseRole]map[string][]string { return byRole(functionGrants()) }

func byRole(table []objectGrants) map[DatabaseRole]map[string][]string {
	roles := map[DatabaseRole]map[string][]string{}
	for _, role := range DatabaseRoles() {
		roles[role] = map[string][]string{}
		for _, g := range table {
			roles[role][g.name] = g.to(role)
		}
	}
	return roles
}
