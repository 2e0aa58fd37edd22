package admin_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook/internal/admin"
)

type document struct {
	OpenAPI string                               `json:"openapi" yaml:"openapi"`
	Paths   map[string]map[string]map[string]any `json:"paths" yaml:"paths"`
}

func TestTheServedDocumentIsTheSource(t *testing.T) {
	t.Parallel()
	r := serve(t, "postgres://nobody@127.0.0.1:1/none")
	served := r.do(t, http.MethodGet, "/openapi.json")
	require.Equal(t, http.StatusOK, served.status)
	require.Equal(t, "application/json", served.header.Get("Content-Type"))

	file, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	var source any
	require.NoError(t, yaml.Load(file, &source))
	want, err := json.Marshal(source)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(served.body))
}

func TestEveryOperationIsRoutedAndEveryRouteIsDocumented(t *testing.T) {
	t.Parallel()
	encoded, err := admin.Document()
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(encoded, &d))
	require.Equal(t, "3.1.0", d.OpenAPI)
	documented := map[string]bool{}
	for path, operations := range d.Paths {
		route := strings.NewReplacer("{", ":", "}", "").Replace(path)
		for method, operation := range operations {
			documented[strings.ToUpper(method)+" "+route] = true
			_, open := operation["security"]
			require.Equal(t, !strings.HasPrefix(path, "/api/v1/"), open, "%s: open without a token", path)
		}
	}
	routed := map[string]bool{}
	router, ok := admin.New(admin.Config{}).(*echo.Echo)
	require.True(t, ok)
	for _, route := range router.Routes() {
		routed[route.Method+" "+route.Path] = true
	}
	require.Equal(t, documented, routed)
}
