package bearer

import (
	"maps"
	"slices"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

// Compose builds a body: id, tenant and type of the draft, a sample for each
// required field, and what the draft sets, as strings. It names no occurred_at
// unless set, so that the same draft gives the same event whenever it is sent.
func (p *Provider) Compose(d oncehook.Draft) ([]byte, error) {
	values := map[string]string{fieldID: d.ID, fieldTenant: d.Tenant, fieldType: d.Type}
	order := []string{fieldID, fieldTenant, fieldType}
	for _, name := range p.required {
		values[name] = sample(name)
		order = append(order, name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Set)) {
		if _, known := values[name]; !known {
			order = append(order, name)
		}
		values[name] = d.Set[name]
	}
	var w strictjson.Writer
	for _, name := range order {
		if name != fieldTenant || values[name] != "" {
			w.Raw(name, strictjson.Quote(values[name]))
		}
	}
	return w.Bytes(), nil
}

// sample makes a plausible value from a field's name: shipment_id gives shipment-demo-1.
func sample(field string) string {
	return strings.ReplaceAll(strings.TrimSuffix(field, "_id"), "_", "-") + "-demo-1"
}
