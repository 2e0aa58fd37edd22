// Package api is the admin API in Go: its types, its client and its server's routing, generated from the
// OpenAPI document beside it.
package api

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config config.yaml ../openapi.yaml
