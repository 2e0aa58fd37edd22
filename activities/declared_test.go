package activities_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/activities"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
)

// kinds are the functions of package effect that declare an action.
var kinds = []string{"Local", "Keyed", "Probed", "AtMostOnce"} //nolint:gochecknoglobals // a constant list

func TestEveryDeclaredActionIsListedAndHasAFunction(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, d := range activities.Declared() {
		listed = append(listed, d.Declaration().Name)
	}
	slices.Sort(listed)
	require.Equal(t, declarations(t), listed, "activities.Declared() and the sources under activities/ differ")

	_, err := effect.NewRegistry(activities.Declared(), slices.Concat(logistics.Bindings(), billing.Bindings(http.DefaultClient, effect.Destination{})))
	require.NoError(t, err)
}

// declarations finds the names in calls such as effect.Local[In, Out]("area.verb_object").
func declarations(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && declares(call.Fun) {
				literal, ok := call.Args[0].(*ast.BasicLit)
				require.True(t, ok, "%s: the name of an action is a literal", path)
				name, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				names = append(names, name)
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	slices.Sort(names)
	return names
}

func declares(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		return declares(f.X)
	case *ast.IndexListExpr:
		return declares(f.X)
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		return ok && pkg.Name == "effect" && slices.Contains(kinds, f.Sel.Name)
	}
	return false
}
